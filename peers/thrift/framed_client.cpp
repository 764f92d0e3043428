#include "thrift/framed_client.hpp"

#include <thrift/transport/TSocket.h>

#include <stdexcept>

#include "harness/connector.hpp"
#include "thrift/common.hpp"

namespace peers::thrift_adapters {

namespace {

class FramedConnection {
  public:
    explicit FramedConnection(const Endpoint& server)
        : tls_(server.tls.on() ? tls_sockets(server.tls, false) : nullptr),
          socket_(make_socket(server)),
          transport_(std::make_shared<FramedTransport>(socket_)),
          client_(std::make_shared<apache::thrift::protocol::TBinaryProtocol>(transport_)) {
        socket_->setNoDelay(true);
        socket_->setConnTimeout(kCallTimeoutSeconds * 1000);
        socket_->setRecvTimeout(kCallTimeoutSeconds * 1000);
        socket_->setSendTimeout(kCallTimeoutSeconds * 1000);
        try {
            transport_->open();
            // A TLS socket shakes hands, and counts as open, from its first octets on.
            if (tls_) socket_->write(nullptr, 0);
        } catch (const apache::thrift::TException& error) {
            throw std::runtime_error("cannot connect to " + server.to_string() + ": " +
                                     error.what());
        }
    }

    idl::GutiServiceClient& client() noexcept { return client_; }
    [[nodiscard]] bool is_open() const { return socket_->isOpen(); }
    /// A late answer must not be taken for the next one. The socket alone is closed: closing the
    /// transport would send what it holds.
    void close() { socket_->close(); }

  private:
    std::shared_ptr<apache::thrift::transport::TSocket> make_socket(const Endpoint& server) {
        if (tls_) return tls_->createSocket(server.host, server.port);
        return std::make_shared<apache::thrift::transport::TSocket>(server.host, server.port,
                                                                    unlimited());
    }

    /// Null in clear text.
    std::shared_ptr<apache::thrift::transport::TSSLSocketFactory> tls_;
    std::shared_ptr<apache::thrift::transport::TSocket> socket_;
    std::shared_ptr<FramedTransport> transport_;
    idl::GutiServiceClient client_;
};

class FramedClient final : public Client {
  public:
    explicit FramedClient(std::shared_ptr<FramedConnection> connection)
        : connection_(std::move(connection)) {}

    Response allocate(std::string_view payload) override {
        call([&] {
            request_.payload.assign(payload);
#ifdef PEERS_NEXT
            request_.requester = "a later version";
#endif
            connection_->client().Allocate(response_, request_);
        });
        return to_response(response_);
    }

    void deallocate(const cw_guti& guti) override {
        call([&] {
            idl::DeallocateResponse response;
            connection_->client().Deallocate(response, to_deallocate_request(guti));
        });
    }

  private:
    template <typename Function>
    void call(const Function& function) {
        if (!connection_->is_open()) throw CallError("the connection is closed");
        try {
            function();
        } catch (const idl::GutiError& error) {
            throw CallError(error.message);
        } catch (const std::exception& error) {
            connection_->close();
            throw CallError(std::string("Thrift: ") + error.what());
        }
    }

    std::shared_ptr<FramedConnection> connection_;
    idl::AllocateRequest request_;
    idl::AllocateResponse response_;
};

}  // namespace

std::unique_ptr<Connector> connect_framed(const Endpoint& server, Connections connections) {
    return make_connector<FramedConnection, FramedClient>(server, connections);
}

}  // namespace peers::thrift_adapters
