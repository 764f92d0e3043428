// A bidirectional stream on the asynchronous server: callbacks, no state variable.
#pragma once

#include "grpc/common.hpp"
#include "grpc/completion.hpp"

namespace peers::grpc_adapters {

/// Read, allocate, write, and again, until the client ends the stream.
class StreamCall {
  public:
    /// Waits for one stream. The object deletes itself at the end of the stream, or when the
    /// queue shuts down.
    static void accept(pb::GutiService::AsyncService& service, Allocator& allocator,
                       grpc::ServerCompletionQueue& queue) {
        auto* call = new StreamCall(service, allocator, queue);
        service.RequestAllocateStream(&call->context_, &call->stream_, &queue, &queue,
                                      handle(call->accepted_));
    }

  private:
    StreamCall(pb::GutiService::AsyncService& service, Allocator& allocator,
               grpc::ServerCompletionQueue& queue)
        : service_(service), allocator_(allocator), queue_(queue), stream_(&context_) {}
    ~StreamCall() = default;

    void on_accepted(bool ok) {
        if (!ok) {
            delete this;
            return;
        }
        accept(service_, allocator_, queue_);
        stream_.Read(&request_, handle(read_));
    }

    void on_read(bool ok) {
        if (!ok) return finish(grpc::Status::OK);
        const grpc::Status status =
            allocate(allocator_, std::move(*request_.mutable_payload()), response_);
        if (!status.ok()) return finish(status);
        stream_.Write(response_, handle(written_));
    }

    void on_written(bool ok) {
        if (!ok) return finish(grpc::Status::CANCELLED);
        stream_.Read(&request_, handle(read_));
    }

    void finish(const grpc::Status& status) { stream_.Finish(status, handle(finished_)); }

    void on_finished(bool /*ok*/) { delete this; }

    pb::GutiService::AsyncService& service_;
    Allocator& allocator_;
    grpc::ServerCompletionQueue& queue_;
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
