// Open-loop pacing: when each request of a client is meant to leave, whatever became of the last.
#pragma once

#include <cstdint>

#include "harness/clock.hpp"

namespace peers {

/// The send times of one of `clients` clients that make `rate` requests a second together.
/// Client i sends requests i, i + clients, i + 2*clients, ... of one common schedule, so that the
/// clients do not send in step.
class Schedule {
  public:
    Schedule(Nanoseconds start, double rate, unsigned clients, unsigned index) noexcept
        : start_(start),
          interval_(static_cast<double>(kSecond) * clients / rate),
          offset_(static_cast<double>(kSecond) * index / rate) {}

    /// Intended time of the client's k-th request. Computed from k, never accumulated, so that
    /// rounding does not drift.
    [[nodiscard]] Nanoseconds at(std::uint64_t k) const noexcept {
        return start_ + static_cast<Nanoseconds>(offset_ + interval_ * static_cast<double>(k));
    }

    /// How many of the client's requests are intended before `end`.
    [[nodiscard]] std::uint64_t count_before(Nanoseconds end) const noexcept;

  private:
    Nanoseconds start_;
    double interval_;
    double offset_;
};

/// Waits until `deadline`: sleeps, then spins over the last stretch because a sleeping thread
/// wakes tens of microseconds late, which would show as latency. Call `prepare_pacing` first.
/// Returns at the latest kSleepSlice after `stop` becomes true.
template <typename Stop>
void wait_until(Nanoseconds deadline, const Stop& stop);

/// Lets the calling thread sleep with nanosecond timer slack instead of the default 50 us.
void prepare_pacing() noexcept;

/// Sleeps in CLOCK_MONOTONIC until `deadline`.
void sleep_until(Nanoseconds deadline) noexcept;

inline constexpr Nanoseconds kSpin = 60'000;
inline constexpr Nanoseconds kSleepSlice = 100'000'000;

template <typename Stop>
void wait_until(Nanoseconds deadline, const Stop& stop) {
    for (;;) {
        const Nanoseconds left = deadline - now_ns();
        if (left <= 0 || stop()) return;
        if (left > kSpin) {
            sleep_until(left > kSleepSlice ? deadline - left + kSleepSlice : deadline - kSpin);
        }
    }
}

}  // namespace peers
