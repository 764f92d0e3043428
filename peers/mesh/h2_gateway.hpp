// The gateway on nghttp2: the reference of HTTP/2.
#pragma once

#include "harness/signals.hpp"
#include "mesh/options.hpp"

namespace mesh {

/// Sends, measures, prints the result; gives the exit status.
int run_h2_gateway(const GatewayOptions& options, peers::TerminationSignals& signals);

}  // namespace mesh
