// What the calls of the asynchronous server share.
#pragma once

#include <atomic>
#include <memory>

#include "grpc/common.hpp"

namespace peers::grpc_adapters {

struct CallHost {
    explicit CallHost(Allocator& of) : allocator(of) {}

    pb::GutiService::AsyncService service;
    Allocator& allocator;
    std::unique_ptr<grpc::ServerCompletionQueue> queue;
    /// Call objects that exist. The queue may be shut down only when there are none: an operation
    /// that is started on a queue that was shut down aborts the process.
    std::atomic<int> live{0};
};

/// Counts the object that it is a member of.
class Live {
  public:
    explicit Live(CallHost& host) : host_(host) { ++host_.live; }
    ~Live() { --host_.live; }
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;

  private:
    CallHost& host_;
};

}  // namespace peers::grpc_adapters
