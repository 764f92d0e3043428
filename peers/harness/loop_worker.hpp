// All clients of a run on one thread: what a program with an event loop does.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "harness/pacing.hpp"
#include "harness/worker.hpp"

namespace peers {

/// Drives a `LoopClient` whose callers each have one call outstanding at most. What is measured,
/// and when a request is meant to leave, is as for `Worker`: a caller here is a client there.
class LoopWorker final : public Hand, private Ended {
  public:
    /// Connects all clients. Throws what the adapter throws.
    LoopWorker(Course& course, const Endpoint& server);

    void run() override;

  private:
    struct Caller {
        bool in_call = false;
        /// It gave up, or has made its calls.
        bool over = false;
        Nanoseconds intended = 0;
        Nanoseconds sent = 0;
        std::uint64_t calls = 0;
        std::uint64_t wanted = 0;
        unsigned consecutive_errors = 0;
        Nanoseconds last_success = 0;
        /// In the window or before it.
        bool gave_up = false;
    };

    enum class Phase { warm_up, no_rate, rate };

    void warm_up();
    void measure();
    /// Until no call is in progress and none is to come.
    void drive();
    /// Has the caller's next call made: now, at its time, or never.
    void next(unsigned number);
    void next_at_rate(unsigned number, Nanoseconds now);
    void begin(unsigned number, Nanoseconds intended, Nanoseconds now);
    /// Begins the calls whose time has come.
    void begin_due();
    void cancel_overdue(Nanoseconds now);
    void count_unsent();

    void answered(unsigned number, const Response& response) override;
    void failed(unsigned number, const std::string& what) override;
    void count_failure(Caller& caller, const std::string& what);

    [[nodiscard]] Schedule schedule_of(unsigned number) const;

    Phase phase_ = Phase::warm_up;
    std::vector<Caller> callers_;
    unsigned in_call_ = 0;
    /// Rate mode: the calls that wait for their time, earliest first.
    using Due = std::pair<Nanoseconds, unsigned>;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    Nanoseconds look_at_ = 0;
    /// Last: its callers are told of their calls' ends until it is gone.
    std::unique_ptr<LoopClient> client_;
};

}  // namespace peers
