// The Corewire adapters, as the catalogue lists them.
#pragma once

#include "harness/adapter.hpp"

namespace peers {

Implementation make_cw_s();
Implementation make_cw_as();
Implementation make_cw_bi();
Implementation make_cw_el();
Implementation make_cw_shm();
Implementation make_cw_rest();
Implementation make_cw_grpc();

}  // namespace peers
