// The gateway over gRPC: plain or under the shim.
#pragma once

#include "harness/signals.hpp"
#include "mesh/options.hpp"

namespace mesh {

/// Sends, measures, prints the result; gives the exit status.
int run_grpc_gateway(const GatewayOptions& options, peers::TerminationSignals& signals);

}  // namespace mesh
