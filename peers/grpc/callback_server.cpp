#include "grpc/callback_server.hpp"

namespace peers::grpc_adapters {

namespace {

class CallbackService final : public pb::GutiService::CallbackService {
  public:
    explicit CallbackService(Allocator& allocator) : allocator_(allocator) {}

    grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                       const pb::AllocateRequest* request,
                                       pb::AllocateResponse* response) override {
        grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
        reactor->Finish(allocate(allocator_, std::string(request->payload()), *response));
        return reactor;
    }

    grpc::ServerUnaryReactor* Deallocate(grpc::CallbackServerContext* context,
                                         const pb::DeallocateRequest* request,
                                         pb::DeallocateResponse* /*response*/) override {
        grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
        reactor->Finish(deallocate(allocator_, *request));
        return reactor;
    }

  private:
    Allocator& allocator_;
};

class CallbackServer final : public Server {
  public:
    CallbackServer(const Endpoint& listen, Allocator& allocator)
        : service_(allocator), endpoint_(listen) {
        grpc::ServerBuilder builder;
        int port = 0;
        configure(builder, listen, port);
        builder.RegisterService(&service_);
        server_ = start(builder, listen, port);
        endpoint_.port = static_cast<std::uint16_t>(port);
    }

    ~CallbackServer() override {
        server_->Shutdown(std::chrono::system_clock::now());
        server_->Wait();
    }

    [[nodiscard]] std::string address() const override { return endpoint_.to_string(); }

  private:
    CallbackService service_;
    Endpoint endpoint_;
    std::unique_ptr<grpc::Server> server_;
};

}  // namespace

std::unique_ptr<Server> serve_callback(const Endpoint& listen, Allocator& allocator) {
    return std::make_unique<CallbackServer>(listen, allocator);
}

}  // namespace peers::grpc_adapters
