// The Corewire server: one event loop, every protocol on one port.
#pragma once

#include <memory>

#include "harness/adapter.hpp"

namespace peers::corewire_adapters {

std::unique_ptr<Server> serve(const Endpoint& listen, Allocator& allocator);

}  // namespace peers::corewire_adapters
