// Conformance tests of RMR libraries: what applications rely on, in plain C against rmr.h.
//
// A test runs in the parent process and starts actors, processes of their own with a library of
// their own. They share a board in memory. Every wait has an end, and whoever waits in vain ends
// the test with the place and what it waited for.
#pragma once

#include <rmr/rmr.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

// The functions under test, as `rmr.send_msg(...)`: looked up in the library that the command line
// names. What a library does not have is null.
// clang-format off
#define RMR_FUNCTIONS(FUNCTION) \
    FUNCTION(init) FUNCTION(close) FUNCTION(ready) FUNCTION(alloc_msg) FUNCTION(tralloc_msg) \
    FUNCTION(free_msg) FUNCTION(payload_size) FUNCTION(realloc_payload) FUNCTION(realloc_msg) \
    FUNCTION(send_msg) FUNCTION(mtosend_msg) FUNCTION(rts_msg) FUNCTION(call) FUNCTION(mt_call) \
    FUNCTION(rcv_msg) FUNCTION(torcv_msg) FUNCTION(mt_rcv) FUNCTION(rcv_specific) \
    FUNCTION(get_rcvfd) FUNCTION(wh_open) FUNCTION(wh_send_msg) FUNCTION(wh_call) \
    FUNCTION(wh_state) FUNCTION(wh_close) FUNCTION(bytes2meid) FUNCTION(str2meid) \
    FUNCTION(bytes2xact) FUNCTION(str2xact) FUNCTION(bytes2payload) FUNCTION(str2payload) \
    FUNCTION(get_meid) FUNCTION(get_xact) FUNCTION(get_src) FUNCTION(get_srcip) \
    FUNCTION(init_trace) FUNCTION(set_trace) FUNCTION(get_trace) FUNCTION(get_trlen) \
    FUNCTION(trace_ref) FUNCTION(set_stimeout) FUNCTION(set_low_latency) \
    FUNCTION(get_rx_debug_info) FUNCTION(reset_rx_debug_count)
// clang-format on

struct rmr_functions {
#define RMR_FUNCTION(name) __typeof__(rmr_##name) *name;
    RMR_FUNCTIONS(RMR_FUNCTION)
#undef RMR_FUNCTION
    uint64_t (*tx_dropped)(void *);  // Corewire's own, also in its peers
};
extern struct rmr_functions rmr;

// What all processes of a test see. A test gives the places their meaning.
#define PLACES 64
struct board {
    atomic_long ready;  // actors that are
    atomic_long stop;   // set by the parent: end
    atomic_long value[PLACES];
    atomic_long count[PLACES][8];  // by actor and by what the test counts
    char text[PLACES][256];
};
extern struct board *board;

// An RMR application.
struct actor {
    void (*run)(void *context, const struct actor *self);
    int index;
    int port;
    const char *table;    // null: none; the text is put into a file of its own
    const char *source;   // RMR_SRC_ID; null: 127.0.0.1
    const char *manager;  // RMR_RTG_SVC; null: -1, only the file
    const char *control;  // RMR_CTL_PORT
    int size;             // of messages, for rmr_init; 0: 4096
    int manual;           // run() is called with no context and makes its own
    long argument;
};

// Starts it and waits until its library is ready (or, without a table, until it listens).
pid_t start(struct actor actor);
// Ends it with SIGKILL.
void kill_actor(pid_t process);
// Waits until it has ended by itself and well.
void join(pid_t process, double seconds);
// A TCP port that nobody uses, on 127.0.0.1.
int free_port(void);
// Text as by printf, and text between newrt|start and newrt|end: a route table, whose records '\n'
// separates. Neither is freed.
const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *table(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *open_context(const struct actor *actor);
// Milliseconds on a clock that only goes on.
double milliseconds(void);
void pause_microseconds(long microseconds);
const char *state_text(int state);

// Messages that the tests send: who, which one, and octets that can be checked.
struct content {
    uint32_t sender;
    uint32_t number;
    uint32_t length;
};
void fill(rmr_mbuf_t *message, int sender, int number, int length);
// The message is whole; what it says is in `content`.
int is_whole(const rmr_mbuf_t *message, struct content *content);
// Sends and, as long as the answer is RETRY, sends again for up to `seconds`. Returns what
// rmr_send_msg returned last.
rmr_mbuf_t *send_patiently(void *context, rmr_mbuf_t *message, double seconds);
// A message of `type`, `sub_id`, filled; the buffer is made when null is given.
rmr_mbuf_t *prepare(void *context, rmr_mbuf_t *message, int type, int sub_id, int sender,
                    int number, int length);
// An actor that counts what arrives into board->count[index][type - 1000] until it is stopped.
void count_types(void *context, const struct actor *self);

_Noreturn void die(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define CHECK(condition)                                                  \
    do {                                                                  \
        if (!(condition)) die(__FILE__, __LINE__, "not: %s", #condition); \
    } while (0)

#define CHECK_EQUAL(left, right)                                                            \
    do {                                                                                    \
        const long left_value = (long)(left), right_value = (long)(right);                  \
        if (left_value != right_value)                                                      \
            die(__FILE__, __LINE__, "%s == %s: %ld against %ld", #left, #right, left_value, \
                right_value);                                                               \
    } while (0)

#define CHECK_STATE(message, expected)                                        \
    do {                                                                      \
        CHECK((message) != NULL);                                             \
        if ((message)->state != (expected))                                   \
            die(__FILE__, __LINE__, "state of %s: %s, expected %s", #message, \
                state_text((message)->state), state_text(expected));          \
    } while (0)

// Waits for the condition.
#define WAIT_FOR(condition, seconds)                                                           \
    do {                                                                                       \
        const double wait_end = milliseconds() + (seconds)*1000.0;                             \
        while (!(condition)) {                                                                 \
            watch_actors();                                                                    \
            if (milliseconds() > wait_end)                                                     \
                die(__FILE__, __LINE__, "waited %g s for: %s", (double)(seconds), #condition); \
            pause_microseconds(200);                                                           \
        }                                                                                      \
    } while (0)

// An actor that failed fails the test.
void watch_actors(void);

// The tests, by the file that holds them.
// clang-format off
#define TESTS(TEST) \
    TEST(exchange) TEST(accessors) TEST(trace) TEST(payload_growth) TEST(misuse) TEST(timeouts) \
    TEST(groups) TEST(round_robin) TEST(sub_ids) TEST(sender_filter) TEST(hairpin) TEST(meid) \
    TEST(no_route) TEST(rts) TEST(rts_again) TEST(call) TEST(calls_from_threads) \
    TEST(call_timeout) TEST(call_reuses_buffer) TEST(wormholes) TEST(wormhole_call) \
    TEST(receive_descriptor) TEST(port_in_use) TEST(large_messages) TEST(large_from_threads) \
    TEST(order) TEST(slow_receiver) TEST(close_flushes) TEST(killed_receiver) TEST(dead_host) \
    TEST(mute_host) TEST(silent_peers) TEST(truncated_frames) TEST(lying_lengths) TEST(garbage) \
    TEST(crowd) \
    TEST(live_table) TEST(bad_tables) TEST(incremental_tables) TEST(live_meids) \
    TEST(swapped_under_load)
// clang-format on
#define TEST_DECLARATION(name) void test_##name(void);
TESTS(TEST_DECLARATION)
#undef TEST_DECLARATION

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
