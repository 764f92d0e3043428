#include "harness/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace peers {

namespace {
constexpr unsigned kHalfBits = 10;
constexpr std::uint64_t kHalf = 1U << kHalfBits;
}  // namespace

HdrHistogram::HdrHistogram() : counts_(index_of(kHighest) + 1) {}

std::size_t HdrHistogram::index_of(std::uint64_t value) noexcept {
    value = std::min(value, kHighest);
    // Bucket 0 covers 0..2047 in steps of 1; bucket b covers 2^(b+10)..2^(b+11)-1 in steps of 2^b.
    const auto bucket = static_cast<unsigned>(std::bit_width(value | ((1U << kSubBucketBits) - 1)) -
                                              static_cast<int>(kSubBucketBits));
    return (static_cast<std::size_t>(bucket) << kHalfBits) + (value >> bucket);
}

std::uint64_t HdrHistogram::lowest_value_at(std::size_t index) noexcept {
    if (index < 2 * kHalf) return index;
    const std::size_t bucket = (index >> kHalfBits) - 1;
    return (index - (bucket << kHalfBits)) << bucket;
}

void HdrHistogram::merge(const HdrHistogram& other) noexcept {
    std::transform(counts_.begin(), counts_.end(), other.counts_.begin(), counts_.begin(),
                   std::plus<>());
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> HdrHistogram::sparse() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] != 0) result.emplace_back(lowest_value_at(i), counts_[i]);
    }
    return result;
}

void LatencyRecorder::record(Nanoseconds latency) noexcept {
    latency = std::max<Nanoseconds>(latency, 0);
    hdr_.record(static_cast<std::uint64_t>(latency));
    ++bins_[std::min(static_cast<std::size_t>(latency / kBinWidth), kBins - 1)];
    ++count_;
    min_ = std::min(min_, latency);
    max_ = std::max(max_, latency);
    const auto value = static_cast<double>(latency);
    sum_ += value;
    sum_of_squares_ += value * value;
}

void LatencyRecorder::merge(const LatencyRecorder& other) noexcept {
    hdr_.merge(other.hdr_);
    std::transform(bins_.begin(), bins_.end(), other.bins_.begin(), bins_.begin(), std::plus<>());
    count_ += other.count_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    sum_ += other.sum_;
    sum_of_squares_ += other.sum_of_squares_;
}

double LatencyRecorder::mean() const noexcept {
    return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
}

double LatencyRecorder::stddev() const noexcept {
    if (count_ == 0) return 0.0;
    const double average = mean();
    const double variance = sum_of_squares_ / static_cast<double>(count_) - average * average;
    return variance > 0 ? std::sqrt(variance) : 0.0;
}

}  // namespace peers
