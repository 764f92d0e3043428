#include "harness/cpu_clock.hpp"

#include <sched.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace peers {

CpuClock::CpuClock(pid_t pid) : id_{} {
    const int error = clock_getcpuclockid(pid, &id_);
    if (error != 0) {
        throw std::system_error(error, std::generic_category(),
                                "no CPU clock of process " + std::to_string(pid));
    }
}

std::optional<Nanoseconds> CpuClock::read() const noexcept {
    timespec time{};
    if (clock_gettime(id_, &time) != 0) return std::nullopt;
    return time.tv_sec * kSecond + time.tv_nsec;
}

std::optional<unsigned> thread_count(pid_t pid) {
    std::error_code error;
    unsigned count = 0;
    std::filesystem::directory_iterator it("/proc/" + std::to_string(pid) + "/task", error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) ++count;
    if (error || count == 0) return std::nullopt;
    return count;
}

namespace {

unsigned parse_cpu(std::string_view text, std::string_view list) {
    unsigned cpu = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
    if (error != std::errc{} || end != text.data() + text.size() || cpu >= CPU_SETSIZE) {
        throw std::invalid_argument("'" + std::string(list) + "' is not a list of CPUs");
    }
    return cpu;
}

}  // namespace

void pin_to_cpus(std::string_view list) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (std::string_view rest = list;;) {
        const auto comma = rest.find(',');
        const auto item = rest.substr(0, comma);
        const auto dash = item.find('-');
        const unsigned first = parse_cpu(item.substr(0, dash), list);
        const unsigned last =
            dash == std::string_view::npos ? first : parse_cpu(item.substr(dash + 1), list);
        for (unsigned cpu = first; cpu <= last; ++cpu) CPU_SET(cpu, &set);
        if (comma == std::string_view::npos) break;
        rest = rest.substr(comma + 1);
    }
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        throw std::system_error(errno, std::generic_category(),
                                "cannot run on CPUs " + std::string(list));
    }
}

}  // namespace peers
