// What all gRPC adapters share: library settings, conversions, and what a request does.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "guti.grpc.pb.h"
#include "harness/adapter.hpp"

namespace peers::grpc_adapters {

namespace pb = ::guti::v1;

/// Switches off the search for lock-order cycles that Debian's abseil makes at each mutex
/// (6-13 % of the rate). Call before the library is used.
void tune_library();

Versions versions();

/// A connected channel; unless it is shared by the caller it has a TCP connection of its own.
class Channel {
  public:
    /// Throws std::runtime_error when the server is not reached.
    explicit Channel(const Endpoint& server);

    [[nodiscard]] const std::shared_ptr<grpc::Channel>& get() const noexcept { return channel_; }

  private:
    std::shared_ptr<grpc::Channel> channel_;
};

/// Sets what all servers set. `bound_port` is written by `start`. Throws std::runtime_error that
/// says why the address is refused.
void configure(grpc::ServerBuilder& builder, const Endpoint& listen, int& bound_port);
/// BuildAndStart. Throws std::runtime_error when gRPC refuses.
std::unique_ptr<grpc::Server> start(grpc::ServerBuilder& builder, const Endpoint& listen,
                                    const int& bound_port);

/// Serves one Allocate. `payload` is moved into the response.
grpc::Status allocate(Allocator& allocator, std::string&& payload, pb::AllocateResponse& response);
/// Serves one Deallocate.
grpc::Status deallocate(Allocator& allocator, const pb::DeallocateRequest& request);

/// The answer as the harness sees it; the payload is borrowed from `response`.
Response to_response(const pb::AllocateResponse& response);
pb::DeallocateRequest to_deallocate_request(const cw_guti& guti);
/// A blocking Deallocate, which the clients of streams use as well. Throws CallError.
void deallocate(pb::GutiService::Stub& stub, const cw_guti& guti);

/// Throws CallError unless `status` is OK.
void expect_ok(const grpc::Status& status);

}  // namespace peers::grpc_adapters
