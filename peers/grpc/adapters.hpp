// The adapters on the official gRPC C++ library.
#pragma once

#include "harness/adapter.hpp"

namespace peers {

Implementation make_grpc_s();
Implementation make_grpc_as();
Implementation make_grpc_bi();
Implementation make_grpc_asbi();
Implementation make_grpc_cb();

}  // namespace peers
