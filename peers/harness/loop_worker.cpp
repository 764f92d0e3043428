#include "harness/loop_worker.hpp"

#include <algorithm>

namespace peers {

LoopWorker::LoopWorker(Course& course, const Endpoint& server)
    : Hand(course), callers_(course.options.clients) {
    const auto& options = course.options;
    client_ = options.adapter->implementation->loop(server, options.connections, *this);
    for (unsigned i = 0; i < options.clients; ++i) client_->connect();
}

void LoopWorker::run() {
    prepare_pacing();
    course_.warmup.wait();
    warm_up();
    course_.arrived.add();

    course_.measure.wait();
    measure();
    course_.arrived.add();
}

void LoopWorker::warm_up() {
    phase_ = Phase::warm_up;
    const Nanoseconds now = now_ns();
    for (unsigned i = 0; i < callers_.size(); ++i) {
        callers_[i].last_success = now;
        next(i);
    }
    drive();
}

void LoopWorker::measure() {
    const auto& options = course_.options;
    measured_.finished_at = course_.window_start;
    phase_ = options.mode == Mode::rate ? Phase::rate : Phase::no_rate;
    for (unsigned i = 0; i < callers_.size(); ++i) {
        Caller& caller = callers_[i];
        const bool gave_up = caller.gave_up;
        caller = {};
        caller.gave_up = gave_up;
        caller.last_success = course_.window_start;
        caller.wanted = share_of_requests(i);
        if (phase_ == Phase::rate && options.duration_s) {
            caller.wanted =
                std::min(caller.wanted, schedule_of(i).count_before(course_.window_end));
        }
    }
    for (unsigned i = 0; i < callers_.size(); ++i) next(i);
    drive();
    if (phase_ == Phase::rate) count_unsent();
}

void LoopWorker::drive() {
    while (in_call_ > 0 || (!due_.empty() && !stopped())) {
        const Nanoseconds now = now_ns();
        Nanoseconds until = now + kSleepSlice;
        if (!due_.empty() && !stopped()) {
            // Sleeping ends tens of microseconds late: over the last stretch it is asked and not
            // slept.
            until = std::min(until, std::max(due_.top().first - kSpin, now));
        }
        client_->run(until);
        begin_due();
        if (now >= look_at_) cancel_overdue(now);
    }
    due_ = {};
}

void LoopWorker::next(unsigned number) {
    Caller& caller = callers_[number];
    const Nanoseconds now = now_ns();
    if (caller.over || stopped()) return;
    switch (phase_) {
        case Phase::warm_up:
            if (now >= course_.warmup_end) return;
            ++measured_.warmup_requests;
            begin(number, now, now);
            return;
        case Phase::no_rate:
            if (caller.calls >= caller.wanted || now >= course_.window_end) return;
            begin(number, now, now);
            return;
        case Phase::rate:
            next_at_rate(number, now);
            return;
    }
}

void LoopWorker::next_at_rate(unsigned number, Nanoseconds now) {
    const Caller& caller = callers_[number];
    if (caller.calls >= caller.wanted) return;
    const Nanoseconds intended = schedule_of(number).at(caller.calls);
    if (intended > now) {
        due_.emplace(intended, number);
        return;
    }
    if (now >= course_.window_end) return;
    const Nanoseconds lag = now - intended;
    measured_.lag_sum += static_cast<double>(lag);
    measured_.lag_max = std::max(measured_.lag_max, lag);
    ++measured_.lag_count;
    begin(number, intended, now);
}

void LoopWorker::begin_due() {
    while (!due_.empty() && due_.top().first <= now_ns() && !stopped()) {
        const unsigned number = due_.top().second;
        due_.pop();
        next(number);
    }
}

void LoopWorker::begin(unsigned number, Nanoseconds intended, Nanoseconds now) {
    Caller& caller = callers_[number];
    ++caller.calls;
    caller.intended = intended;
    caller.sent = now;
    caller.in_call = true;
    ++in_call_;
    client_->allocate(number, course_.payload);
}

void LoopWorker::answered(unsigned number, const Response& response) {
    const Nanoseconds end = now_ns();
    Caller& caller = callers_[number];
    caller.in_call = false;
    --in_call_;
    const char* fault = fault_of(response, course_);
    if (phase_ != Phase::warm_up) measured_.finished_at = std::max(measured_.finished_at, end);
    if (fault != nullptr && phase_ != Phase::warm_up) {
        count_failure(caller, fault);
    } else {
        caller.consecutive_errors = 0;
        caller.last_success = end;
        if (phase_ != Phase::warm_up) succeeded(end - caller.intended);
    }
    next(number);
}

void LoopWorker::failed(unsigned number, const std::string& what) {
    Caller& caller = callers_[number];
    caller.in_call = false;
    --in_call_;
    if (phase_ != Phase::warm_up) measured_.finished_at = now_ns();
    count_failure(caller, what);
    next(number);
}

void LoopWorker::count_failure(Caller& caller, const std::string& what) {
    ++(phase_ == Phase::warm_up ? measured_.warmup_errors : measured_.errors);
    if (measured_.error_sample.empty()) measured_.error_sample = what;
    const bool hopeless = ++caller.consecutive_errors >= kConsecutiveErrors ||
                          now_ns() - caller.last_success >= kWithoutSuccess;
    if (!hopeless) return;
    caller.over = true;
    if (!caller.gave_up) ++measured_.gave_up;
    caller.gave_up = true;
}

void LoopWorker::cancel_overdue(Nanoseconds now) {
    look_at_ = now + kSecond;
    for (unsigned i = 0; i < callers_.size(); ++i) {
        const Caller& caller = callers_[i];
        if (caller.in_call && now - caller.sent > kCallTimeoutSeconds * kSecond) client_->cancel(i);
    }
}

void LoopWorker::count_unsent() {
    const Nanoseconds end = std::min(now_ns(), course_.window_end);
    for (unsigned i = 0; i < callers_.size(); ++i) {
        const std::uint64_t due = std::min(schedule_of(i).count_before(end), callers_[i].wanted);
        measured_.unsent += due - std::min(callers_[i].calls, due);
    }
}

Schedule LoopWorker::schedule_of(unsigned number) const {
    const auto& options = course_.options;
    return {course_.window_start, options.rate, options.clients, number};
}

}  // namespace peers
