// The server of THRIFT-AS.
#pragma once

#include <memory>

#include "harness/adapter.hpp"

namespace peers::thrift_adapters {

/// TEvhttpServer: the binary protocol over HTTP, one thread.
std::unique_ptr<Server> serve_evhttp(const Endpoint& listen, Allocator& allocator);

}  // namespace peers::thrift_adapters
