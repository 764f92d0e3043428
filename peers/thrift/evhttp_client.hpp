// The client of THRIFT-AS.
#pragma once

#include <memory>

#include "harness/adapter.hpp"

namespace peers::thrift_adapters {

/// TEvhttpClientChannel with promise and future. The event loop runs in the calling thread: the
/// channel is not safe to use from two.
std::unique_ptr<Connector> connect_evhttp(const Endpoint& server, Connections connections);

}  // namespace peers::thrift_adapters
