#include "harness/allocator.hpp"

#include <stdexcept>

namespace peers {

Allocator::Allocator() : handle_(cw_guti_allocator_new()) {
    if (!handle_) throw std::runtime_error("the GUTI allocator could not be created");
}

const char* describe_allocator_status(int status) noexcept {
    switch (status) {
        case 0:
            return "success";
        case CW_GUTI_EXHAUSTED:
            return "no GUTI is free";
        case CW_GUTI_UNKNOWN:
            return "this GUTI is not allocated";
        default:
            return "the allocator failed";
    }
}

}  // namespace peers
