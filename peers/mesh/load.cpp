#include "mesh/load.hpp"

#include <algorithm>

#include "harness/histogram_json.hpp"
#include "mesh/messages.hpp"

namespace mesh {

namespace {

constexpr Nanoseconds kLastAnswers = 2 * peers::kSecond;

Nanoseconds nanoseconds(double seconds) {
    return static_cast<Nanoseconds>(seconds * static_cast<double>(peers::kSecond));
}

}  // namespace

Plan::Plan(const GatewayOptions& options)
    : start(peers::now_ns()),
      window_start(start + nanoseconds(options.warmup)),
      window_end(window_start + nanoseconds(options.duration)),
      give_up(window_end + kLastAnswers),
      interval(options.rate ? static_cast<double>(peers::kSecond) / *options.rate : 0) {}

bool Measured::in_window(const Plan& plan, Nanoseconds due, Nanoseconds at) const {
    const Nanoseconds counts = options_.rate ? due : at;
    return plan.window_start <= counts && counts < plan.window_end;
}

void Measured::answered(const Plan& plan, Nanoseconds due, Nanoseconds sent, Nanoseconds at,
                        std::string_view one_way) {
    if (!in_window(plan, due, at)) return;
    round_trip_.record(at - due);
    const auto ways = read_one_way(one_way);
    if (one_way_.size() < ways.size()) one_way_.resize(ways.size());
    for (std::size_t hop = 0; hop < ways.size(); ++hop) one_way_[hop].record(ways[hop]);
    const Nanoseconds lag = std::max<Nanoseconds>(sent - due, 0);
    lag_sum_ += static_cast<double>(lag);
    lag_max_ = std::max(lag_max_, lag);
    last_answer_ = std::max(last_answer_, at);
}

void Measured::failed(const Plan& plan, Nanoseconds due, const std::string& why) {
    if (!in_window(plan, due, peers::now_ns())) {
        ++warmup_errors_;
        return;
    }
    ++errors_;
    if (error_sample_.empty()) error_sample_ = why;
}

void Measured::unanswered(std::uint64_t count) {
    if (count == 0) return;
    errors_ += count;
    if (error_sample_.empty()) error_sample_ = "no answer within two seconds of the window's end";
}

peers::JsonObject Measured::result(const Plan& plan, Nanoseconds interrupted, Nanoseconds cpu,
                                   Nanoseconds first_answer, unsigned connections,
                                   const Versions& versions) const {
    using peers::JsonObject;
    const std::uint64_t requests = round_trip_.count();
    const Nanoseconds end =
        interrupted != 0 ? interrupted : std::max(plan.window_end, last_answer_);
    std::string one_way = "[";
    for (const auto& hop : one_way_) {
        if (one_way.size() > 1) one_way += ',';
        one_way += JsonObject()
                       .add("ns", peers::moments_json(hop))
                       .add_raw("hdr", peers::hdr_json(hop.hdr()))
                       .text();
    }
    JsonObject named;
    for (const auto& [name, version] : versions) named.add(name, version);
    JsonObject json;
    json.add("event", "result")
        .add("protocol", 1)
        .add("adapter", "corewire-mesh-gateway")
        .add("partial", interrupted != 0)
        .add("mode", options_.rate ? "rate" : "no-rate")
        .add("clients", 1)
        .add("requests", requests)
        .add("errors", errors_)
        .add("error_sample", error_sample_)
        .add("clients_gave_up", 0)
        .add("warmup_errors", warmup_errors_)
        .add("duration_s", static_cast<double>(std::max<Nanoseconds>(end - plan.window_start, 1)) /
                               static_cast<double>(peers::kSecond))
        .add("connections", connections)
        .add("payload_bytes", options_.payload)
        .add("request_bytes_total", requests * (options_.payload + kAnswerOctets))
        .add("latency_ns", peers::moments_json(round_trip_))
        .add_raw("histogram_50us", peers::bins_json(round_trip_))
        .add_raw("hdr", peers::hdr_json(round_trip_.hdr()))
        .add_raw("one_way", one_way + "]");
    if (options_.rate) {
        const double count = static_cast<double>(std::max<std::uint64_t>(requests, 1));
        json.add("lag_ns", JsonObject().add("mean", lag_sum_ / count).add("max", lag_max_))
            .add("unsent", unsent_);
    }
    json.add_null("server_cpu_ns")
        .add("client_cpu_ns", cpu)
        .add_null("server_threads")
        .add("first_answer_ns", first_answer - options_.started)
        .add("versions", named);
    return json;
}

void say(const char* event) { peers::emit(peers::JsonObject().add("event", event)); }

}  // namespace mesh
