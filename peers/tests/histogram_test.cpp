// The histograms against HdrHistogram's published layout and against exact arithmetic.
#include "harness/histogram.hpp"

#include <cmath>
#include <random>

#include "tests/check.hpp"

using peers::HdrHistogram;
using peers::LatencyRecorder;

namespace {

/// Lowest equivalent value with three significant digits, straight from the definition: the
/// width of a bucket is the smallest power of two that leaves at most 2048 steps.
std::uint64_t lowest_equivalent(std::uint64_t value) {
    std::uint64_t width = 1;
    while (value / width >= 2048) width *= 2;
    return value / width * width;
}

void buckets_are_those_of_hdr_histogram() {
    for (const std::uint64_t value :
         {0ULL, 1ULL, 2047ULL, 2048ULL, 2049ULL, 4095ULL, 4096ULL, 50'000ULL, 1'000'003ULL,
          999'999'999ULL, 99'999'999'999ULL, 100'000'000'000ULL}) {
        CHECK_EQUAL(HdrHistogram::lowest_value_at(HdrHistogram::index_of(value)),
                    lowest_equivalent(value));
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t value = random() % HdrHistogram::kHighest >> (random() % 36);
        const auto low = HdrHistogram::lowest_value_at(HdrHistogram::index_of(value));
        CHECK_EQUAL(low, lowest_equivalent(value));
        CHECK(static_cast<double>(value - low) <= static_cast<double>(value) / 1000.0);
    }
}

void every_bucket_has_its_own_value() {
    const std::size_t last = HdrHistogram::index_of(HdrHistogram::kHighest);
    for (std::size_t i = 0; i < last; ++i) {
        CHECK_EQUAL(HdrHistogram::index_of(HdrHistogram::lowest_value_at(i)), i);
        CHECK(HdrHistogram::lowest_value_at(i) < HdrHistogram::lowest_value_at(i + 1));
    }
}

void too_large_counts_as_the_largest() {
    HdrHistogram histogram;
    histogram.record(UINT64_MAX);
    const auto sparse = histogram.sparse();
    CHECK_EQUAL(sparse.size(), 1U);
    CHECK_EQUAL(sparse[0].first, lowest_equivalent(HdrHistogram::kHighest));
}

void sparse_lists_what_was_recorded() {
    HdrHistogram histogram;
    for (int i = 0; i < 3; ++i) histogram.record(2049);
    histogram.record(7);
    const auto sparse = histogram.sparse();
    CHECK_EQUAL(sparse.size(), 2U);
    CHECK_EQUAL(sparse[0].first, 7U);
    CHECK_EQUAL(sparse[0].second, 1U);
    CHECK_EQUAL(sparse[1].first, 2048U);
    CHECK_EQUAL(sparse[1].second, 3U);
}

void bins_are_50_us_wide_and_the_last_is_open() {
    LatencyRecorder latency;
    for (const long long value :
         {0LL, 49'999LL, 50'000LL, 19'949'999LL, 19'950'000LL, 20'000'000LL, 90'000'000'000LL}) {
        latency.record(value);
    }
    CHECK_EQUAL(latency.bins()[0], 2U);
    CHECK_EQUAL(latency.bins()[1], 1U);
    CHECK_EQUAL(latency.bins()[398], 1U);
    CHECK_EQUAL(latency.bins()[399], 3U);
    CHECK_EQUAL(latency.count(), 7U);
}

void moments_are_exact() {
    LatencyRecorder latency;
    for (const long long value : {2'000, 4'000, 4'000, 4'000, 5'000, 5'000, 7'000, 9'000}) {
        latency.record(value);
    }
    CHECK_EQUAL(latency.mean(), 5'000.0);
    CHECK(std::abs(latency.stddev() - 2'000.0) < 1e-6);
    CHECK_EQUAL(latency.min(), 2'000);
    CHECK_EQUAL(latency.max(), 9'000);
}

void merged_equals_recorded_together() {
    LatencyRecorder one;
    LatencyRecorder other;
    LatencyRecorder both;
    std::mt19937_64 random(2);
    for (int i = 0; i < 10'000; ++i) {
        const auto value = static_cast<peers::Nanoseconds>(random() % 30'000'000);
        (i % 3 == 0 ? one : other).record(value);
        both.record(value);
    }
    one.merge(other);
    CHECK_EQUAL(one.count(), both.count());
    CHECK_EQUAL(one.min(), both.min());
    CHECK_EQUAL(one.max(), both.max());
    CHECK(std::abs(one.mean() - both.mean()) < 1e-3);
    CHECK(std::abs(one.stddev() - both.stddev()) < 1.0);
    CHECK(one.bins() == both.bins());
    CHECK(one.hdr().sparse() == both.hdr().sparse());
}

void empty_is_all_zero() {
    const LatencyRecorder latency;
    CHECK_EQUAL(latency.min(), 0);
    CHECK_EQUAL(latency.max(), 0);
    CHECK_EQUAL(latency.mean(), 0.0);
    CHECK_EQUAL(latency.stddev(), 0.0);
    CHECK(latency.hdr().sparse().empty());
}

}  // namespace

int main() {
    buckets_are_those_of_hdr_histogram();
    every_bucket_has_its_own_value();
    too_large_counts_as_the_largest();
    sparse_lists_what_was_recorded();
    bins_are_50_us_wide_and_the_last_is_open();
    moments_are_exact();
    merged_equals_recorded_together();
    empty_is_all_zero();
}
