// The floor over TCP: one receive and one send a request on each side, memory that is used again,
// nothing else.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <list>
#include <memory>
#include <system_error>
#include <thread>

#include "floor/adapters.hpp"
#include "floor/event_loop.hpp"
#include "floor/message.hpp"
#include "harness/clock.hpp"
#include "harness/looped_client.hpp"
#include "tcp/socket.hpp"

namespace peers {

using namespace floor_programs;

namespace {

enum class Waits { blocks, spins };

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

/// One connection of a server.
struct Connection {
    explicit Connection(Socket from) : socket(std::move(from)) {}

    Socket socket;
    Buffer buffer;

    /// Receives once and answers what is whole. False at the end of the connection.
    bool turn(Allocator& allocator, int flags) {
        char* room = buffer.room();
        const ssize_t got = recv(socket.fd(), room, buffer.space(), flags);
        if (got < 0) return would_block() || errno == EINTR;
        if (got == 0) return false;
        buffer.received(static_cast<std::size_t>(got));
        while (char* request = buffer.message()) answer(request, allocator);
        if (buffer.taken_size() > 0) socket.send_all(buffer.taken(), buffer.taken_size());
        buffer.drop();
        return true;
    }

    /// As `turn`; what breaks ends the connection.
    bool try_turn(Allocator& allocator, int flags) noexcept {
        try {
            return turn(allocator, flags);
        } catch (const std::exception&) {
            return false;
        }
    }
};

/// A thread a connection.
class ThreadServer final : public Server {
  public:
    ThreadServer(const Endpoint& listen, Allocator& allocator)
        : allocator_(allocator),
          listener_(listen_on(listen)),
          acceptor_([this] { accept_all(); }) {}

    ~ThreadServer() override {
        listener_.shut_down();
        acceptor_.join();
        for (Served& served : served_) served.connection.socket.shut_down();
        for (Served& served : served_) served.thread.join();
    }

    [[nodiscard]] std::string address() const override { return address_of(listener_); }

  private:
    struct Served {
        explicit Served(Socket socket) : connection(std::move(socket)) {}
        Connection connection;
        std::thread thread;
    };

    void accept_all() {
        while (Socket socket = accept_from(listener_)) {
            Served& served = served_.emplace_back(std::move(socket));
            served.thread = std::thread([this, &served] {
                while (served.connection.try_turn(allocator_, 0)) {
                }
                served.connection.socket.shut_down();
            });
        }
    }

    Allocator& allocator_;
    Socket listener_;
    std::list<Served> served_;
    std::thread acceptor_;
};

/// One thread for all, which sleeps in epoll or never.
class LoopServer final : public Server {
  public:
    LoopServer(const Endpoint& listen, Allocator& allocator, Waits waits)
        : allocator_(allocator),
          waits_(waits),
          listener_(listen_on(listen)),
          epoll_(epoll_create1(EPOLL_CLOEXEC)) {
        add(listener_.fd(), nullptr);
        thread_ = std::thread([this] { run(); });
    }

    ~LoopServer() override {
        stop_ = true;
        listener_.shut_down();
        thread_.join();
    }

    [[nodiscard]] std::string address() const override { return address_of(listener_); }

  private:
    void add(int fd, void* what) const {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = what;
        if (epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event) != 0)
            throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    }

    void run() {
        // Spinning, the listener is looked at once in so many turns.
        constexpr unsigned kTurns = 10'000;
        unsigned turns = 0;
        while (!stop_) {
            const bool spins = waits_ == Waits::spins && !connections_.empty();
            if (spins && ++turns % kTurns != 0) {
                connections_.remove_if([this](Connection& connection) {
                    return !connection.try_turn(allocator_, MSG_DONTWAIT);
                });
                continue;
            }
            std::array<epoll_event, 64> events{};
            const int count =
                epoll_wait(epoll_.fd(), events.data(), events.size(), spins ? 0 : 100);
            for (int i = 0; i < count; ++i) {
                auto* connection =
                    static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
                if (connection == nullptr) {
                    accept_one();
                } else if (!connection->try_turn(allocator_, MSG_DONTWAIT)) {
                    connections_.remove_if([&](auto& other) { return &other == connection; });
                }
            }
        }
    }

    void accept_one() {
        pollfd ready{listener_.fd(), POLLIN, 0};
        if (stop_ || poll(&ready, 1, 0) != 1) return;
        Socket socket = accept_from(listener_);
        if (!socket) return;
        // Answers are sent blocking: a client that does not read holds all others up.
        socket.set_timeouts(kCallTimeoutSeconds);
        Connection& connection = connections_.emplace_back(std::move(socket));
        add(connection.socket.fd(), &connection);
    }

    Allocator& allocator_;
    Waits waits_;
    Socket listener_;
    Socket epoll_;
    std::list<Connection> connections_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// A client with `Window` requests outstanding. With more than one, a call takes one answer and
/// leaves one request; what was left is sent together once no answer is at hand.
template <Waits How, unsigned Window>
class FloorClient final : public Client {
  public:
    explicit FloorClient(const Endpoint& server) : socket_(connect_to(server)) {
        socket_.set_timeouts(kCallTimeoutSeconds);
    }

    Response allocate(std::string_view payload) override {
        try {
            while (outstanding_ < Window) leave(payload);
            char* message = in_.message();
            if (message == nullptr) message = exchange();
            --outstanding_;
            const Header header = read_header(message);
            if (header.status != CW_GUTI_OK)
                throw CallError(describe_allocator_status(header.status));
            return {header.guti, {message + kHeader, header.length}};
        } catch (const std::system_error& error) {
            // A late answer must not be taken for the next one.
            socket_.shut_down();
            throw CallError(error.what());
        }
    }

    void deallocate(const cw_guti& /*guti*/) override {
        throw CallError("the floor takes no GUTI back");
    }

  private:
    void leave(std::string_view payload) {
        std::array<char, kHeader> header{};
        write_header(header.data(), {static_cast<std::uint32_t>(payload.size()), 0, {}});
        out_.insert(out_.end(), header.begin(), header.end());
        out_.insert(out_.end(), payload.begin(), payload.end());
        ++outstanding_;
    }

    /// Sends what was left and receives until a message is whole.
    char* exchange() {
        in_.drop();
        std::size_t sent = 0;
        const Nanoseconds deadline = now_ns() + kCallTimeoutSeconds * kSecond;
        for (;;) {
            if (sent < out_.size()) {
                // Not blocking: the server may be waiting for us to read.
                const ssize_t count = send(socket_.fd(), out_.data() + sent, out_.size() - sent,
                                           MSG_NOSIGNAL | MSG_DONTWAIT);
                if (count < 0 && !would_block()) fail("send");
                if (count > 0) sent += static_cast<std::size_t>(count);
                if (sent == out_.size()) {
                    out_.clear();
                    sent = 0;
                }
            }
            const bool blocks = How == Waits::blocks && out_.empty();
            char* room = in_.room();
            const ssize_t got = recv(socket_.fd(), room, in_.space(), blocks ? 0 : MSG_DONTWAIT);
            if (got == 0) throw CallError("the server closed the connection");
            if (got < 0 && (blocks || !would_block())) fail("receive");
            if (got > 0) in_.received(static_cast<std::size_t>(got));
            if (got > 0 && out_.empty()) {
                if (char* message = in_.message()) return message;
            }
            if (got < 0 && now_ns() > deadline) throw CallError("no answer in time");
        }
    }

    [[noreturn]] static void fail(const char* what) {
        throw std::system_error(errno, std::generic_category(), what);
    }

    Socket socket_;
    Buffer in_;
    std::vector<char> out_;
    unsigned outstanding_ = 0;
};

template <typename CallerType>
class FloorConnector final : public Connector {
  public:
    explicit FloorConnector(Endpoint server) : server_(std::move(server)) {}
    std::unique_ptr<Client> connect() override { return std::make_unique<CallerType>(server_); }

  private:
    Endpoint server_;
};

template <typename CallerType>
std::unique_ptr<Connector> connector(const Endpoint& server, Connections /*own*/) {
    return std::make_unique<FloorConnector<CallerType>>(server);
}

std::unique_ptr<Server> serve_in_threads(const Endpoint& listen, Allocator& allocator) {
    return std::make_unique<ThreadServer>(listen, allocator);
}

template <Waits How>
std::unique_ptr<Server> serve_in_a_loop(const Endpoint& listen, Allocator& allocator) {
    return std::make_unique<LoopServer>(listen, allocator, How);
}

Versions versions() { return {}; }

}  // namespace

Implementation make_floor_tcp() {
    return {serve_in_threads, connector<FloorClient<Waits::blocks, 1>>, versions};
}
Implementation make_floor_epoll() {
    return {serve_in_a_loop<Waits::blocks>, connector<FloorClient<Waits::blocks, 1>>, versions};
}
Implementation make_floor_el() {
    return on_a_loop(serve_in_a_loop<Waits::blocks>, connect_in_a_loop, versions);
}
Implementation make_floor_spin() {
    return {serve_in_a_loop<Waits::spins>, connector<FloorClient<Waits::spins, 1>>, versions};
}
Implementation make_floor_pipe_64() {
    return {serve_in_a_loop<Waits::blocks>, connector<FloorClient<Waits::blocks, 64>>, versions};
}

}  // namespace peers
