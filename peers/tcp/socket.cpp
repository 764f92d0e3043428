#include "tcp/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace peers {

namespace {

struct FreeAddresses {
    void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};

/// Looks the address up and tries `use` on each result until one gives a socket.
template <typename Use>
Socket with_address(const Endpoint& endpoint, int flags, const char* what, Use use) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(endpoint.port);
    const int status = getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
    if (status != 0) {
        throw std::runtime_error(std::string(what) + " " + endpoint.to_string() + ": " +
                                 gai_strerror(status));
    }
    const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
    int error = 0;
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
        Socket socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (socket && use(socket.fd(), *address)) return socket;
        error = errno;
    }
    throw std::runtime_error(std::string(what) + " " + endpoint.to_string() + ": " +
                             std::strerror(error));
}

void disable_nagle(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Socket::~Socket() {
    if (fd_ >= 0) close(fd_);
}

void Socket::send_all(const void* data, std::size_t size) const {
    const auto* bytes = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t sent = send(fd_, bytes, size, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR) continue;
            fail("send");
        }
        bytes += sent;
        size -= static_cast<std::size_t>(sent);
    }
}

bool Socket::receive_all(void* data, std::size_t size) const {
    auto* bytes = static_cast<char*>(data);
    std::size_t have = 0;
    while (have < size) {
        const ssize_t got = recv(fd_, bytes + have, size - have, 0);
        if (got > 0) {
            have += static_cast<std::size_t>(got);
        } else if (got == 0) {
            if (have == 0) return false;
            errno = ECONNRESET;
            fail("the connection ended in the middle of a message");
        } else if (errno != EINTR) {
            fail("receive");
        }
    }
    return true;
}

void Socket::set_timeouts(int seconds) const {
    const timeval limit{seconds, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void Socket::shut_down() const noexcept { shutdown(fd_, SHUT_RDWR); }

Socket listen_on(const Endpoint& endpoint) {
    return with_address(endpoint, AI_PASSIVE, "cannot listen on", [](int fd, const auto& address) {
        const int on = 1;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        return bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0;
    });
}

Socket connect_to(const Endpoint& endpoint) {
    return with_address(endpoint, 0, "cannot connect to", [](int fd, const auto& address) {
        disable_nagle(fd);
        return connect(fd, address.ai_addr, address.ai_addrlen) == 0;
    });
}

Socket accept_from(const Socket& listener) {
    for (;;) {
        const int fd = accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC);
        if (fd >= 0) {
            disable_nagle(fd);
            return Socket(fd);
        }
        // Errors of a connection that died before it was accepted are not the listener's.
        if (errno != EINTR && errno != ECONNABORTED) return Socket();
    }
}

std::string address_of(const Socket& socket) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    auto* address = reinterpret_cast<sockaddr*>(&storage);
    if (getsockname(socket.fd(), address, &length) != 0) fail("getsockname");
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    const int status = getnameinfo(address, length, host.data(), host.size(), port.data(),
                                   port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
    if (status != 0) throw std::runtime_error(gai_strerror(status));
    return Endpoint{host.data(), static_cast<std::uint16_t>(std::stoi(port.data())), {}}
        .to_string();
}

}  // namespace peers
