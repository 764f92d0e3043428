// CPU time of this process and of another, and what else the kernel tells about a process.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string_view>

#include "harness/clock.hpp"

namespace peers {

/// The CPU clock of a process: user and system time of all its threads, nanosecond resolution.
class CpuClock {
  public:
    /// This process.
    CpuClock() noexcept : id_(CLOCK_PROCESS_CPUTIME_ID) {}
    /// Another process. Throws std::system_error when there is none with this id.
    explicit CpuClock(pid_t pid);

    /// Nothing once the process has gone.
    [[nodiscard]] std::optional<Nanoseconds> read() const noexcept;

  private:
    clockid_t id_;
};

/// Number of threads of a process; nothing when it has gone.
std::optional<unsigned> thread_count(pid_t pid);

/// Holds this process and the threads it will start to a list of CPUs such as "1" or "0,2-3".
/// Throws std::invalid_argument for a malformed list, std::system_error when refused.
void pin_to_cpus(std::string_view list);

}  // namespace peers
