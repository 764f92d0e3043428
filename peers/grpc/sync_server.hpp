// The synchronous gRPC server behind GRPC-S and GRPC-BI.
#pragma once

#include "grpc/common.hpp"

namespace peers::grpc_adapters {

/// gRPC's own threads run the handlers. Unary calls and streams.
std::unique_ptr<Server> serve_sync(const Endpoint& listen, Allocator& allocator);

}  // namespace peers::grpc_adapters
