// The connector of adapters whose clients stand on a connection object.
#pragma once

#include <memory>
#include <utility>

#include "harness/adapter.hpp"

namespace peers {

/// Makes a `Connection` for each client, or one for all, and a `CallerType` on top of it.
template <typename Connection, typename CallerType>
class ConnectionConnector final : public Connector {
  public:
    ConnectionConnector(Endpoint server, Connections connections)
        : server_(std::move(server)), connections_(connections) {}

    std::unique_ptr<Client> connect() override {
        if (connections_ != Connections::shared) {
            return std::make_unique<CallerType>(std::make_shared<Connection>(server_));
        }
        if (!shared_) shared_ = std::make_shared<Connection>(server_);
        return std::make_unique<CallerType>(shared_);
    }

  private:
    Endpoint server_;
    Connections connections_;
    std::shared_ptr<Connection> shared_;
};

/// For `Implementation::connector`.
template <typename Connection, typename CallerType>
std::unique_ptr<Connector> make_connector(const Endpoint& server, Connections connections) {
    return std::make_unique<ConnectionConnector<Connection, CallerType>>(server, connections);
}

}  // namespace peers
