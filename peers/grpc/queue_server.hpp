// The asynchronous gRPC server behind GRPC-AS and GRPC-ASBI.
#pragma once

#include "grpc/common.hpp"

namespace peers::grpc_adapters {

/// One completion queue served by one thread. A unary call is a finite state machine
/// (unary_call.hpp), a stream a set of callbacks (stream_call.hpp).
std::unique_ptr<Server> serve_queue(const Endpoint& listen, Allocator& allocator);

}  // namespace peers::grpc_adapters
