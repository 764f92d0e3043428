#include "harness/pacing.hpp"

#include <sys/prctl.h>

#include <cmath>
#include <ctime>

namespace peers {

std::uint64_t Schedule::count_before(Nanoseconds end) const noexcept {
    const double span = static_cast<double>(end - start_) - offset_;
    return span <= 0 ? 0 : static_cast<std::uint64_t>(std::ceil(span / interval_));
}

void prepare_pacing() noexcept { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

void sleep_until(Nanoseconds deadline) noexcept {
    timespec until{};
    until.tv_sec = static_cast<time_t>(deadline / kSecond);
    until.tv_nsec = static_cast<long>(deadline % kSecond);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

}  // namespace peers
