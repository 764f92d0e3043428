#include <mutex>
#include <optional>

#include "grpc/clients.hpp"
#include "grpc/common.hpp"
#include "harness/connector.hpp"

namespace peers::grpc_adapters {

namespace {

class SyncUnaryClient final : public Client {
  public:
    explicit SyncUnaryClient(std::shared_ptr<Channel> channel)
        : channel_(std::move(channel)), stub_(pb::GutiService::NewStub(channel_->get())) {}

    Response allocate(std::string_view payload) override {
        // A context serves one call. It stands in a member so that `cancel` finds it: a deadline
        // would cost every call a timer on both sides.
        {
            const std::lock_guard lock(mutex_);
            context_.emplace();
        }
        request_.set_payload(payload.data(), payload.size());
#ifdef PEERS_NEXT
        request_.set_requester("a later version");
#endif
        expect_ok(stub_->Allocate(&*context_, request_, &response_));
        return to_response(response_);
    }

    void deallocate(const cw_guti& guti) override { grpc_adapters::deallocate(*stub_, guti); }

    void cancel() override {
        const std::lock_guard lock(mutex_);
        if (context_) context_->TryCancel();
    }

  private:
    std::shared_ptr<Channel> channel_;
    std::unique_ptr<pb::GutiService::Stub> stub_;
    std::mutex mutex_;
    std::optional<grpc::ClientContext> context_;
    pb::AllocateRequest request_;
    pb::AllocateResponse response_;
};

}  // namespace

std::unique_ptr<Connector> connect_s(const Endpoint& server, Connections connections) {
    return make_connector<Channel, SyncUnaryClient>(server, connections);
}

}  // namespace peers::grpc_adapters
