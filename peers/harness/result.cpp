#include "harness/result.hpp"

#include <algorithm>
#include <string>

#include "harness/histogram_json.hpp"

namespace peers {

namespace {

template <typename Number>
void add_optional(JsonObject& object, std::string_view key, const std::optional<Number>& number) {
    if (number) {
        object.add(key, *number);
    } else {
        object.add_null(key);
    }
}

}  // namespace

void Result::merge(const Measured& measured) {
    total.latency.merge(measured.latency);
    total.warmup_requests += measured.warmup_requests;
    total.warmup_errors += measured.warmup_errors;
    total.errors += measured.errors;
    if (total.error_sample.empty()) total.error_sample = measured.error_sample;
    total.lag_sum += measured.lag_sum;
    total.lag_max = std::max(total.lag_max, measured.lag_max);
    total.lag_count += measured.lag_count;
    total.unsent += measured.unsent;
    gave_up += measured.gave_up;
}

JsonObject Result::to_json() const {
    const LatencyRecorder& latency = total.latency;
    const std::uint64_t requests = latency.count();
    const unsigned connections = options.connections == Connections::shared ? 1 : options.clients;
    JsonObject json;
    json.add("event", "result")
        .add("protocol", 1)
        .add("adapter", options.adapter->name)
        .add("partial", interrupted || gave_up > 0)
        .add("mode", options.mode == Mode::rate ? "rate" : "no-rate");
    if (options.mode == Mode::rate) json.add("rate", options.rate);
    json.add("clients", options.clients)
        .add("requests", requests)
        .add("errors", total.errors)
        .add("error_sample", total.error_sample)
        .add("clients_gave_up", gave_up)
        .add("warmup_requests", total.warmup_requests)
        .add("warmup_errors", total.warmup_errors)
        .add("duration_s", duration_s)
        .add("connections", connections)
        .add("payload_bytes", payload_bytes)
        .add("request_bytes_total", requests * payload_bytes * 2)
        .add("latency_ns", moments_json(latency))
        .add_raw("histogram_50us", bins_json(latency))
        .add_raw("hdr", hdr_json(latency.hdr()));
    if (options.mode == Mode::rate) {
        const double mean =
            total.lag_count == 0 ? 0.0 : total.lag_sum / static_cast<double>(total.lag_count);
        json.add("lag_ns", JsonObject().add("mean", mean).add("max", total.lag_max))
            .add("unsent", total.unsent);
    }
    add_optional(json, "server_cpu_ns", server_cpu_ns);
    add_optional(json, "client_cpu_ns", client_cpu_ns);
    add_optional(json, "server_threads", server_threads);
    return json.add("versions", versions_of(*options.adapter));
}

JsonObject versions_of(const Adapter& adapter) {
    JsonObject versions;
    for (const auto& [name, version] : adapter.implementation->versions()) {
        versions.add(name, version);
    }
    return versions.add("compiler", "gcc-compatible " __VERSION__);
}

}  // namespace peers
