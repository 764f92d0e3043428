// Completion queues: each tag is an object that knows what to do when its operation has ended.
#pragma once

#include <grpcpp/grpcpp.h>

namespace peers::grpc_adapters {

/// What a completion queue hands back.
class Tag {
  public:
    /// The operation ended; `ok` as gRPC defines it for the operation.
    virtual void proceed(bool ok) = 0;

  protected:
    ~Tag() = default;
};

/// A tag that calls a member function of its owner, so that one owner can have several
/// operations outstanding without an allocation for each.
template <typename Owner, void (Owner::*Function)(bool)>
class Callback final : public Tag {
  public:
    explicit Callback(Owner& owner) : owner_(owner) {}
    void proceed(bool ok) override { (owner_.*Function)(ok); }

  private:
    Owner& owner_;
};

/// The value to pass to gRPC for a tag: always a pointer to the base.
inline void* handle(Tag& tag) { return &tag; }

/// The event loop: until the queue is shut down and drained.
inline void run_event_loop(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) static_cast<Tag*>(tag)->proceed(ok);
}

}  // namespace peers::grpc_adapters
