// One channel with round robin, one completion queue. Requests are sent by a thread of their own
// that sleeps exactly: a completion queue with a deadline rounds to milliseconds and shows a median
// several times too high.
#include "mesh/grpc_gateway.hpp"

#include <absl/synchronization/mutex.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "harness/cpu_clock.hpp"
#include "harness/json.hpp"
#include "harness/pacing.hpp"
#include "mesh/grpc_tls.hpp"
#include "mesh/load.hpp"
#include "mesh/messages.hpp"
#include "mesh/shim.hpp"
#include "sm_contexts.grpc.pb.h"

namespace mesh {

namespace {

namespace pb = nsmf_pdusession::v1;
using peers::now_ns;

std::chrono::system_clock::time_point in(double seconds) {
    return std::chrono::system_clock::now() +
           std::chrono::duration_cast<std::chrono::system_clock::duration>(
               std::chrono::duration<double>(seconds));
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& target, const Certificates& tls) {
    // Debian's gRPC runs abseil's deadlock detector.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    const bool by_name = target.starts_with("xds:");
    if (!by_name) {
        arguments.SetLoadBalancingPolicyName("round_robin");
        // A list of addresses has no name of its own that a certificate could be for.
        if (!tls.authorities.empty()) arguments.SetSslTargetNameOverride("localhost");
    }
    const std::string name = by_name ? target : "ipv4:" + target;
    // By name, a cluster that demands TLS gets it, with the bootstrap's certificates (gRFC A29).
    const auto credentials = by_name ? grpc::XdsCredentials(grpc::InsecureChannelCredentials())
                                     : client_credentials(tls);
    return grpc::CreateCustomChannel(name, credentials, arguments);
}

/// A call of an application that was written for gRPC.
struct Plain {
    explicit Plain(const std::shared_ptr<grpc::Channel>& channel)
        : stub(pb::SmContexts::NewStub(channel)) {}

    struct Call {
        grpc::ClientContext context;
        pb::SmContextCreate request;
        pb::SmContextCreated response;
        grpc::Status status;
        std::unique_ptr<grpc::ClientAsyncResponseReader<pb::SmContextCreated>> reader;
        std::string one_way;

        [[nodiscard]] bool read() {
            one_way = value_of(context.GetServerInitialMetadata(), kOneWay);
            return !response.json_data().empty();
        }
    };

    void send(Call& call, const std::string& body, std::uint64_t number, Nanoseconds sent,
              grpc::CompletionQueue& queue, void* tag) {
        call.request.set_json_data(body);
        call.context.AddMetadata("sbi-content-type", "application/json");
        call.context.AddMetadata(kCorrelation, correlation(number));
        call.context.AddMetadata(kSent, std::to_string(sent));
        call.reader = stub->AsyncCreate(&call.context, call.request, &queue);
        call.reader->Finish(&call.response, &call.status, tag);
    }

    std::unique_ptr<pb::SmContexts::Stub> stub;
};

/// A call of an application that was written for HTTP/2.
struct Shim {
    explicit Shim(const std::shared_ptr<grpc::Channel>& channel)
        : stub(pb::HttpShim::NewStub(channel)) {}

    struct Call {
        grpc::ClientContext context;
        pb::HttpMessage request;
        pb::HttpMessage response;
        grpc::Status status;
        std::unique_ptr<grpc::ClientAsyncResponseReader<pb::HttpMessage>> reader;
        std::string one_way;

        [[nodiscard]] bool read() {
            const HttpMessage http = from_grpc(response, context.GetServerInitialMetadata());
            const auto found = http.headers.find(kOneWay);
            if (found != http.headers.end()) one_way = found->second;
            return http.status == 201 && !http.body.empty();
        }
    };

    void send(Call& call, const std::string& body, std::uint64_t number, Nanoseconds sent,
              grpc::CompletionQueue& queue, void* tag) {
        HttpMessage http{"POST", std::string(kPath), 0, {}, body};
        http.headers["content-type"] = "application/json";
        http.headers[kCorrelation] = correlation(number);
        http.headers[kSent] = std::to_string(sent);
        to_grpc(http, call.request, call.context);
        call.reader = stub->AsyncSend(&call.context, call.request, &queue);
        call.reader->Finish(&call.response, &call.status, tag);
    }

    std::unique_ptr<pb::HttpShim::Stub> stub;
};

template <typename Face>
class Gateway {
  public:
    Gateway(const GatewayOptions& options, peers::TerminationSignals& signals)
        : options_(options),
          signals_(signals),
          channel_(channel_to(options.target, options.tls)),
          face_(channel_),
          body_(create_data(options.payload)),
          measured_(options) {}

    int run() {
        connect();
        say("connected");
        plan_.emplace(options_);
        std::thread receiver([this] { receive(); });
        if (options_.rate) {
            send_at_rate();
        } else {
            for (unsigned i = 0; i < options_.in_flight; ++i) send(0);
            watch_until(plan_->window_end);
        }
        sending_ = false;
        watch_until(plan_->give_up);
        if (in_flight_ > 0) {
            // What was not answered by now is given up, so that the queue runs dry.
            measured_unanswered_ = in_flight_;
            const std::scoped_lock lock(open_mutex_);
            for (Open* call : open_) call->call.context.TryCancel();
        }
        done_ = true;
        queue_.Shutdown();
        receiver.join();
        measured_.unanswered(measured_unanswered_);
        const Nanoseconds cpu = cpu_after_ - cpu_before_;
        const unsigned connections = static_cast<unsigned>(addresses_of(options_.target).size());
        const Versions versions = {{"grpc", grpc::Version()}};
        peers::emit(
            measured_.result(*plan_, interrupted_, cpu, first_answer_, connections, versions));
        return 0;
    }

  private:
    struct Open {
        typename Face::Call call;
        Nanoseconds due = 0;
        Nanoseconds sent = 0;
        std::size_t place = 0;
    };

    /// One request after another, each waiting until the service is there.
    void connect() {
        for (unsigned i = 0; i < options_.connect; ++i) {
            typename Face::Call call;
            call.context.set_wait_for_ready(true);
            call.context.set_deadline(in(options_.patience));
            grpc::CompletionQueue queue;
            face_.send(call, body_, i, now_ns(), queue, nullptr);
            void* tag = nullptr;
            bool ok = false;
            queue.Next(&tag, &ok);
            queue.Shutdown();
            if (!call.status.ok()) {
                throw std::runtime_error("no replica answers: " + call.status.error_message());
            }
            if (i == 0) first_answer_ = now_ns();
        }
    }

    /// `due` zero: now.
    void send(Nanoseconds due) {
        auto open = std::make_unique<Open>();
        open->sent = now_ns();
        open->due = due != 0 ? due : open->sent;
        ++in_flight_;
        Open* const raw = open.release();
        {
            const std::scoped_lock lock(open_mutex_);
            raw->place = open_.size();
            open_.push_back(raw);
        }
        face_.send(raw->call, body_, number_++, raw->sent, queue_, raw);
    }

    void send_at_rate() {
        peers::prepare_pacing();
        for (std::uint64_t k = 0;; ++k) {
            const Nanoseconds due = plan_->due(k);
            if (due >= plan_->window_end || look(now_ns())) break;
            while (now_ns() < due) {
                const Nanoseconds wake = due;
                peers::sleep_until(wake);
            }
            look(now_ns());
            send(due);
        }
        watch_until(plan_->window_end);
    }

    void watch_until(Nanoseconds end) {
        constexpr Nanoseconds kLook = 5'000'000;
        for (Nanoseconds now = now_ns(); now < end; now = now_ns()) {
            if (look(now) || (!sending_ && in_flight_ == 0)) return;
            Nanoseconds wake = std::min(end, now + kLook);
            if (now < plan_->window_start) wake = std::min(wake, plan_->window_start);
            peers::sleep_until(wake);
        }
        look(now_ns());
    }

    /// Notes the window's two ends; true when the run was told to end.
    bool look(Nanoseconds now) {
        if (now >= plan_->window_start && cpu_before_ == 0) {
            cpu_before_ = cpu_.read().value_or(1);
            say("measuring");
        }
        if (interrupted_ == 0 && now < plan_->window_end && signals_.take()) interrupted_ = now;
        if ((interrupted_ != 0 || now >= plan_->window_end) && cpu_after_ == 0) {
            cpu_after_ = cpu_.read().value_or(1);
        }
        return interrupted_ != 0;
    }

    void receive() {
        void* tag = nullptr;
        bool ok = false;
        while (queue_.Next(&tag, &ok)) {
            const Nanoseconds at = now_ns();
            const std::unique_ptr<Open> open(static_cast<Open*>(tag));
            {
                const std::scoped_lock lock(open_mutex_);
                open_.back()->place = open->place;
                std::swap(open_[open->place], open_.back());
                open_.pop_back();
            }
            if (!done_) {
                if (!open->call.status.ok()) {
                    measured_.failed(*plan_, open->due, open->call.status.error_message());
                } else if (!open->call.read()) {
                    measured_.failed(*plan_, open->due, "an answer that is none");
                } else {
                    measured_.answered(*plan_, open->due, open->sent, at, open->call.one_way);
                }
                if (!options_.rate && sending_ && at < plan_->window_end) send(0);
            }
            --in_flight_;
        }
    }

    const GatewayOptions& options_;
    peers::TerminationSignals& signals_;
    std::shared_ptr<grpc::Channel> channel_;
    Face face_;
    const std::string body_;
    grpc::CompletionQueue queue_;
    std::optional<Plan> plan_;
    peers::CpuClock cpu_;
    /// The receiving thread's until it has ended.
    Measured measured_;
    std::mutex open_mutex_;
    std::vector<Open*> open_;
    std::atomic<std::uint64_t> number_ = 0;
    std::atomic<std::uint64_t> in_flight_ = 0;
    std::uint64_t measured_unanswered_ = 0;
    std::atomic<bool> sending_ = true;
    std::atomic<bool> done_ = false;
    Nanoseconds first_answer_ = 0;
    Nanoseconds interrupted_ = 0;
    Nanoseconds cpu_before_ = 0;
    Nanoseconds cpu_after_ = 0;
};

}  // namespace

int run_grpc_gateway(const GatewayOptions& options, peers::TerminationSignals& signals) {
    if (options.kind == Kind::shim) return Gateway<Shim>(options, signals).run();
    return Gateway<Plain>(options, signals).run();
}

}  // namespace mesh
