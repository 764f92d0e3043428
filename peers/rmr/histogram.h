// Latencies: HdrHistogram's layout for values from 1 ns to 100 s with three significant digits
// (buckets of 2048 linear steps, each with steps twice as wide as the one before), and exact
// moments. The same buckets and the same JSON as the other peers' programs have.
#pragma once

#include <stdint.h>
#include <stdio.h>

struct histogram {
    uint64_t *counts;
    uint64_t count;
    int64_t min;
    int64_t max;
    double sum;
    double sum_of_squares;
};

#define HISTOGRAM_HIGHEST UINT64_C(100000000000)

// Ends the program when there is no memory.
void histogram_init(struct histogram *histogram);
void histogram_free(struct histogram *histogram);
void histogram_merge(struct histogram *into, const struct histogram *from);

// `"latency_ns":{...},"hdr":[[value,count],...]` with the lowest value of each bucket.
void histogram_print(const struct histogram *histogram, FILE *out);

static inline uint32_t histogram_index(uint64_t value) {
    if (value > HISTOGRAM_HIGHEST) value = HISTOGRAM_HIGHEST;
    const uint32_t bucket = 53u - (uint32_t)__builtin_clzll(value | 2047);
    return (bucket << 10) + (uint32_t)(value >> bucket);
}

static inline uint64_t histogram_lowest_value_at(uint32_t index) {
    if (index < 2048) return index;
    const uint32_t bucket = (index >> 10) - 1;
    return (uint64_t)(index - (bucket << 10)) << bucket;
}

static inline void histogram_record(struct histogram *histogram, int64_t value) {
    if (value < 0) value = 0;
    ++histogram->counts[histogram_index((uint64_t)value)];
    ++histogram->count;
    if (value < histogram->min) histogram->min = value;
    if (value > histogram->max) histogram->max = value;
    histogram->sum += (double)value;
    histogram->sum_of_squares += (double)value * (double)value;
}
