#include <atomic>
#include <optional>

#include "grpc/clients.hpp"
#include "grpc/queue_connection.hpp"
#include "harness/connector.hpp"

namespace peers::grpc_adapters {

namespace {

/// One stream whose operations end in callbacks on the event loop's thread.
class Stream {
  public:
    Stream(pb::GutiService::Stub& stub, grpc::CompletionQueue& queue)
        : stream_(stub.PrepareAsyncAllocateStream(&context_, &queue)) {
        auto started = expect(1);
        stream_->StartCall(handle(ended_));
        await(started, context_);
    }

    /// Cancels what is outstanding and collects the status.
    ~Stream() {
        if (!finished_) {
            context_.TryCancel();
            finish();
        }
    }

    /// False when the stream is of no more use.
    bool exchange(const pb::AllocateRequest& request, pb::AllocateResponse& response) {
        auto both_ended = expect(2);
        stream_->Write(request, handle(ended_));
        stream_->Read(&response, handle(ended_));
        return await(both_ended, context_);
    }

    grpc::Status finish() {
        finished_ = true;
        grpc::Status status;
        auto finished = expect(1);
        stream_->Finish(&status, handle(ended_));
        finished.get();
        return status;
    }

  private:
    /// A future for the end of `count` operations: true when all succeeded.
    std::future<bool> expect(int count) {
        promise_ = std::promise<bool>();
        all_ok_.store(true, std::memory_order_relaxed);
        outstanding_.store(count, std::memory_order_release);
        return promise_.get_future();
    }

    void on_ended(bool ok) {
        if (!ok) all_ok_.store(false, std::memory_order_relaxed);
        if (outstanding_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            promise_.set_value(all_ok_.load(std::memory_order_relaxed));
        }
    }

    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<pb::AllocateRequest, pb::AllocateResponse>>
        stream_;
    Callback<Stream, &Stream::on_ended> ended_{*this};
    std::promise<bool> promise_;
    std::atomic<int> outstanding_{0};
    std::atomic<bool> all_ok_{true};
    bool finished_ = false;
};

class AsyncStreamClient final : public Client {
  public:
    explicit AsyncStreamClient(std::shared_ptr<QueueConnection> connection)
        : connection_(std::move(connection)),
          stub_(pb::GutiService::NewStub(connection_->channel())) {
        stream_.emplace(*stub_, connection_->queue());
    }

    Response allocate(std::string_view payload) override {
        // After a failure the next call opens another stream.
        if (!stream_) stream_.emplace(*stub_, connection_->queue());
        request_.set_payload(payload.data(), payload.size());
        if (!stream_->exchange(request_, response_)) {
            const grpc::Status status = stream_->finish();
            stream_.reset();
            expect_ok(status);
            throw CallError("the server ended the stream");
        }
        return to_response(response_);
    }

    void deallocate(const cw_guti& guti) override { grpc_adapters::deallocate(*stub_, guti); }

  private:
    std::shared_ptr<QueueConnection> connection_;
    std::unique_ptr<pb::GutiService::Stub> stub_;
    std::optional<Stream> stream_;
    pb::AllocateRequest request_;
    pb::AllocateResponse response_;
};

}  // namespace

std::unique_ptr<Connector> connect_asbi(const Endpoint& server, Connections connections) {
    return make_connector<QueueConnection, AsyncStreamClient>(server, connections);
}

}  // namespace peers::grpc_adapters
