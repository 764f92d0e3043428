// Much at once, large ones, slow receivers and receivers that die: nothing is lost that nobody
// says is lost.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

// Where the tests put their sums on the board.
enum { ACCEPTED, DELIVERED, REPORTED, FAILED_SENDS, SLOWEST_MS, GO, DONE };

static const char *route_to(int port) { return table("rte|1000|127.0.0.1:%d", port); }

static int next_number[64];

// Receives whole messages, in order for each sender.
static void receive_in_order(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = NULL;
    while (!board->stop) {
        message = rmr.torcv_msg(context, message, 20);
        if (message == NULL || message->state != RMR_OK) continue;
        struct content content;
        CHECK(is_whole(message, &content));
        CHECK(content.sender < LENGTH(next_number));
        CHECK_EQUAL(content.number, next_number[content.sender]);
        ++next_number[content.sender];
        ++board->value[DELIVERED];
    }
}

// --- large messages ---------------------------------------------------------------------------

static const int large[] = {100, 70000, 1 << 20, 100, 5 << 20, 12, (8 << 20) + 1, 100};

static void send_large(void *context, const struct actor *self) {
    for (int number = 0; number < (int)LENGTH(large); ++number) {
        rmr_mbuf_t *message = prepare(context, NULL, 1000, -1, self->index, number, large[number]);
        message = send_patiently(context, message, 10);
        CHECK_STATE(message, RMR_OK);
        rmr.free_msg(message);
    }
    // What was accepted must arrive before this process may end.
    WAIT_FOR(board->value[DELIVERED] == (long)LENGTH(large), 30);
}

void test_large_messages(void) {
    const int there = free_port();
    start((struct actor){.run = receive_in_order, .port = there});
    join(start((struct actor){
             .run = send_large, .index = 1, .port = free_port(), .table = route_to(there)}),
         60);
}

// Threads of one application send to one endpoint: messages do not run into each other.
#define THREADS 4
#define EACH 40
static void *shared_context;

static void *send_from_thread(void *argument) {
    const int thread = (int)(intptr_t)argument;
    rmr_mbuf_t *message = NULL;
    for (int number = 0; number < EACH; ++number) {
        message = prepare(shared_context, message, 1000, -1, thread, number, 300000);
        message = send_patiently(shared_context, message, 20);
        CHECK_STATE(message, RMR_OK);
    }
    rmr.free_msg(message);
    return NULL;
}

static void large_from_threads_run(void *context, const struct actor *self) {
    (void)self;
    shared_context = context;
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; ++i) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, send_from_thread, (void *)i), 0);
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    WAIT_FOR(board->value[DELIVERED] == THREADS * EACH, 30);
}

void test_large_from_threads(void) {
    const int there = free_port();
    start((struct actor){.run = receive_in_order, .port = there, .size = 300000});
    join(start((struct actor){.run = large_from_threads_run,
                              .port = free_port(),
                              .table = route_to(there),
                              .size = 300000}),
         60);
}

// --- order ------------------------------------------------------------------------------------

#define SENDERS 8
#define FROM_EACH 4000

static void send_numbered(void *context, const struct actor *self) {
    rmr_mbuf_t *message = NULL;
    for (int number = 0; number < FROM_EACH; ++number) {
        message = prepare(context, message, 1000, -1, self->index, number, 100 + number % 100);
        message = send_patiently(context, message, 20);
        CHECK_STATE(message, RMR_OK);
        // A third of the ring at most is on the way, so that a receiver that drops drops nothing.
        const long ahead = ++board->value[ACCEPTED];
        if (ahead % 100 == 0) WAIT_FOR(ahead - board->value[DELIVERED] < 1300, 20);
    }
    rmr.free_msg(message);
    WAIT_FOR(board->value[DELIVERED] == SENDERS * FROM_EACH, 30);
}

void test_order(void) {
    const int there = free_port();
    start((struct actor){.run = receive_in_order, .port = there});
    pid_t senders[SENDERS];
    for (int i = 0; i < SENDERS; ++i) {
        senders[i] = start((struct actor){
            .run = send_numbered, .index = i, .port = free_port(), .table = route_to(there)});
    }
    for (int i = 0; i < SENDERS; ++i) join(senders[i], 60);
    CHECK_EQUAL(board->value[DELIVERED], SENDERS * FROM_EACH);
}

// --- slow receiver ----------------------------------------------------------------------------

// Takes nothing until it may, then everything; says what it dropped.
static void receive_late(void *context, const struct actor *self) {
    (void)self;
    WAIT_FOR(board->value[GO], 60);
    rmr_mbuf_t *message = NULL;
    double quiet_since = milliseconds();
    while (milliseconds() - quiet_since < 1500) {
        message = rmr.torcv_msg(context, message, 100);
        if (message != NULL && message->state == RMR_OK) {
            struct content content;
            CHECK(is_whole(message, &content));
            ++board->value[DELIVERED];
            quiet_since = milliseconds();
        }
    }
    rmr_rx_debug_t drops = {0};
    rmr.get_rx_debug_info(context, &drops);
    board->value[REPORTED] += (long)drops.drop;
    board->value[DONE] = 1;
}

static void send_fast(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = NULL;
    int refused = 0;
    const double end = milliseconds() + 8000;
    // Until it is told to slow down, or enough for any ring and all socket buffers.
    for (int number = 0; number < 30000 && refused < 3 && milliseconds() < end; ++number) {
        message = prepare(context, message, 1000, -1, 1, number, 4000);
        const double begin = milliseconds();
        message = rmr.send_msg(context, message);
        const long took = (long)(milliseconds() - begin);
        if (took > board->value[SLOWEST_MS]) board->value[SLOWEST_MS] = took;
        if (message->state == RMR_OK) {
            ++board->value[ACCEPTED];
        } else {
            CHECK_STATE(message, RMR_ERR_RETRY);
            CHECK_EQUAL(errno, EAGAIN);
            CHECK_EQUAL(message->len, 4000);
            ++refused;
            --number;
        }
    }
    board->value[GO] = 1;
    WAIT_FOR(board->value[DONE], 60);
    if (rmr.tx_dropped != NULL) board->value[REPORTED] += (long)rmr.tx_dropped(context);
    rmr.free_msg(message);
}

void test_slow_receiver(void) {
    const int there = free_port();
    const pid_t receiver = start((struct actor){.run = receive_late, .port = there});
    join(start((struct actor){.run = send_fast, .port = free_port(), .table = route_to(there)}),
         80);
    join(receiver, 10);
    CHECK(board->value[ACCEPTED] > 50);
    CHECK_EQUAL(board->value[DELIVERED] + board->value[REPORTED], board->value[ACCEPTED]);
    // It is not the sender that pays for a slow receiver.
    CHECK(board->value[SLOWEST_MS] < 1000);
}

// --- rmr_close writes what was accepted -------------------------------------------------------

static void send_and_close(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = NULL;
    for (int number = 0; number < 2000; ++number) {
        message = prepare(context, message, 1000, -1, 1, number, 1000);
        message = send_patiently(context, message, 5);
        CHECK_STATE(message, RMR_OK);
    }
    const double begin = milliseconds();
    rmr.close(context);
    CHECK(milliseconds() - begin < 5000);
    _exit(0);
}

void test_close_flushes(void) {
    const int there = free_port();
    start((struct actor){.run = receive_in_order, .port = there});
    join(
        start((struct actor){.run = send_and_close, .port = free_port(), .table = route_to(there)}),
        30);
    WAIT_FOR(board->value[DELIVERED] == 2000, 10);
}

// --- a receiver that is killed and comes back -------------------------------------------------

static void count_delivered(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = NULL;
    while (!board->stop) {
        message = rmr.torcv_msg(context, message, 20);
        if (message != NULL && message->state == RMR_OK) ++board->value[DELIVERED];
    }
}

static void send_steadily(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = NULL;
    for (int number = 0; !board->stop; ++number) {
        message = prepare(context, message, 1000, -1, 1, number, 200);
        const double begin = milliseconds();
        message = rmr.send_msg(context, message);
        const long took = (long)(milliseconds() - begin);
        if (took > board->value[SLOWEST_MS]) board->value[SLOWEST_MS] = took;
        CHECK(message != NULL);
        ++board->value[message->state == RMR_OK ? ACCEPTED : FAILED_SENDS];
        pause_microseconds(500);
    }
}

void test_killed_receiver(void) {
    const int there = free_port();
    const struct actor receiver = {.run = count_delivered, .port = there};
    pid_t process = start(receiver);
    start((struct actor){.run = send_steadily, .port = free_port(), .table = route_to(there)});
    for (int time = 0; time < 3; ++time) {
        const long delivered = board->value[DELIVERED];
        WAIT_FOR(board->value[DELIVERED] > delivered + 100, 20);
        kill_actor(process);
        // The sender notices.
        const long failed = board->value[FAILED_SENDS];
        WAIT_FOR(board->value[FAILED_SENDS] > failed + 3, 20);
        process = start(receiver);
    }
    const long delivered = board->value[DELIVERED];
    WAIT_FOR(board->value[DELIVERED] > delivered + 100, 20);
    CHECK(board->value[SLOWEST_MS] < 5000);
}

// --- routes to where nobody is ----------------------------------------------------------------

static void send_to_nobody(void *context, const struct actor *self) {
    const double end = milliseconds() + 20000;
    rmr_mbuf_t *message = prepare(context, NULL, 1000, -1, 1, 0, 100);
    for (int tries = 0; tries < self->argument && milliseconds() < end; ++tries) {
        const double begin = milliseconds();
        message = rmr.send_msg(context, message);
        const long took = (long)(milliseconds() - begin);
        if (took > board->value[SLOWEST_MS]) board->value[SLOWEST_MS] = took;
        CHECK(message != NULL);
        ++board->value[message->state == RMR_OK ? ACCEPTED : FAILED_SENDS];
        if (message->state != RMR_OK && message->state != RMR_ERR_RETRY) {
            CHECK_STATE(message, RMR_ERR_NOENDPT);
            CHECK_EQUAL(errno, ENXIO);
        }
        if (message->state != RMR_OK) CHECK_EQUAL(message->len, 100);
        message = prepare(context, message, 1000, -1, 1, 0, 100);
    }
    rmr.free_msg(message);
    board->value[DONE] = 1;
}

void test_dead_host(void) {
    const int nobody = free_port();
    join(
        start((struct actor){
            .run = send_to_nobody, .port = free_port(), .table = route_to(nobody), .argument = 20}),
        40);
    CHECK_EQUAL(board->value[ACCEPTED], 0);
    CHECK_EQUAL(board->value[FAILED_SENDS], 20);
    CHECK(board->value[SLOWEST_MS] < 2000);
}
