// BASELINE-TCP: one byte there, one byte back, over blocking TCP. No adapter can be faster over
// the same path without polling.
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include "tcp/adapters.hpp"
#include "tcp/socket.hpp"

namespace peers {

namespace {

class BaselineServer final : public Server {
  public:
    explicit BaselineServer(const Endpoint& listen)
        : listener_(listen_on(listen)), acceptor_([this] { accept_all(); }) {}

    ~BaselineServer() override {
        listener_.shut_down();
        acceptor_.join();
        // The acceptor was the only one to add to the list.
        for (Connection& connection : connections_) connection.socket.shut_down();
        for (Connection& connection : connections_) connection.thread.join();
    }

    [[nodiscard]] std::string address() const override { return address_of(listener_); }

  private:
    struct Connection {
        Socket socket;
        std::thread thread;
    };

    void accept_all() {
        while (Socket socket = accept_from(listener_)) {
            Connection& connection = connections_.emplace_back(std::move(socket), std::thread());
            connection.thread = std::thread([&connection] { echo(connection.socket); });
        }
    }

    static void echo(const Socket& socket) {
        try {
            char byte = 0;
            while (socket.receive_all(&byte, 1)) socket.send_all(&byte, 1);
        } catch (const std::system_error&) {
            // The client has gone.
        }
        socket.shut_down();
    }

    Socket listener_;
    std::list<Connection> connections_;
    std::thread acceptor_;
};

class BaselineClient final : public Client {
  public:
    explicit BaselineClient(const Endpoint& server) : socket_(connect_to(server)) {
        socket_.set_timeouts(kCallTimeoutSeconds);
    }

    Response allocate(std::string_view /*payload*/) override {
        try {
            byte_ = 'x';
            socket_.send_all(&byte_, 1);
            if (!socket_.receive_all(&byte_, 1))
                throw CallError("the server closed the connection");
        } catch (const std::system_error& error) {
            // A late answer must not be taken for the next one.
            socket_.shut_down();
            throw CallError(error.what());
        }
        return {cw_guti{}, std::string_view(&byte_, 1)};
    }

    void deallocate(const cw_guti& /*guti*/) override {
        throw CallError("the network baseline has no GUTIs");
    }

  private:
    Socket socket_;
    char byte_ = 0;
};

class BaselineConnector final : public Connector {
  public:
    explicit BaselineConnector(Endpoint server) : server_(std::move(server)) {}
    std::unique_ptr<Client> connect() override { return std::make_unique<BaselineClient>(server_); }

  private:
    Endpoint server_;
};

}  // namespace

Implementation make_baseline_tcp() {
    return {
        [](const Endpoint& listen, Allocator&) { return std::make_unique<BaselineServer>(listen); },
        [](const Endpoint& server, Connections) {
            return std::make_unique<BaselineConnector>(server);
        },
        [] { return Versions{}; }};
}

}  // namespace peers
