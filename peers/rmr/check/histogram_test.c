#include "histogram.h"

#include <string.h>

#include "check.h"

// Each value lies in the bucket that its index names, and the bucket is narrow enough.
static void buckets(void) {
    for (uint64_t value = 0; value < HISTOGRAM_HIGHEST; value += 1 + value / 777) {
        const uint32_t index = histogram_index(value);
        const uint64_t lowest = histogram_lowest_value_at(index);
        const uint64_t next = histogram_lowest_value_at(index + 1);
        CHECK(lowest <= value && value < next);
        CHECK((next - lowest) * 1000 <= (value < 1000 ? 1000 : value));
        CHECK(histogram_index(lowest) == index);
    }
    CHECK(histogram_index(UINT64_MAX) == histogram_index(HISTOGRAM_HIGHEST));
}

static void printed(void) {
    struct histogram one, other;
    histogram_init(&one);
    histogram_init(&other);
    histogram_record(&one, 1000);
    histogram_record(&one, 3000);
    histogram_record(&other, -5);
    histogram_record(&other, 40000);
    histogram_merge(&one, &other);
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    CHECK(memory != NULL);
    histogram_print(&one, memory);
    fclose(memory);
    CHECK(strstr(text, "\"min\":0,\"max\":40000,\"mean\":11000.000") != NULL);
    CHECK(strstr(text, "\"hdr\":[[0,1],[1000,1],[3000,1],[40000,1]]") != NULL);
    free(text);
    histogram_free(&one);
    histogram_free(&other);
}

int main(void) {
    buckets();
    printed();
    return 0;
}
