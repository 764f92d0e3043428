// The one clock of every measurement: monotonic nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace peers {

using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kSecond = 1'000'000'000;

/// std::chrono::steady_clock (CLOCK_MONOTONIC on Linux) in nanoseconds.
inline Nanoseconds now_ns() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace peers
