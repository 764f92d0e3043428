#include <chrono>
#include <future>

#include "grpc/clients.hpp"
#include "grpc/common.hpp"
#include "harness/connector.hpp"

namespace peers::grpc_adapters {

namespace {

class CallbackClient final : public Client {
  public:
    explicit CallbackClient(std::shared_ptr<Channel> channel)
        : channel_(std::move(channel)), stub_(pb::GutiService::NewStub(channel_->get())) {}

    Response allocate(std::string_view payload) override {
        request_.set_payload(payload.data(), payload.size());
        grpc::ClientContext context;
        std::promise<grpc::Status> promise;
        std::future<grpc::Status> status = promise.get_future();
        stub_->async()->Allocate(&context, &request_, &response_, [&promise](grpc::Status ended) {
            promise.set_value(std::move(ended));
        });
        if (status.wait_for(std::chrono::seconds(kCallTimeoutSeconds)) !=
            std::future_status::ready) {
            context.TryCancel();
        }
        expect_ok(status.get());
        return to_response(response_);
    }

    void deallocate(const cw_guti& guti) override { grpc_adapters::deallocate(*stub_, guti); }

  private:
    std::shared_ptr<Channel> channel_;
    std::unique_ptr<pb::GutiService::Stub> stub_;
    pb::AllocateRequest request_;
    pb::AllocateResponse response_;
};

}  // namespace

std::unique_ptr<Connector> connect_cb(const Endpoint& server, Connections connections) {
    return make_connector<Channel, CallbackClient>(server, connections);
}

}  // namespace peers::grpc_adapters
