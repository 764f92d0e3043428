#include "stamp.h"

#include "check.h"

int main(void) {
    unsigned char payload[64];
    const struct stamp written = {
        .sender = 255,
        .phase = PHASE_MEASURED,
        .sequence = UINT32_MAX,
        .due_ns = INT64_C(1234567890123456789),
        .lag_ns = 6400,
    };
    stamp_write(payload, &written);
    struct stamp read = stamp_read(payload);
    CHECK(read.sender == 255 && read.phase == PHASE_MEASURED && read.sequence == UINT32_MAX);
    CHECK(read.due_ns == written.due_ns && read.lag_ns == 6400);

    // What does not fit into the lag is the most that fits, and spoils nothing beside it.
    stamp_write(payload, &(struct stamp){.phase = PHASE_WARM_UP, .lag_ns = INT64_MAX});
    read = stamp_read(payload);
    CHECK(read.phase == PHASE_WARM_UP && read.sender == 0 && read.sequence == 0);
    CHECK(read.lag_ns == (int64_t)STAMP_LAG_MOST * STAMP_LAG_UNIT_NS);

    stamp_fill(payload, sizeof payload, 9);
    CHECK(stamp_is_filled(payload, sizeof payload, 9));
    CHECK(!stamp_is_filled(payload, sizeof payload, 10));
    payload[40] ^= 1;
    CHECK(!stamp_is_filled(payload, sizeof payload, 9));
    return 0;
}
