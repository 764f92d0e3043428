// One measurement from connecting to the result line.
#pragma once

#include "harness/client_options.hpp"
#include "harness/signals.hpp"

namespace peers {

/// Connects, warms up, measures and prints the JSON lines. Returns the exit status. Throws
/// std::exception when no measurement is possible.
int run_client(const ClientOptions& options, TerminationSignals& signals);

}  // namespace peers
