#include "harness/histogram_json.hpp"

namespace peers {

JsonObject moments_json(const LatencyRecorder& latency) {
    JsonObject json;
    json.add("min", latency.min())
        .add("max", latency.max())
        .add("mean", latency.mean())
        .add("stddev", latency.stddev());
    return json;
}

std::string bins_json(const LatencyRecorder& latency) {
    std::string text = "[";
    for (const auto count : latency.bins()) text += std::to_string(count) + ",";
    text.back() = ']';
    return text;
}

std::string hdr_json(const HdrHistogram& histogram) {
    std::string text = "[";
    for (const auto& [value, count] : histogram.sparse()) {
        if (text.size() > 1) text += ',';
        text += '[' + std::to_string(value) + ',' + std::to_string(count) + ']';
    }
    return text + "]";
}

}  // namespace peers
