#pragma once

#include "harness/adapter.hpp"

namespace peers {

Implementation make_capnp();

}  // namespace peers
