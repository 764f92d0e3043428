#include "sequence.h"

static uint64_t bit(uint64_t number) { return UINT64_C(1) << (number % 64); }

static uint64_t *word(struct sequence *sequence, uint64_t number) {
    return &sequence->seen[number % SEQUENCE_WINDOW / 64];
}

// Forgets what `from` up to `to` share their places with.
static void clear(struct sequence *sequence, uint64_t from, uint64_t to) {
    if (to - from > SEQUENCE_WINDOW) from = to - SEQUENCE_WINDOW;
    for (uint64_t number = from; number < to; ++number) *word(sequence, number) &= ~bit(number);
}

int sequence_note(struct sequence *sequence, uint32_t number) {
    if (number >= sequence->next) {
        clear(sequence, sequence->next, (uint64_t)number + 1);
        sequence->next = (uint64_t)number + 1;
    } else {
        if (sequence->next - number > SEQUENCE_WINDOW) {
            ++sequence->delivered;
            ++sequence->out_of_order;
            return 1;
        }
        if (*word(sequence, number) & bit(number)) {
            ++sequence->duplicates;
            return 0;
        }
        ++sequence->out_of_order;
    }
    *word(sequence, number) |= bit(number);
    ++sequence->delivered;
    return 1;
}
