// NNG's request/reply protocol.
#pragma once

#include "harness/adapter.hpp"

namespace peers {

Implementation make_nng();

}  // namespace peers
