#include "grpc/queue_server.hpp"

#include <thread>

#include "grpc/stream_call.hpp"
#include "grpc/unary_call.hpp"

namespace peers::grpc_adapters {

namespace {

/// Calls of one method that may arrive between two turns of the event loop; a call that finds no
/// waiting object is queued inside gRPC at a cost.
constexpr int kAcceptedAhead = 64;

class QueueServer final : public Server {
  public:
    QueueServer(const Endpoint& listen, Allocator& allocator) : endpoint_(listen) {
        grpc::ServerBuilder builder;
        int port = 0;
        configure(builder, listen, port);
        builder.RegisterService(&service_);
        queue_ = builder.AddCompletionQueue();
        try {
            server_ = start(builder, listen, port);
        } catch (...) {
            queue_->Shutdown();
            run_event_loop(*queue_);
            throw;
        }
        endpoint_.port = static_cast<std::uint16_t>(port);
        for (int i = 0; i < kAcceptedAhead; ++i) {
            UnaryCall<AllocateMethod>::accept(service_, allocator, *queue_);
        }
        UnaryCall<DeallocateMethod>::accept(service_, allocator, *queue_);
        StreamCall::accept(service_, allocator, *queue_);
        loop_ = std::thread([this] { run_event_loop(*queue_); });
    }

    ~QueueServer() override {
        server_->Shutdown(std::chrono::system_clock::now());
        queue_->Shutdown();
        loop_.join();
    }

    [[nodiscard]] std::string address() const override { return endpoint_.to_string(); }

  private:
    pb::GutiService::AsyncService service_;
    Endpoint endpoint_;
    std::unique_ptr<grpc::ServerCompletionQueue> queue_;
    std::unique_ptr<grpc::Server> server_;
    std::thread loop_;
};

}  // namespace

std::unique_ptr<Server> serve_queue(const Endpoint& listen, Allocator& allocator) {
    return std::make_unique<QueueServer>(listen, allocator);
}

}  // namespace peers::grpc_adapters
