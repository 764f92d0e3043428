#include "harness/worker.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "harness/pacing.hpp"

namespace peers {

const char* fault_of(const Response& response, const Course& course) {
    if (response.payload.size() != course.payload.size()) {
        return "the payload came back with another size";
    }
    if (course.options.adapter->is_rpc &&
        (response.guti.mcc == 0 || response.guti.mnc_digits == 0)) {
        return "the answer holds no GUTI";
    }
    return nullptr;
}

std::uint64_t Hand::share_of_requests(unsigned client) const noexcept {
    const auto& options = course_.options;
    if (!options.requests) return UINT64_MAX;
    const std::uint64_t each = *options.requests / options.clients;
    return each + (client < *options.requests % options.clients ? 1 : 0);
}

Worker::Worker(Course& course, Connector& connector, std::unique_ptr<Client> client, unsigned index)
    : Hand(course), connector_(connector), client_(std::move(client)), index_(index) {}

Response Worker::request() {
    if (course_.options.connections == Connections::each) {
        auto fresh = connector_.connect();
        const std::lock_guard lock(exchange_);
        client_ = std::move(fresh);
    }
    return client_->allocate(course_.payload);
}

void Worker::end_request() {
    if (course_.options.connections != Connections::each) return;
    std::unique_ptr<Client> used;
    const std::lock_guard lock(exchange_);
    used.swap(client_);
}

void Worker::run() {
    prepare_pacing();
    course_.warmup.wait();
    warm_up();
    course_.arrived.add();

    course_.measure.wait();
    consecutive_errors_ = 0;
    last_success_ = measured_.finished_at = course_.window_start;
    if (course_.options.mode == Mode::rate) {
        measure_rate();
    } else {
        measure_no_rate();
    }
    in_call_since_.store(0, std::memory_order_relaxed);
    course_.arrived.add();
}

void Worker::warm_up() {
    last_success_ = now_ns();
    for (Nanoseconds now = last_success_; now < course_.warmup_end && !stopped(); now = now_ns()) {
        in_call_since_.store(now, std::memory_order_relaxed);
        ++measured_.warmup_requests;
        try {
            request();
            consecutive_errors_ = 0;
            last_success_ = now;
        } catch (const std::exception& error) {
            if (failed(error.what(), measured_.warmup_errors) == Outcome::hopeless) break;
        }
        end_request();
    }
    in_call_since_.store(0, std::memory_order_relaxed);
}

void Worker::measure_no_rate() {
    const std::uint64_t requests = share_of_requests(index_);
    for (std::uint64_t i = 0; i < requests && !stopped(); ++i) {
        const Nanoseconds start = now_ns();
        if (start >= course_.window_end) return;
        if (call(start, start) == Outcome::hopeless) return;
    }
}

void Worker::measure_rate() {
    const auto& options = course_.options;
    const Schedule schedule(course_.window_start, options.rate, options.clients, index_);
    std::uint64_t requests = share_of_requests(index_);
    if (options.duration_s) {
        requests = std::min(requests, schedule.count_before(course_.window_end));
    }
    std::uint64_t sent = 0;
    while (sent < requests) {
        const Nanoseconds intended = schedule.at(sent);
        wait_until(intended, [this] { return stopped(); });
        const Nanoseconds start = now_ns();
        if (stopped() || start >= course_.window_end) break;
        const Nanoseconds lag = start - intended;
        measured_.lag_sum += static_cast<double>(lag);
        measured_.lag_max = std::max(measured_.lag_max, lag);
        ++measured_.lag_count;
        ++sent;
        if (call(intended, start) == Outcome::hopeless) break;
    }
    const std::uint64_t due = schedule.count_before(std::min(now_ns(), course_.window_end));
    measured_.unsent = std::min(due, requests) - std::min(sent, std::min(due, requests));
}

Worker::Outcome Worker::call(Nanoseconds intended, Nanoseconds sent) {
    const Outcome outcome = call_once(intended, sent);
    end_request();
    return outcome;
}

Worker::Outcome Worker::call_once(Nanoseconds intended, Nanoseconds sent) {
    in_call_since_.store(sent, std::memory_order_relaxed);
    try {
        const Response response = request();
        const Nanoseconds end = now_ns();
        measured_.finished_at = end;
        const char* fault = fault_of(response, course_);
        if (fault != nullptr) return failed(fault, measured_.errors);
        succeeded(end - intended);
        consecutive_errors_ = 0;
        last_success_ = end;
        return Outcome::success;
    } catch (const std::exception& error) {
        measured_.finished_at = now_ns();
        return failed(error.what(), measured_.errors);
    }
}

Worker::Outcome Worker::failed(std::string what, std::uint64_t& counter) {
    ++counter;
    if (measured_.error_sample.empty()) measured_.error_sample = std::move(what);
    const bool hopeless =
        ++consecutive_errors_ >= kConsecutiveErrors || now_ns() - last_success_ >= kWithoutSuccess;
    if (hopeless) measured_.gave_up = 1;
    return hopeless ? Outcome::hopeless : Outcome::failure;
}

void Worker::cancel_if_overdue(Nanoseconds now) {
    const Nanoseconds since = in_call_since_.load(std::memory_order_relaxed);
    if (since == 0 || now - since <= kCallTimeoutSeconds * kSecond) return;
    const std::lock_guard lock(exchange_);
    if (client_) client_->cancel();
}

}  // namespace peers
