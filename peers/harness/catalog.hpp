// All adapters this source tree knows, built or not.
#pragma once

#include <string_view>
#include <vector>

#include "harness/adapter.hpp"

namespace peers {

const std::vector<Adapter>& catalog();

/// The adapter of that name. Throws UsageError when there is none, or when it was not built.
const Adapter& find_adapter(std::string_view name);

/// `--list`: one JSON line an adapter.
void print_catalog();

}  // namespace peers
