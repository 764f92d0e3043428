// A bidirectional stream on the asynchronous server: callbacks, no state variable.
#pragma once

#include "grpc/call_host.hpp"
#include "grpc/common.hpp"
#include "grpc/completion.hpp"

namespace peers::grpc_adapters {

/// Read, allocate, write, and again, until the client ends the stream.
class StreamCall {
  public:
    /// Waits for one stream. The object deletes itself at the end of the stream, or when the
    /// server shuts down.
    static void accept(CallHost& host) {
        auto* call = new StreamCall(host);
        host.service.RequestAllocateStream(&call->context_, &call->stream_, host.queue.get(),
                                           host.queue.get(), handle(call->accepted_));
    }

  private:
    explicit StreamCall(CallHost& host) : host_(host), live_(host), stream_(&context_) {}
    ~StreamCall() = default;

    void on_accepted(bool ok) {
        if (!ok) {
            delete this;
            return;
        }
        accept(host_);
        stream_.Read(&request_, handle(read_));
    }

    void on_read(bool ok) {
        if (!ok) return finish(grpc::Status::OK);
        const grpc::Status status =
            allocate(host_.allocator, std::move(*request_.mutable_payload()), response_);
        if (!status.ok()) return finish(status);
        stream_.Write(response_, handle(written_));
    }

    void on_written(bool ok) {
        if (!ok) return finish(grpc::Status::CANCELLED);
        stream_.Read(&request_, handle(read_));
    }

    void finish(const grpc::Status& status) { stream_.Finish(status, handle(finished_)); }

    void on_finished(bool /*ok*/) { delete this; }

    CallHost& host_;
    // Declared first, hence gone last: everything of the call is released before.
    Live live_;
    grpc::ServerContext context_;
    grpc::ServerAsyncReaderWriter<pb::AllocateResponse, pb::AllocateRequest> stream_;
    pb::AllocateRequest request_;
    pb::AllocateResponse response_;
    Callback<StreamCall, &StreamCall::on_accepted> accepted_{*this};
    Callback<StreamCall, &StreamCall::on_read> read_{*this};
    Callback<StreamCall, &StreamCall::on_written> written_{*this};
    Callback<StreamCall, &StreamCall::on_finished> finished_{*this};
};

}  // namespace peers::grpc_adapters
