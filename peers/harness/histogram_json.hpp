// Recorded latencies as the result line holds them.
#pragma once

#include <string>

#include "harness/histogram.hpp"
#include "harness/json.hpp"

namespace peers {

/// `min`, `max`, `mean`, `stddev`, in nanoseconds.
JsonObject moments_json(const LatencyRecorder& latency);
/// The counts of the 50 us histogram, an array.
std::string bins_json(const LatencyRecorder& latency);
/// `[nanoseconds, count]` of each bucket that holds something, an array.
std::string hdr_json(const HdrHistogram& histogram);

}  // namespace peers
