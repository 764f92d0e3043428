// One client thread: the measured loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <string>

#include "harness/adapter.hpp"
#include "harness/client_options.hpp"
#include "harness/histogram.hpp"
#include "harness/signals.hpp"

namespace peers {

/// What the threads of a run share. The main thread writes, the workers read.
struct Course {
    explicit Course(const ClientOptions& asked) : options(asked) {}

    const ClientOptions& options;
    std::string payload;
    /// Opens the warm-up, then the measurement, for all workers at once.
    std::latch warmup{1};
    std::latch measure{1};
    /// Set before the latch of the same phase opens.
    Nanoseconds warmup_end = 0;
    Nanoseconds window_start = 0;
    /// INT64_MAX when only the number of requests ends the window.
    Nanoseconds window_end = INT64_MAX;
    /// Ends either phase early.
    std::atomic<bool> stop{false};
    /// One notice a worker at the end of each phase.
    Tally arrived;
};

/// What one worker measured.
struct Measured {
    LatencyRecorder latency;
    /// Requests sent in the warm-up, and how many of them failed.
    std::uint64_t warmup_requests = 0;
    std::uint64_t warmup_errors = 0;
    std::uint64_t errors = 0;
    std::string error_sample;
    /// Rate mode: how late requests left, against their intended time.
    double lag_sum = 0;
    Nanoseconds lag_max = 0;
    std::uint64_t lag_count = 0;
    /// Rate mode: requests whose time had come but which never left.
    std::uint64_t unsent = 0;
    /// End of the last call.
    Nanoseconds finished_at = 0;
    /// The worker gave up because nothing succeeded any more.
    bool gave_up = false;
};

class Worker {
  public:
    /// A client that fails this often in a row, or for this long, stops.
    static constexpr unsigned kConsecutiveErrors = 100;
    static constexpr Nanoseconds kWithoutSuccess = 30 * kSecond;

    /// `connector` makes further clients where each request gets a connection of its own.
    Worker(Course& course, Connector& connector, std::unique_ptr<Client> client, unsigned index);

    /// The body of the worker's thread.
    void run();

    /// Calls that succeeded in the window so far; any thread.
    [[nodiscard]] std::uint64_t progress() const noexcept {
        return progress_.load(std::memory_order_relaxed);
    }
    /// Cancels the call in progress when it has taken longer than kCallTimeoutSeconds; any thread.
    void cancel_if_overdue(Nanoseconds now);

    /// Valid once the worker has arrived at the end of the window.
    [[nodiscard]] const Measured& measured() const noexcept { return measured_; }

  private:
    enum class Outcome { success, failure, hopeless };

    void warm_up();
    void measure_no_rate();
    void measure_rate();
    /// One request, over a new connection where it gets one. Throws what the adapter throws.
    Response request();
    /// Closes what a request had for itself.
    void end_request();
    /// One call. `intended` is when it should have left: latency counts from there.
    Outcome call(Nanoseconds intended, Nanoseconds sent);
    Outcome call_once(Nanoseconds intended, Nanoseconds sent);
    Outcome failed(std::string what, std::uint64_t& counter);
    [[nodiscard]] std::uint64_t share_of_requests() const noexcept;
    [[nodiscard]] bool stopped() const noexcept {
        return course_.stop.load(std::memory_order_relaxed);
    }

    Course& course_;
    Connector& connector_;
    std::unique_ptr<Client> client_;
    /// Held while `client_` is exchanged, and by who cancels its call.
    std::mutex exchange_;
    unsigned index_;
    unsigned consecutive_errors_ = 0;
    Nanoseconds last_success_ = 0;
    Measured measured_;
    // Written by the worker at each call, read by the main thread once a second; apart from the
    // rest so that reading disturbs one cache line only.
    alignas(64) std::atomic<std::uint64_t> progress_{0};
    std::atomic<Nanoseconds> in_call_since_{0};
};

}  // namespace peers
