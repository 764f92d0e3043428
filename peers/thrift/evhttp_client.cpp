#include "thrift/evhttp_client.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thrift/async/TEvhttpClientChannel.h>

#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>

#include "harness/clock.hpp"
#include "harness/connector.hpp"
#include "tcp/socket.hpp"
#include "thrift/common.hpp"
#include "thrift/libevent.hpp"

namespace peers::thrift_adapters {

namespace {

using apache::thrift::async::TEvhttpClientChannel;
using apache::thrift::protocol::TBinaryProtocolFactory;

/// A channel, its event loop and the client that was generated for it.
class EvhttpConnection {
  public:
    explicit EvhttpConnection(const Endpoint& server) : server_(server), base_(event_base_new()) {
        // The channel connects with its first request only; this says now that there is nobody.
        connect_to(server);
        // Returns from the loop once a second, so that a call can time out.
        tick_.reset(event_new(
            base_.get(), -1, EV_PERSIST, [](evutil_socket_t, short, void*) {}, nullptr));
        const timeval second{1, 0};
        event_add(tick_.get(), &second);
        open();
    }

    /// Runs one asynchronous call to its end: `start(client)` sends it, with a callback that
    /// fulfils `ended`. Throws what the promise holds, or CallError after the time limit.
    template <typename Start>
    void run(const Start& start) {
        if (!client_) open();
        const Nanoseconds begin = now_ns();
        try {
            auto ended = std::make_shared<std::promise<void>>();
            std::future<void> future = ended->get_future();
            start(*client_, ended);
            while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
                event_base_loop(base_.get(), EVLOOP_ONCE);
                if (now_ns() - begin > kCallTimeoutSeconds * kSecond) {
                    throw CallError("no response within " + std::to_string(kCallTimeoutSeconds) +
                                    " s");
                }
            }
            future.get();
        } catch (const idl::GutiError& error) {
            throw CallError(error.message);
        } catch (const std::exception& error) {
            // The channel may still expect an answer; the next call opens another.
            client_.reset();
            channel_.reset();
            throw CallError(std::string("Thrift: ") + error.what());
        }
        if (!nagle_disabled_) disable_nagle();
    }

  private:
    void open() {
        channel_ = std::make_shared<TEvhttpClientChannel>(server_.host, "/", server_.host.c_str(),
                                                          server_.port, base_.get());
        client_.emplace(channel_, &protocols_);
        nagle_disabled_ = false;
    }

    /// The channel hides its socket, but the event loop knows it. Without this a request of
    /// several segments would wait for an acknowledgement.
    void disable_nagle() {
        event_base_foreach_event(
            base_.get(),
            [](const event_base*, const event* event, void*) {
                const int on = 1;
                const evutil_socket_t fd = event_get_fd(event);
                if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                return 0;
            },
            nullptr);
        nagle_disabled_ = true;
    }

    Endpoint server_;
    TBinaryProtocolFactory protocols_;
    EventBase base_;
    Event tick_;
    std::shared_ptr<TEvhttpClientChannel> channel_;
    std::optional<idl::GutiServiceCobClient> client_;
    bool nagle_disabled_ = false;
};

/// Receives an answer inside libevent's C code, which no exception may cross.
template <typename Receive>
void settle(std::promise<void>& ended, const Receive& receive) noexcept {
    try {
        receive();
        ended.set_value();
    } catch (...) {
        ended.set_exception(std::current_exception());
    }
}

class EvhttpClient final : public Client {
  public:
    explicit EvhttpClient(std::shared_ptr<EvhttpConnection> connection)
        : connection_(std::move(connection)) {}

    Response allocate(std::string_view payload) override {
        request_.payload.assign(payload);
        connection_->run([this](idl::GutiServiceCobClient& client, auto ended) {
            client.Allocate(
                [this, ended](idl::GutiServiceCobClient* done) {
                    settle(*ended, [&] { done->recv_Allocate(response_); });
                },
                request_);
        });
        return to_response(response_);
    }

    void deallocate(const cw_guti& guti) override {
        const idl::DeallocateRequest request = to_deallocate_request(guti);
        connection_->run([&request](idl::GutiServiceCobClient& client, auto ended) {
            client.Deallocate(
                [ended](idl::GutiServiceCobClient* done) {
                    idl::DeallocateResponse response;
                    settle(*ended, [&] { done->recv_Deallocate(response); });
                },
                request);
        });
    }

  private:
    std::shared_ptr<EvhttpConnection> connection_;
    idl::AllocateRequest request_;
    idl::AllocateResponse response_;
};

}  // namespace

std::unique_ptr<Connector> connect_evhttp(const Endpoint& server, Connections connections) {
    return make_connector<EvhttpConnection, EvhttpClient>(server, connections);
}

}  // namespace peers::thrift_adapters
