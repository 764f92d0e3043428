// Blocking TCP sockets.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "harness/endpoint.hpp"

namespace peers {

/// Owns a file descriptor.
class Socket {
  public:
    Socket() = default;
    explicit Socket(int fd) noexcept : fd_(fd) {}
    Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Socket();

    [[nodiscard]] int fd() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }

    /// All of it, or throws std::system_error.
    void send_all(const void* data, std::size_t size) const;
    /// Fills the buffer. False at the orderly end of the stream before the first byte; throws
    /// std::system_error otherwise, also at an end in the middle.
    bool receive_all(void* data, std::size_t size) const;
    /// A receive or send that waits longer than this fails with EAGAIN.
    void set_timeouts(int seconds) const;
    /// Wakes whoever blocks on the socket.
    void shut_down() const noexcept;

  private:
    int fd_ = -1;
};

/// Listens, with SO_REUSEADDR. Throws std::runtime_error that names the address.
Socket listen_on(const Endpoint& endpoint);
/// Connects, with TCP_NODELAY. Throws std::runtime_error that names the address.
Socket connect_to(const Endpoint& endpoint);
/// The next connection, with TCP_NODELAY; an empty socket once `listener` was shut down.
Socket accept_from(const Socket& listener);
/// The local address, "host:port".
std::string address_of(const Socket& socket);

}  // namespace peers
