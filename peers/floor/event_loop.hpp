// The client half of FLOOR-EL.
#pragma once

#include <memory>

#include "harness/adapter.hpp"

namespace peers::floor_programs {

/// All callers on one thread, which sleeps in epoll; a connection each.
std::unique_ptr<LoopClient> connect_in_a_loop(const Endpoint& server, Connections own,
                                              Ended& ended);

}  // namespace peers::floor_programs
