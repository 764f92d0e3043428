#include <mutex>
#include <optional>

#include "grpc/clients.hpp"
#include "grpc/common.hpp"
#include "harness/connector.hpp"

namespace peers::grpc_adapters {

namespace {

class SyncStreamClient final : public Client {
  public:
    explicit SyncStreamClient(std::shared_ptr<Channel> channel)
        : channel_(std::move(channel)), stub_(pb::GutiService::NewStub(channel_->get())) {
        open();
    }

    ~SyncStreamClient() override {
        if (!stream_) return;
        stream_->WritesDone();
        // Finish() asks for a stream that was read to its end.
        context_->TryCancel();
        stream_->Finish();
    }

    Response allocate(std::string_view payload) override {
        if (!stream_) open();
        request_.set_payload(payload.data(), payload.size());
        if (!stream_->Write(request_) || !stream_->Read(&response_)) close();
        return to_response(response_);
    }

    void deallocate(const cw_guti& guti) override { grpc_adapters::deallocate(*stub_, guti); }

    void cancel() override {
        const std::lock_guard lock(mutex_);
        if (context_) context_->TryCancel();
    }

  private:
    void open() {
        const std::lock_guard lock(mutex_);
        context_.emplace();
        stream_ = stub_->AllocateStream(&*context_);
    }

    /// The stream broke; the next call opens another.
    [[noreturn]] void close() {
        const grpc::Status status = stream_->Finish();
        stream_.reset();
        expect_ok(status);
        throw CallError("the server ended the stream");
    }

    std::shared_ptr<Channel> channel_;
    std::unique_ptr<pb::GutiService::Stub> stub_;
    std::mutex mutex_;
    std::optional<grpc::ClientContext> context_;
    std::unique_ptr<grpc::ClientReaderWriter<pb::AllocateRequest, pb::AllocateResponse>> stream_;
    pb::AllocateRequest request_;
    pb::AllocateResponse response_;
};

}  // namespace

std::unique_ptr<Connector> connect_bi(const Endpoint& server, Connections connections) {
    return make_connector<Channel, SyncStreamClient>(server, connections);
}

}  // namespace peers::grpc_adapters
