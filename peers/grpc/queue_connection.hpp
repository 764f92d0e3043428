// A channel and the event loop that drives its calls, in a thread apart from the application's.
#pragma once

#include <chrono>
#include <future>
#include <thread>

#include "grpc/common.hpp"
#include "grpc/completion.hpp"

namespace peers::grpc_adapters {

class QueueConnection {
  public:
    explicit QueueConnection(const Endpoint& server)
        : channel_(server), loop_([this] { run_event_loop(queue_); }) {}

    ~QueueConnection() {
        queue_.Shutdown();
        loop_.join();
    }

    [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_.get(); }
    grpc::CompletionQueue& queue() noexcept { return queue_; }

  private:
    Channel channel_;
    grpc::CompletionQueue queue_;
    std::thread loop_;
};

/// Waits for a call of `context`. After kCallTimeoutSeconds the call is cancelled, which makes
/// its future ready.
template <typename Value>
Value await(std::future<Value>& future, grpc::ClientContext& context) {
    if (future.wait_for(std::chrono::seconds(kCallTimeoutSeconds)) != std::future_status::ready) {
        context.TryCancel();
    }
    return future.get();
}

}  // namespace peers::grpc_adapters
