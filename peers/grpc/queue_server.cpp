#include "grpc/queue_server.hpp"

#include <chrono>
#include <thread>

#include "grpc/call_host.hpp"
#include "grpc/stream_call.hpp"
#include "grpc/unary_call.hpp"

namespace peers::grpc_adapters {

namespace {

/// Calls of one method that may arrive between two turns of the event loop; a call that finds no
/// waiting object is queued inside gRPC at a cost.
constexpr int kAcceptedAhead = 64;

class QueueServer final : public Server {
  public:
    QueueServer(const Endpoint& listen, Allocator& allocator)
        : host_(allocator), endpoint_(listen) {
        grpc::ServerBuilder builder;
        int port = 0;
        configure(builder, listen, port);
        builder.RegisterService(&host_.service);
        host_.queue = builder.AddCompletionQueue();
        try {
            server_ = start(builder, listen, port);
        } catch (...) {
            host_.queue->Shutdown();
            run_event_loop(*host_.queue);
            throw;
        }
        endpoint_.port = static_cast<std::uint16_t>(port);
        for (int i = 0; i < kAcceptedAhead; ++i) {
            UnaryCall<AllocateMethod>::accept(host_);
        }
        UnaryCall<DeallocateMethod>::accept(host_);
        StreamCall::accept(host_);
        loop_ = std::thread([this] { run_event_loop(*host_.queue); });
    }

    ~QueueServer() override {
        // Ends all calls; their objects go when the event loop has seen the last operation.
        server_->Shutdown(std::chrono::system_clock::now());
        while (host_.live > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        host_.queue->Shutdown();
        loop_.join();
    }

    [[nodiscard]] std::string address() const override { return endpoint_.to_string(); }

  private:
    CallHost host_;
    Endpoint endpoint_;
    std::unique_ptr<grpc::Server> server_;
    std::thread loop_;
};

}  // namespace

std::unique_ptr<Server> serve_queue(const Endpoint& listen, Allocator& allocator) {
    return std::make_unique<QueueServer>(listen, allocator);
}

}  // namespace peers::grpc_adapters
