#include "histogram.h"

#include <math.h>
#include <stdlib.h>

static uint32_t length(void) { return histogram_index(HISTOGRAM_HIGHEST) + 1; }

void histogram_init(struct histogram *histogram) {
    *histogram = (struct histogram){.min = INT64_MAX};
    histogram->counts = calloc(length(), sizeof *histogram->counts);
    if (histogram->counts == NULL) {
        fputs("no memory for a histogram\n", stderr);
        exit(1);
    }
}

void histogram_free(struct histogram *histogram) {
    free(histogram->counts);
    histogram->counts = NULL;
}

void histogram_merge(struct histogram *into, const struct histogram *from) {
    for (uint32_t at = 0; at < length(); ++at) into->counts[at] += from->counts[at];
    into->count += from->count;
    if (from->min < into->min) into->min = from->min;
    if (from->max > into->max) into->max = from->max;
    into->sum += from->sum;
    into->sum_of_squares += from->sum_of_squares;
}

void histogram_print(const struct histogram *histogram, FILE *out) {
    const double count = histogram->count ? (double)histogram->count : 1.0;
    const double mean = histogram->sum / count;
    const double variance = histogram->sum_of_squares / count - mean * mean;
    fprintf(out, "\"latency_ns\":{\"min\":%lld,\"max\":%lld,\"mean\":%.3f,\"stddev\":%.3f},",
            (long long)(histogram->count ? histogram->min : 0), (long long)histogram->max, mean,
            variance > 0 ? sqrt(variance) : 0.0);
    fputs("\"hdr\":[", out);
    const char *separator = "";
    for (uint32_t at = 0; at < length(); ++at) {
        if (histogram->counts[at] == 0) continue;
        fprintf(out, "%s[%llu,%llu]", separator, (unsigned long long)histogram_lowest_value_at(at),
                (unsigned long long)histogram->counts[at]);
        separator = ",";
    }
    fputc(']', out);
}
