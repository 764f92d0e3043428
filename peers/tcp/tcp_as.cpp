// TCP-AS: the thesis's own adapter.
#include <memory>

#include "tcp/adapters.hpp"
#include "tcp/tcp_as_client.hpp"
#include "tcp/tcp_as_server.hpp"

namespace peers {

namespace {

class TcpAsConnector final : public Connector {
  public:
    TcpAsConnector(Endpoint server, Connections connections)
        : server_(std::move(server)), connections_(connections) {}

    std::unique_ptr<Client> connect() override {
        if (connections_ == Connections::own || !shared_) {
            shared_ = std::make_shared<tcp_as::Connection>(server_);
        }
        return std::make_unique<tcp_as::TcpAsClient>(shared_);
    }

  private:
    Endpoint server_;
    Connections connections_;
    std::shared_ptr<tcp_as::Connection> shared_;
};

}  // namespace

Implementation make_tcp_as() {
    return {[](const Endpoint& listen, Allocator& allocator) {
                return std::make_unique<tcp_as::PoolServer>(listen, allocator);
            },
            [](const Endpoint& server, Connections connections) {
                return std::make_unique<TcpAsConnector>(server, connections);
            },
            [] { return Versions{}; }};
}

}  // namespace peers
