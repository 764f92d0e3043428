#include "thrift/framed_server.hpp"

#include <thrift/TOutput.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TNonblockingSSLServerSocket.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TSSLServerSocket.h>
#include <thrift/transport/TServerSocket.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include "tcp/socket.hpp"
#include "thrift/common.hpp"

namespace peers::thrift_adapters {

namespace {

using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::server::TServerEventHandler;

class Handler final : public idl::GutiServiceIf {
  public:
    explicit Handler(Allocator& allocator) : allocator_(allocator) {}

    void Allocate(idl::AllocateResponse& response, const idl::AllocateRequest& request) override {
        allocate(allocator_, request, response);
    }
    void Deallocate(idl::DeallocateResponse& /*response*/,
                    const idl::DeallocateRequest& request) override {
        deallocate(allocator_, request);
    }

  private:
    Allocator& allocator_;
};

std::shared_ptr<apache::thrift::TProcessor> make_processor(Allocator& allocator) {
    return std::make_shared<idl::GutiServiceProcessor>(std::make_shared<Handler>(allocator));
}

/// Tells that the server listens.
class Listening final : public TServerEventHandler {
  public:
    void preServe() override { promise_.set_value(); }
    std::future<void> future() { return promise_.get_future(); }
    void fail(std::exception_ptr error) { promise_.set_exception(std::move(error)); }

  private:
    std::promise<void> promise_;
};

/// Runs a Thrift server in a thread. `ThriftServer` listens in `serve`; `ServerSocket` knows the
/// port then.
template <typename ThriftServer, typename ServerSocket>
class ThreadedHost final : public Server {
  public:
    ThreadedHost(const Endpoint& listen, std::shared_ptr<ServerSocket> socket,
                 std::unique_ptr<ThriftServer> server)
        : endpoint_(listen), socket_(std::move(socket)), server_(std::move(server)) {
        // Thrift prints each lost connection on stderr.
        apache::thrift::GlobalOutput.setOutputFunction([](const char*) {});
        auto listening = std::make_shared<Listening>();
        std::future<void> ready = listening->future();
        server_->setServerEventHandler(listening);
        std::promise<void> end;
        ended_ = end.get_future();
        thread_ = std::thread([this, listening, end = std::move(end)]() mutable {
            run(*listening);
            end.set_value();
        });
        try {
            ready.get();
            endpoint_.port = static_cast<std::uint16_t>(port_of(*socket_));
        } catch (const std::exception& error) {
            thread_.join();
            // Thrift does not say why; a socket of our own meets the same reason.
            listen_on(listen);
            throw std::runtime_error("cannot listen on " + listen.to_string() + ": " +
                                     error.what());
        }
    }

    ~ThreadedHost() override {
        // TNonblockingServer forgets a stop that comes before its event loop runs: ask again.
        do {
            server_->stop();
        } while (ended_.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready);
        thread_.join();
    }

    [[nodiscard]] std::string address() const override { return endpoint_.to_string(); }

  private:
    static int port_of(apache::thrift::transport::TServerSocket& socket) {
        return socket.getPort();
    }
    static int port_of(apache::thrift::transport::TNonblockingServerSocket& socket) {
        return socket.getListenPort();
    }

    void run(Listening& listening) {
        try {
            server_->serve();
        } catch (const std::exception&) {
            try {
                listening.fail(std::current_exception());
            } catch (const std::future_error&) {
                // It was listening already: an error while stopping.
            }
        }
    }

    Endpoint endpoint_;
    std::shared_ptr<ServerSocket> socket_;
    std::unique_ptr<ThriftServer> server_;
    std::future<void> ended_;
    std::thread thread_;
};

}  // namespace

std::unique_ptr<Server> serve_threaded(const Endpoint& listen, Allocator& allocator) {
    using apache::thrift::server::TThreadedServer;
    using apache::thrift::transport::TServerSocket;
    using apache::thrift::transport::TSSLServerSocket;
    const std::shared_ptr<TServerSocket> socket =
        listen.tls.on() ? std::make_shared<TSSLServerSocket>(listen.host, listen.port,
                                                             tls_sockets(listen.tls, true))
                        : std::make_shared<TServerSocket>(listen.host, listen.port);
    // Threads that `stop` can interrupt poll before each receive, which costs a tenth of the rate.
    // The price: the destructor waits until the clients have gone.
    socket->setInterruptableChildren(false);
    auto server = std::make_unique<TThreadedServer>(make_processor(allocator), socket,
                                                    std::make_shared<FramedTransportFactory>(),
                                                    std::make_shared<TBinaryProtocolFactory>());
    return std::make_unique<ThreadedHost<TThreadedServer, TServerSocket>>(listen, socket,
                                                                          std::move(server));
}

std::unique_ptr<Server> serve_nonblocking(const Endpoint& listen, Allocator& allocator) {
    using apache::thrift::server::TNonblockingServer;
    using apache::thrift::transport::TNonblockingServerSocket;
    using apache::thrift::transport::TNonblockingSSLServerSocket;
    const std::shared_ptr<TNonblockingServerSocket> socket =
        listen.tls.on() ? std::make_shared<TNonblockingSSLServerSocket>(
                              listen.host, listen.port, tls_sockets(listen.tls, true))
                        : std::make_shared<TNonblockingServerSocket>(listen.host, listen.port);
    auto server = std::make_unique<TNonblockingServer>(
        make_processor(allocator), std::make_shared<TBinaryProtocolFactory>(), socket);
    server->setNumIOThreads(1);
    return std::make_unique<ThreadedHost<TNonblockingServer, TNonblockingServerSocket>>(
        listen, socket, std::move(server));
}

}  // namespace peers::thrift_adapters
