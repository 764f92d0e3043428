// Where latencies are recorded: a log-linear histogram with HdrHistogram's buckets, the fixed
// 50 us histogram of the GUTI evaluation, and exact moments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/clock.hpp"

namespace peers {

/// HdrHistogram's layout for values from 1 ns to 100 s with three significant digits: buckets
/// of 2048 linear steps, each bucket with steps twice as wide as the one before.
class HdrHistogram {
  public:
    static constexpr std::uint64_t kHighest = 100'000'000'000;

    HdrHistogram();

    /// Values above kHighest count as kHighest.
    void record(std::uint64_t value) noexcept { ++counts_[index_of(value)]; }

    void merge(const HdrHistogram& other) noexcept;

    /// Lowest value of each bucket that holds something, with its count, in ascending order.
    /// Recording these values into any HdrHistogram with three digits gives equal buckets.
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> sparse() const;

    [[nodiscard]] static std::size_t index_of(std::uint64_t value) noexcept;
    [[nodiscard]] static std::uint64_t lowest_value_at(std::size_t index) noexcept;

  private:
    static constexpr unsigned kSubBucketBits =
        11;  // 2048 steps: the next power of two above 2*10^3
    std::vector<std::uint64_t> counts_;
};

/// What one client, or all of them merged, measured.
class LatencyRecorder {
  public:
    static constexpr std::size_t kBins = 400;
    static constexpr Nanoseconds kBinWidth = 50'000;

    void record(Nanoseconds latency) noexcept;
    void merge(const LatencyRecorder& other) noexcept;

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] Nanoseconds min() const noexcept { return count_ ? min_ : 0; }
    [[nodiscard]] Nanoseconds max() const noexcept { return max_; }
    [[nodiscard]] double mean() const noexcept;
    /// Population standard deviation.
    [[nodiscard]] double stddev() const noexcept;
    /// Bin i counts latencies from 50*i us up; the last one also all above.
    [[nodiscard]] const std::array<std::uint64_t, kBins>& bins() const noexcept { return bins_; }
    [[nodiscard]] const HdrHistogram& hdr() const noexcept { return hdr_; }

  private:
    HdrHistogram hdr_;
    std::array<std::uint64_t, kBins> bins_{};
    std::uint64_t count_ = 0;
    Nanoseconds min_ = INT64_MAX;
    Nanoseconds max_ = 0;
    double sum_ = 0;
    double sum_of_squares_ = 0;
};

}  // namespace peers
