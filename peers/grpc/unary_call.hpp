// A unary call on the asynchronous server: one finite state machine a call, moved on by the
// event loop.
#pragma once

#include "grpc/call_host.hpp"
#include "grpc/common.hpp"
#include "grpc/completion.hpp"

namespace peers::grpc_adapters {

/// `Method` has the types Request and Response, and the static functions
/// `accept(service, context, request, responder, queue, tag)` and
/// `handle(allocator, request, response) -> grpc::Status`.
template <typename Method>
class UnaryCall final : public Tag {
  public:
    /// Waits for one call. The object deletes itself at the end of the call, or when the server
    /// shuts down.
    static void accept(CallHost& host) {
        auto* call = new UnaryCall(host);
        Method::accept(host.service, call->context_, call->request_, call->responder_, *host.queue,
                       peers::grpc_adapters::handle(*call));
    }

    void proceed(bool ok) override {
        if (state_ == State::accepting && ok) {
            accept(host_);
            state_ = State::finishing;
            const grpc::Status status = Method::handle(host_.allocator, request_, response_);
            responder_.Finish(response_, status, peers::grpc_adapters::handle(*this));
        } else {
            delete this;
        }
    }

  private:
    enum class State { accepting, finishing };

    explicit UnaryCall(CallHost& host) : host_(host), live_(host), responder_(&context_) {}
    ~UnaryCall() = default;

    CallHost& host_;
    // Declared first, hence gone last: everything of the call is released before.
    Live live_;
    State state_ = State::accepting;
    grpc::ServerContext context_;
    typename Method::Request request_;
    typename Method::Response response_;
    grpc::ServerAsyncResponseWriter<typename Method::Response> responder_;
};

struct AllocateMethod {
    using Request = pb::AllocateRequest;
    using Response = pb::AllocateResponse;

    static void accept(pb::GutiService::AsyncService& service, grpc::ServerContext& context,
                       Request& request, grpc::ServerAsyncResponseWriter<Response>& responder,
                       grpc::ServerCompletionQueue& queue, void* tag) {
        service.RequestAllocate(&context, &request, &responder, &queue, &queue, tag);
    }
    static grpc::Status handle(Allocator& allocator, Request& request, Response& response) {
        return allocate(allocator, std::move(*request.mutable_payload()), response);
    }
};

struct DeallocateMethod {
    using Request = pb::DeallocateRequest;
    using Response = pb::DeallocateResponse;

    static void accept(pb::GutiService::AsyncService& service, grpc::ServerContext& context,
                       Request& request, grpc::ServerAsyncResponseWriter<Response>& responder,
                       grpc::ServerCompletionQueue& queue, void* tag) {
        service.RequestDeallocate(&context, &request, &responder, &queue, &queue, tag);
    }
    static grpc::Status handle(Allocator& allocator, Request& request, Response& /*response*/) {
        return deallocate(allocator, request);
    }
};

}  // namespace peers::grpc_adapters
