#include "grpc/clients.hpp"
#include "grpc/queue_connection.hpp"
#include "harness/connector.hpp"

namespace peers::grpc_adapters {

namespace {

/// One call on its way: the context to which the tag leads.
class PendingCall final : public Tag {
  public:
    void proceed(bool /*ok*/) override { ended_.set_value(); }

    grpc::Status run(pb::GutiService::Stub& stub, grpc::CompletionQueue& queue,
                     const pb::AllocateRequest& request, pb::AllocateResponse& response) {
        std::future<void> ended = ended_.get_future();
        const auto reader = stub.AsyncAllocate(&context_, request, &queue);
        reader->Finish(&response, &status_, handle(*this));
        await(ended, context_);
        return status_;
    }

  private:
    grpc::ClientContext context_;
    grpc::Status status_;
    std::promise<void> ended_;
};

class AsyncUnaryClient final : public Client {
  public:
    explicit AsyncUnaryClient(std::shared_ptr<QueueConnection> connection)
        : connection_(std::move(connection)),
          stub_(pb::GutiService::NewStub(connection_->channel())) {}

    Response allocate(std::string_view payload) override {
        request_.set_payload(payload.data(), payload.size());
        PendingCall call;
        expect_ok(call.run(*stub_, connection_->queue(), request_, response_));
        return to_response(response_);
    }

    void deallocate(const cw_guti& guti) override { grpc_adapters::deallocate(*stub_, guti); }

  private:
    std::shared_ptr<QueueConnection> connection_;
    std::unique_ptr<pb::GutiService::Stub> stub_;
    pb::AllocateRequest request_;
    pb::AllocateResponse response_;
};

}  // namespace

std::unique_ptr<Connector> connect_as(const Endpoint& server, Connections connections) {
    return make_connector<QueueConnection, AsyncUnaryClient>(server, connections);
}

}  // namespace peers::grpc_adapters
