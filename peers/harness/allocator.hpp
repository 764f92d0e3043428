// The one GUTI allocator behind every server, so that adapters differ in transport only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "corewire_guti.h"

namespace peers {

/// Owns a `cw_guti_allocator`. Thread-safe.
class Allocator {
  public:
    /// Throws std::runtime_error when the allocator cannot be created.
    Allocator();

    /// Returns 0, or CW_GUTI_EXHAUSTED.
    int allocate(cw_guti& out) noexcept {
        const int status = cw_guti_allocate(handle_.get(), &out);
        if (status == 0) allocated_.fetch_add(1, std::memory_order_relaxed);
        return status;
    }

    /// Returns 0, or CW_GUTI_UNKNOWN.
    int deallocate(const cw_guti& guti) noexcept {
        return cw_guti_deallocate(handle_.get(), &guti);
    }

    /// GUTIs handed out since the start, those given back included.
    [[nodiscard]] std::uint64_t allocated() const noexcept {
        return allocated_.load(std::memory_order_relaxed);
    }

  private:
    struct Free {
        void operator()(cw_guti_allocator* allocator) const noexcept {
            cw_guti_allocator_free(allocator);
        }
    };
    std::unique_ptr<cw_guti_allocator, Free> handle_;
    std::atomic<std::uint64_t> allocated_{0};
};

/// Text for a status of the allocator, the same in every adapter.
const char* describe_allocator_status(int status) noexcept;

}  // namespace peers
