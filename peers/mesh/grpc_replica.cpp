#include "mesh/grpc_replica.hpp"

#include <absl/synchronization/mutex.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "mesh/grpc_tls.hpp"
#include "mesh/messages.hpp"
#include "mesh/shim.hpp"
#include "sm_contexts.grpc.pb.h"

namespace mesh {

namespace {

namespace pb = nsmf_pdusession::v1;
using peers::now_ns;

/// Calls that may arrive between two turns of the event loop; one that finds no waiting object is
/// queued inside gRPC at a cost.
constexpr int kAcceptedAhead = 64;

struct Host {
    pb::SmContexts::AsyncService plain;
    pb::HttpShim::AsyncService shim;
    std::unique_ptr<grpc::ServerCompletionQueue> queue;
    const std::string answer = created_data();
    std::atomic<int> live = 0;
};

class Tag {
  public:
    virtual void proceed(bool ok) = 0;

  protected:
    ~Tag() = default;
};

struct PlainMethod {
    using Request = pb::SmContextCreate;
    using Response = pb::SmContextCreated;

    template <typename... Arguments>
    static void accept(Host& host, Arguments... arguments) {
        host.plain.RequestCreate(arguments...);
    }

    static grpc::Status answer(Host& host, grpc::ServerContext& context, const Request& request,
                               Response& response, Nanoseconds received) {
        if (request.json_data().empty()) return {grpc::StatusCode::INVALID_ARGUMENT, "no body"};
        const std::string sent = value_of(context.client_metadata(), kSent);
        context.AddInitialMetadata(kOneWay, one_way_since(sent, received));
        response.set_json_data(host.answer);
        return grpc::Status::OK;
    }
};

struct ShimMethod {
    using Request = pb::HttpMessage;
    using Response = pb::HttpMessage;

    template <typename... Arguments>
    static void accept(Host& host, Arguments... arguments) {
        host.shim.RequestSend(arguments...);
    }

    static grpc::Status answer(Host& host, grpc::ServerContext& context, const Request& request,
                               Response& response, Nanoseconds received) {
        // What the application of an HTTP/2 library is handed, and hands back.
        const HttpMessage asked = from_grpc(request, context.client_metadata());
        HttpMessage answered{{}, {}, 404, {}, {}};
        if (asked.method == "POST" && asked.path == kPath) {
            const auto sent = asked.headers.find(kSent);
            const std::string text = sent == asked.headers.end() ? "" : sent->second;
            answered.status = 201;
            answered.headers["content-type"] = "application/json";
            answered.headers[kOneWay] = one_way_since(text, received);
            answered.body = host.answer;
        }
        to_grpc(answered, response, context);
        return grpc::Status::OK;
    }
};

template <typename Method>
class UnaryCall final : public Tag {
  public:
    static void accept(Host& host) { new UnaryCall(host); }

    void proceed(bool ok) override {
        if (finishing_ || !ok) {
            --host_.live;
            delete this;
            return;
        }
        const Nanoseconds received = now_ns();
        accept(host_);
        finishing_ = true;
        const grpc::Status status = Method::answer(host_, context_, request_, response_, received);
        if (status.ok()) {
            writer_.Finish(response_, status, static_cast<Tag*>(this));
        } else {
            writer_.FinishWithError(status, static_cast<Tag*>(this));
        }
    }

  private:
    explicit UnaryCall(Host& host) : host_(host), writer_(&context_) {
        ++host.live;
        Method::accept(host, &context_, &request_, &writer_, host.queue.get(), host.queue.get(),
                       static_cast<Tag*>(this));
    }

    Host& host_;
    grpc::ServerContext context_;
    typename Method::Request request_;
    typename Method::Response response_;
    grpc::ServerAsyncResponseWriter<typename Method::Response> writer_;
    bool finishing_ = false;
};

class GrpcReplica final : public Replica {
  public:
    explicit GrpcReplica(const ReplicaOptions& options) {
        absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
        grpc::ServerBuilder builder;
        builder.SetMaxReceiveMessageSize(-1);
        // Else a port that another gRPC server uses would be taken as well, silently.
        builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
        std::vector<int> bound(options.ports);
        const auto credentials = server_credentials(options.tls);
        for (int& port : bound) {
            builder.AddListeningPort("127.0.0.1:0", credentials, &port);
        }
        builder.RegisterService(&host_.plain);
        builder.RegisterService(&host_.shim);
        host_.queue = builder.AddCompletionQueue();
        server_ = builder.BuildAndStart();
        if (!server_) throw std::runtime_error("cannot listen at 127.0.0.1: gRPC refuses");
        for (const int port : bound) addresses_.push_back("127.0.0.1:" + std::to_string(port));
        for (int i = 0; i < kAcceptedAhead; ++i) {
            UnaryCall<PlainMethod>::accept(host_);
            UnaryCall<ShimMethod>::accept(host_);
        }
        loop_ = std::thread([this] {
            void* tag = nullptr;
            bool ok = false;
            while (host_.queue->Next(&tag, &ok)) static_cast<Tag*>(tag)->proceed(ok);
        });
    }

    ~GrpcReplica() override {
        server_->Shutdown(std::chrono::system_clock::now());
        while (host_.live > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        host_.queue->Shutdown();
        loop_.join();
    }

    [[nodiscard]] const std::vector<std::string>& addresses() const override { return addresses_; }
    [[nodiscard]] Versions versions() const override { return {{"grpc", grpc::Version()}}; }

  private:
    Host host_;
    std::unique_ptr<grpc::Server> server_;
    std::vector<std::string> addresses_;
    std::thread loop_;
};

}  // namespace

std::unique_ptr<Replica> serve_grpc(const ReplicaOptions& options) {
    return std::make_unique<GrpcReplica>(options);
}

}  // namespace mesh
