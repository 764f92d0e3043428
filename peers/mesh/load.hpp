// What a gateway of any kind measures, and when requests are due.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/clock.hpp"
#include "harness/histogram.hpp"
#include "harness/json.hpp"
#include "mesh/options.hpp"

namespace mesh {

using peers::Nanoseconds;

/// A name and a version of a library.
using Versions = std::vector<std::pair<std::string, std::string>>;

/// The times of one run.
struct Plan {
    /// The run begins now.
    explicit Plan(const GatewayOptions& options);

    /// When the k-th request is due, in an open loop. Computed from k: rounding does not drift.
    [[nodiscard]] Nanoseconds due(std::uint64_t k) const noexcept {
        return start + static_cast<Nanoseconds>(interval * static_cast<double>(k));
    }

    Nanoseconds start;
    Nanoseconds window_start;
    Nanoseconds window_end;
    /// The last answers may come until then.
    Nanoseconds give_up;
    /// Nanoseconds between requests; zero in a closed loop.
    double interval;
};

/// Everything of one run. Used by one thread.
class Measured {
  public:
    explicit Measured(const GatewayOptions& options) : options_(options) {}

    /// A call was answered. Kept when it was due (open loop) or answered (closed loop) in the
    /// window.
    void answered(const Plan& plan, Nanoseconds due, Nanoseconds sent, Nanoseconds at,
                  std::string_view one_way);
    void failed(const Plan& plan, Nanoseconds due, const std::string& why);
    /// Requests that were due in the window and never left.
    void unsent(std::uint64_t count) { unsent_ += count; }
    /// In flight when the run was given up.
    void unanswered(std::uint64_t count);

    /// The result line. `interrupted` is when the run was told to end, zero when it was not.
    [[nodiscard]] peers::JsonObject result(const Plan& plan, Nanoseconds interrupted,
                                           Nanoseconds cpu, Nanoseconds first_answer,
                                           unsigned connections, const Versions& versions) const;

  private:
    [[nodiscard]] bool in_window(const Plan& plan, Nanoseconds due, Nanoseconds at) const;

    const GatewayOptions& options_;
    peers::LatencyRecorder round_trip_;
    std::vector<peers::LatencyRecorder> one_way_;
    std::uint64_t errors_ = 0;
    std::uint64_t warmup_errors_ = 0;
    std::uint64_t unsent_ = 0;
    std::string error_sample_;
    double lag_sum_ = 0;
    Nanoseconds lag_max_ = 0;
    Nanoseconds last_answer_ = 0;
};

/// Prints an event that has nothing but a name.
void say(const char* event);

}  // namespace mesh
