// What the sender writes at the beginning of each payload: sixteen octets, the smallest message
// that is measured, in the byte order of the machine that both programs run on.
//
//   octets 0..7   sender (8 bits) | phase (2 bits) | lag (22 bits, of 64 ns) | sequence (32 bits)
//   octets 8..15  when the message was due, CLOCK_MONOTONIC in nanoseconds
//
// The message left at due + lag. A lag above 268 ms is written as 268 ms.
#pragma once

#include <stdint.h>
#include <string.h>

#define STAMP_SIZE 16
#define STAMP_SENDERS 256
#define STAMP_LAG_UNIT_NS 64
#define STAMP_LAG_MOST ((UINT32_C(1) << 22) - 1)

enum phase {
    PHASE_HELLO = 0,     // opens the connection; not counted
    PHASE_WARM_UP = 1,   // counted, so that nothing is lost unseen, but not measured
    PHASE_MEASURED = 2,  // counted and measured
};

struct stamp {
    uint8_t sender;
    enum phase phase;
    uint32_t sequence;
    int64_t due_ns;
    int64_t lag_ns;
};

static inline void stamp_write(unsigned char *payload, const struct stamp *stamp) {
    uint64_t lag = stamp->lag_ns > 0 ? (uint64_t)stamp->lag_ns / STAMP_LAG_UNIT_NS : 0;
    if (lag > STAMP_LAG_MOST) lag = STAMP_LAG_MOST;
    const uint64_t words[2] = {
        (uint64_t)stamp->sender << 56 | (uint64_t)stamp->phase << 54 | lag << 32 | stamp->sequence,
        (uint64_t)stamp->due_ns,
    };
    memcpy(payload, words, sizeof words);
}

static inline struct stamp stamp_read(const unsigned char *payload) {
    uint64_t words[2];
    memcpy(words, payload, sizeof words);
    return (struct stamp){
        .sender = (uint8_t)(words[0] >> 56),
        .phase = (enum phase)(words[0] >> 54 & 3),
        .sequence = (uint32_t)words[0],
        .due_ns = (int64_t)words[1],
        .lag_ns = (int64_t)(words[0] >> 32 & STAMP_LAG_MOST) * STAMP_LAG_UNIT_NS,
    };
}

// The octets after the stamp, when the content is to be checked: told by the sequence number, so
// that a message with the content of another one is seen.
static inline unsigned char filler(uint32_t sequence, uint32_t at) {
    return (unsigned char)(sequence * 31 + at * 7 + (at >> 8));
}

static inline void stamp_fill(unsigned char *payload, uint32_t size, uint32_t sequence) {
    for (uint32_t at = STAMP_SIZE; at < size; ++at) payload[at] = filler(sequence, at);
}

static inline int stamp_is_filled(const unsigned char *payload, uint32_t size, uint32_t sequence) {
    for (uint32_t at = STAMP_SIZE; at < size; ++at) {
        if (payload[at] != filler(sequence, at)) return 0;
    }
    return 1;
}
