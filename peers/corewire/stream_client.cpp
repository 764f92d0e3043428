// CW-BI: one bidirectional stream a client; a message out, a message in.
#include <memory>

#include "corewire/clients.hpp"
#include "corewire/common.hpp"
#include "harness/clock.hpp"
#include "harness/connector.hpp"

namespace peers::corewire_adapters {

namespace {

/// A stream's timeout bounds its whole life, and with it the wait for a server that hangs. So a
/// client goes over to a new stream from time to time, long before that.
constexpr int kRenewAfterSeconds = 3;

struct Connection {
    explicit Connection(const Endpoint& server) try
        : channel(url("native", server).c_str(), channel_options(server)) {
    } catch (const corewire::Error& error) {
        cannot_connect(server, error);
    }

    corewire::Channel channel;
    Operations operations;
    corewire::Operation allocate_stream{kAllocateStream};
};

class StreamClient final : public Client {
  public:
    explicit StreamClient(std::shared_ptr<Connection> connection)
        : connection_(std::move(connection)) {
        options_.timeout(std::chrono::seconds(kCallTimeoutSeconds + kRenewAfterSeconds));
    }

    Response allocate(std::string_view payload) override {
        try {
            return as_call([&] {
                if (now_ns() >= renew_at_) renew();
                const AllocateRequestHead head(payload.size());
                stream_.send({head.piece(), corewire::piece(payload)});
                const auto answer = stream_.receive();
                if (!answer) throw CallError("the server has ended the stream");
                return read_allocate_response(*answer);
            });
        } catch (const CallError&) {
            // What comes next on this stream answers nothing any more.
            stream_ = {};
            renew_at_ = 0;
            throw;
        }
    }

    void deallocate(const cw_guti& guti) override {
        as_call([&] {
            const DeallocateRequest request(guti);
            connection_->channel.call(connection_->operations.deallocate, {request.piece()})
                .expect_ok();
        });
    }

  private:
    void renew() {
        if (stream_) {
            stream_.finish();
            while (stream_.receive()) {
            }
        }
        stream_ = connection_->channel.open(connection_->allocate_stream, options_);
        renew_at_ = now_ns() + kRenewAfterSeconds * kSecond;
    }

    std::shared_ptr<Connection> connection_;
    corewire::CallOptions options_;
    corewire::Stream stream_;
    Nanoseconds renew_at_ = 0;
};

}  // namespace

std::unique_ptr<Connector> connect_stream(const Endpoint& server, Connections connections) {
    return make_connector<Connection, StreamClient>(server, connections);
}

}  // namespace peers::corewire_adapters
