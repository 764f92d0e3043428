// One caller of a `LoopClient` as a `Client`: for who wants to wait.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/adapter.hpp"
#include "harness/clock.hpp"

namespace peers {

class LoopedClient final : public Client, private Ended {
  public:
    using Make = std::function<std::unique_ptr<LoopClient>(const Endpoint&, Connections, Ended&)>;

    LoopedClient(const Make& make, const Endpoint& server)
        : client_(make(server, Connections::own, *this)) {
        client_->connect();
    }

    Response allocate(std::string_view payload) override {
        client_->allocate(0, payload);
        wait();
        return {guti_, payload_};
    }

    void deallocate(const cw_guti& guti) override {
        client_->deallocate(0, guti);
        wait();
    }

  private:
    void wait() {
        over_ = false;
        const Nanoseconds overdue = now_ns() + kCallTimeoutSeconds * kSecond;
        while (!over_) {
            const Nanoseconds now = now_ns();
            if (now > overdue) client_->cancel(0);
            client_->run(now + kSecond);
        }
        if (failure_) throw CallError(*std::exchange(failure_, std::nullopt));
    }

    void answered(unsigned /*the one*/, const Response& response) override {
        over_ = true;
        guti_ = response.guti;
        payload_ = response.payload;
    }

    void failed(unsigned /*the one*/, const std::string& what) override {
        over_ = true;
        failure_ = what;
    }

    bool over_ = false;
    cw_guti guti_{};
    std::string payload_;
    std::optional<std::string> failure_;
    std::unique_ptr<LoopClient> client_;
};

/// For `Implementation::connector`: each client has a loop of its own.
class LoopedConnector final : public Connector {
  public:
    LoopedConnector(LoopedClient::Make make, Endpoint server)
        : make_(std::move(make)), server_(std::move(server)) {}

    std::unique_ptr<Client> connect() override {
        return std::make_unique<LoopedClient>(make_, server_);
    }

  private:
    LoopedClient::Make make_;
    Endpoint server_;
};

/// The whole implementation of an adapter whose callers share one thread.
inline Implementation on_a_loop(
    std::function<std::unique_ptr<Server>(const Endpoint&, Allocator&)> serve,
    LoopedClient::Make make, std::function<Versions()> versions) {
    auto connector = [make](const Endpoint& server, Connections /*own*/) {
        return std::make_unique<LoopedConnector>(make, server);
    };
    return {std::move(serve), std::move(connector), std::move(versions), std::move(make)};
}

}  // namespace peers
