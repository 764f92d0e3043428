// The adapters on the Apache Thrift C++ library.
#pragma once

#include "harness/adapter.hpp"

namespace peers {

Implementation make_thrift_s();
Implementation make_thrift_nb();
Implementation make_thrift_as();

}  // namespace peers
