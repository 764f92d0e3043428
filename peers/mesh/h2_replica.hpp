// The replica on nghttp2: the reference of HTTP/2.
#pragma once

#include <memory>

#include "mesh/grpc_replica.hpp"

namespace mesh {

std::unique_ptr<Replica> serve_h2(unsigned ports);

}  // namespace mesh
