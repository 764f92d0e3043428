// The threads of a run, and the measured loop of one that is one client.
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
    /// Clients that gave up because nothing succeeded any more.
    unsigned gave_up = 0;
};

/// Nothing when the answer is right, else what is wrong with it.
const char* fault_of(const Response& response, const Course& course);

/// Who makes the calls of one client or of many: the body of a thread.
class Hand {
  public:
    /// A client that fails this often in a row, or for this long, stops.
    static constexpr unsigned kConsecutiveErrors = 100;
    static constexpr Nanoseconds kWithoutSuccess = 30 * kSecond;

    explicit Hand(Course& course) : course_(course) {}
    virtual ~Hand() = default;

    /// The body of its thread.
    virtual void run() = 0;
    /// Cancels the call in progress when it has taken longer than kCallTimeoutSeconds; any thread.
    virtual void cancel_if_overdue(Nanoseconds /*now*/) {}

    /// Calls that succeeded in the window so far; any thread.
    [[nodiscard]] std::uint64_t progress() const noexcept {
        return progress_.load(std::memory_order_relaxed);
    }
    /// Valid once it has arrived at the end of the window.
    [[nodiscard]] const Measured& measured() const noexcept { return measured_; }

  protected:
    /// Records a call of the window.
    void succeeded(Nanoseconds took) {
        measured_.latency.record(took);
        progress_.store(measured_.latency.count(), std::memory_order_relaxed);
    }
    /// How many of the window's requests are this client's.
    [[nodiscard]] std::uint64_t share_of_requests(unsigned client) const noexcept;
    [[nodiscard]] bool stopped() const noexcept {
        return course_.stop.load(std::memory_order_relaxed);
    }

    Course& course_;
    Measured measured_;

  private:
    // Written at each call, read by the main thread once a second; apart from the rest so that
    // reading disturbs one cache line only.
    alignas(64) std::atomic<std::uint64_t> progress_{0};
};

/// One client, which waits for each answer.
class Worker final : public Hand {
  public:
    /// `connector` makes further clients where each request gets a connection of its own.
    Worker(Course& course, Connector& connector, std::unique_ptr<Client> client, unsigned index);

    void run() override;
    void cancel_if_overdue(Nanoseconds now) override;

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

    Connector& connector_;
    std::unique_ptr<Client> client_;
    /// Held while `client_` is exchanged, and by who cancels its call.
    std::mutex exchange_;
    unsigned index_;
    unsigned consecutive_errors_ = 0;
    Nanoseconds last_success_ = 0;
    std::atomic<Nanoseconds> in_call_since_{0};
};

}  // namespace peers
