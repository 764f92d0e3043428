// CW-EL: asynchronous calls of all callers on one event loop, which the one client thread drives.
#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "corewire/clients.hpp"
#include "corewire/common.hpp"
#include "harness/clock.hpp"

namespace peers::corewire_adapters {

namespace {

class LoopCallers final : public LoopClient {
  public:
    LoopCallers(const Endpoint& server, Connections connections, Ended& ended)
        : server_(server), connections_(connections), ended_(ended) {
        if (waiting() == Waiting::polling) loop_.set_busy_poll(kPolling);
    }

    void connect() override {
        const bool first = callers_.empty();
        const auto number = static_cast<unsigned>(callers_.size());
        if (first || connections_ != Connections::shared) {
            channels_.push_back(
                loop_.connect(url("native", server_).c_str(), channel_options(server_)));
            reach(channels_.back());
        }
        callers_.push_back({this, &channels_.back(), number, false});
    }

    void allocate(unsigned number, std::string_view payload) override {
        Caller& caller = callers_[number];
        caller.allocates = true;
        const AllocateRequestHead head(payload.size());
        call(caller, operations_.allocate, {head.piece(), corewire::piece(payload)});
    }

    void deallocate(unsigned number, const cw_guti& guti) override {
        Caller& caller = callers_[number];
        caller.allocates = false;
        const DeallocateRequest request(guti);
        call(caller, operations_.deallocate, {request.piece()});
    }

    void run(Nanoseconds until) override {
        const auto left = std::chrono::nanoseconds(std::max<Nanoseconds>(until - now_ns(), 0));
        loop_.run_once(std::chrono::ceil<std::chrono::microseconds>(left));
    }

  private:
    struct Caller {
        LoopCallers* of;
        corewire::AsyncChannel* channel;
        unsigned number;
        bool allocates;
    };

    /// The connection is made at the first call. This one nobody serves: its answer, a failure,
    /// shows that the server is there.
    void reach(corewire::AsyncChannel& channel) {
        std::optional<corewire::Outcome> end;
        const corewire::Operation nothing("guti.v1.GutiService/Nothing");
        channel.call(nothing, {}, [&end](corewire::Outcome outcome) { end = std::move(outcome); });
        while (!end) loop_.run_once();
        try {
            end->response();
        } catch (const corewire::Error& error) {
            cannot_connect(server_, error);
        }
    }

    static void call(Caller& caller, const corewire::Operation& operation,
                     const corewire::Body& body) {
        caller.channel->call(operation, body, [&caller](corewire::Outcome outcome) {
            caller.of->tell(caller, std::move(outcome));
        });
    }

    void tell(const Caller& caller, corewire::Outcome outcome) {
        corewire::Response answer;
        Response response{};
        try {
            as_call([&] {
                answer = outcome.response();
                answer.expect_ok();
                if (caller.allocates) response = read_allocate_response(answer.body());
            });
        } catch (const CallError& error) {
            ended_.failed(caller.number, error.what());
            return;
        }
        ended_.answered(caller.number, response);
    }

    const Endpoint server_;
    const Connections connections_;
    Ended& ended_;
    const Operations operations_;
    /// In places that stay: calls in progress point to them.
    std::deque<corewire::AsyncChannel> channels_;
    std::deque<Caller> callers_;
    /// Last, so that it goes first: it tells the ends of the calls that are left.
    corewire::Loop loop_;
};

}  // namespace

std::unique_ptr<LoopClient> connect_loop(const Endpoint& server, Connections connections,
                                         Ended& ended) {
    return std::make_unique<LoopCallers>(server, connections, ended);
}

}  // namespace peers::corewire_adapters
