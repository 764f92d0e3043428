// Which messages of one sender came: how many, which twice, which after a later one, which not.
//
// A window of the last 65,536 sequence numbers is remembered bit by bit, as receivers of IPsec do.
// What comes from before the window cannot be told from a duplicate and counts as late.
#pragma once

#include <stdint.h>

#define SEQUENCE_WINDOW UINT32_C(65536)

struct sequence {
    uint64_t delivered;     // each message once
    uint64_t duplicates;    // came again
    uint64_t out_of_order;  // came after a later one
    uint64_t next;          // one above the highest that came
    uint64_t seen[SEQUENCE_WINDOW / 64];
};

// Whether it came for the first time.
int sequence_note(struct sequence *sequence, uint32_t number);

// Below the highest that came, how many did not come. Says something only where one receiver gets
// all messages of the sender.
static inline uint64_t sequence_missing(const struct sequence *sequence) {
    return sequence->next > sequence->delivered ? sequence->next - sequence->delivered : 0;
}
