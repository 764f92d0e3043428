// The adapters that need no library.
#pragma once

#include "harness/adapter.hpp"

namespace peers {

/// The thesis's own adapter, with its shortcomings: it is what all others are compared with.
Implementation make_tcp_as();
/// The round trip of the network itself.
Implementation make_baseline_tcp();

}  // namespace peers
