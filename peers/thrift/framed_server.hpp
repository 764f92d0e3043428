// The servers of THRIFT-S and THRIFT-NB.
#pragma once

#include <memory>

#include "harness/adapter.hpp"

namespace peers::thrift_adapters {

/// TThreadedServer: a thread a client.
std::unique_ptr<Server> serve_threaded(const Endpoint& listen, Allocator& allocator);
/// TNonblockingServer: one IO thread, which runs the handlers too.
std::unique_ptr<Server> serve_nonblocking(const Endpoint& listen, Allocator& allocator);

}  // namespace peers::thrift_adapters
