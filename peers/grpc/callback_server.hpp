// The server of GRPC-CB.
#pragma once

#include "grpc/common.hpp"

namespace peers::grpc_adapters {

/// gRPC's callback API, unary calls.
std::unique_ptr<Server> serve_callback(const Endpoint& listen, Allocator& allocator);

}  // namespace peers::grpc_adapters
