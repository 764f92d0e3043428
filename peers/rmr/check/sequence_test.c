#include "sequence.h"

#include "check.h"

static struct sequence sequence;

static void begin(void) { sequence = (struct sequence){0}; }

static void in_order(void) {
    begin();
    for (uint32_t number = 0; number < 3 * SEQUENCE_WINDOW; ++number) {
        CHECK(sequence_note(&sequence, number));
    }
    CHECK(sequence.delivered == 3 * SEQUENCE_WINDOW && sequence_missing(&sequence) == 0);
    CHECK(sequence.duplicates == 0 && sequence.out_of_order == 0);
}

static void gaps_and_latecomers(void) {
    begin();
    CHECK(sequence_note(&sequence, 0));
    CHECK(sequence_note(&sequence, 5));
    CHECK(sequence_missing(&sequence) == 4);
    CHECK(sequence_note(&sequence, 3));
    CHECK(sequence.out_of_order == 1 && sequence_missing(&sequence) == 3);
    CHECK(!sequence_note(&sequence, 3));
    CHECK(!sequence_note(&sequence, 5));
    CHECK(sequence.duplicates == 2 && sequence.delivered == 3);
}

static void beyond_the_window(void) {
    begin();
    CHECK(sequence_note(&sequence, 7));
    CHECK(sequence_note(&sequence, 7 + 5 * SEQUENCE_WINDOW));
    // The place of 7 was cleared on the way: its neighbour by one window is not a duplicate.
    CHECK(sequence_note(&sequence, 7 + 4 * SEQUENCE_WINDOW + 1));
    CHECK(sequence_note(&sequence, 8));
    CHECK(sequence.out_of_order == 2 && sequence.duplicates == 0);
}

int main(void) {
    in_order();
    gaps_and_latecomers();
    beyond_the_window();
    return 0;
}
