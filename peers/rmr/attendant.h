// The words of whoever started the program: lines on standard input, and signals.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct attendant {
    atomic_int asked_to_end;     // a signal, or the end of standard input
    atomic_int asked_to_go;      // `go` was said
    atomic_int asked_to_finish;  // `finish` was said
    atomic_llong expected;       // messages that `finish N` named; INT64_MAX until then
};

// Starts to listen. With `reads_input` also to standard input, in a thread that the end of the
// program ends.
void attendant_start(struct attendant *attendant, int reads_input);
