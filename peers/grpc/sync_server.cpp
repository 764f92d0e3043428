#include "grpc/sync_server.hpp"

#include <utility>

namespace peers::grpc_adapters {

namespace {

class SyncService final : public pb::GutiService::Service {
  public:
    explicit SyncService(Allocator& allocator) : allocator_(allocator) {}

    grpc::Status Allocate(grpc::ServerContext* /*context*/, const pb::AllocateRequest* request,
                          pb::AllocateResponse* response) override {
        return allocate(allocator_, std::string(request->payload()), *response);
    }

    grpc::Status Deallocate(grpc::ServerContext* /*context*/, const pb::DeallocateRequest* request,
                            pb::DeallocateResponse* /*response*/) override {
        return deallocate(allocator_, *request);
    }

    grpc::Status AllocateStream(
        grpc::ServerContext* /*context*/,
        grpc::ServerReaderWriter<pb::AllocateResponse, pb::AllocateRequest>* stream) override {
        pb::AllocateRequest request;
        pb::AllocateResponse response;
        while (stream->Read(&request)) {
            const grpc::Status status =
                allocate(allocator_, std::move(*request.mutable_payload()), response);
            if (!status.ok()) return status;
            if (!stream->Write(response)) break;
        }
        return grpc::Status::OK;
    }

  private:
    Allocator& allocator_;
};

class SyncServer final : public Server {
  public:
    SyncServer(const Endpoint& listen, Allocator& allocator)
        : service_(allocator), endpoint_(listen) {
        grpc::ServerBuilder builder;
        int port = 0;
        configure(builder, listen, port);
        builder.RegisterService(&service_);
        server_ = start(builder, listen, port);
        endpoint_.port = static_cast<std::uint16_t>(port);
    }

    ~SyncServer() override {
        // Calls in progress are finished, as a careful user of gRPC has it.
        server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
        server_->Wait();
    }

    [[nodiscard]] std::string address() const override { return endpoint_.to_string(); }

  private:
    SyncService service_;
    Endpoint endpoint_;
    std::unique_ptr<grpc::Server> server_;
};

}  // namespace

std::unique_ptr<Server> serve_sync(const Endpoint& listen, Allocator& allocator) {
    return std::make_unique<SyncServer>(listen, allocator);
}

}  // namespace peers::grpc_adapters
