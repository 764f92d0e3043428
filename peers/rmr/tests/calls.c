// Answers: return to sender, calls, wormholes.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "harness.h"

static const char *route_to(int port) {
    return table("rte|1000|127.0.0.1:%d\nrte|1001|127.0.0.1:%d\nrte|1002|127.0.0.1:%d", port, port,
                 port);
}

// Sends everything back, as the type says: 1000 as it came, 1001 with a payload of 100,000 octets,
// 1002 not at all.
static void answer(void *context, const struct actor *self) {
    rmr_mbuf_t *message = NULL;
    while (!board->stop) {
        message = rmr.torcv_msg(context, message, 20);
        if (message == NULL || message->state != RMR_OK) continue;
        struct content content;
        CHECK(is_whole(message, &content));
        ++board->count[self->index][message->mtype % 8];
        if (message->mtype == 1002) continue;
        if (message->mtype == 1001) {
            message = rmr.realloc_payload(message, 100000, 0, 0);
            CHECK(message != NULL);
            fill(message, (int)content.sender, (int)content.number, 100000);
        }
        message->mtype = 1003;
        message->sub_id = -1;
        const double end = milliseconds() + 5000;
        do {
            message = rmr.rts_msg(context, message);
        } while (message->state == RMR_ERR_RETRY && milliseconds() < end);
        CHECK_STATE(message, RMR_OK);
    }
}

static void with_answers(void (*run)(void *, const struct actor *)) {
    const int there = free_port();
    start((struct actor){.run = answer, .index = 1, .port = there});
    join(start((struct actor){
             .run = run, .port = free_port(), .table = route_to(there), .argument = there}),
         60);
}

// --- return to sender -------------------------------------------------------------------------

static rmr_mbuf_t *expect_answer(void *context, rmr_mbuf_t *message, int number, int length) {
    message = rmr.torcv_msg(context, message, 5000);
    CHECK_STATE(message, RMR_OK);
    CHECK_EQUAL(message->mtype, 1003);
    CHECK_EQUAL(message->len, length);
    struct content content;
    CHECK(is_whole(message, &content));
    CHECK_EQUAL(content.number, number);
    return message;
}

static void rts_run(void *context, const struct actor *self) {
    rmr_mbuf_t *out = NULL;
    rmr_mbuf_t *in = NULL;
    for (int number = 0; number < 200; ++number) {
        const int grown = number % 2;
        out = prepare(context, out, 1000 + grown, 3, 1, number, 500);
        rmr.str2xact(out, (const unsigned char *)"stays");
        out = rmr.send_msg(context, out);
        CHECK_STATE(out, RMR_OK);
        in = expect_answer(context, in, number, grown ? 100000 : 500);
        CHECK(strcmp((char *)in->xaction, "stays") == 0);
        unsigned char source[RMR_MAX_SRC];
        rmr.get_src(in, source);
        // It says who answered.
        CHECK(strcmp((char *)source, text("127.0.0.1:%ld", self->argument)) == 0);
    }
    rmr.free_msg(in);
    rmr.free_msg(out);
}

void test_rts(void) { with_answers(rts_run); }

// The buffer that rts gave back returns to the same sender once more.
static void rts_twice(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = rmr.torcv_msg(context, NULL, 5000);
    CHECK_STATE(message, RMR_OK);
    for (int number = 0; number < 3; ++number) {
        message->mtype = 1003;
        fill(message, 0, number, 200);
        message = rmr.rts_msg(context, message);
        CHECK_STATE(message, RMR_OK);
    }
    WAIT_FOR(board->stop, 20);
}

static void rts_again_run(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = prepare(context, NULL, 1000, -1, 0, 0, 200);
    message = rmr.send_msg(context, message);
    CHECK_STATE(message, RMR_OK);
    for (int number = 0; number < 3; ++number)
        message = expect_answer(context, message, number, 200);
    rmr.free_msg(message);
}

void test_rts_again(void) {
    const int there = free_port();
    start((struct actor){.run = rts_twice, .index = 1, .port = there});
    join(start((struct actor){.run = rts_again_run, .port = free_port(), .table = route_to(there)}),
         20);
}

// --- calls ------------------------------------------------------------------------------------

static void call_run(void *context, const struct actor *self) {
    (void)self;
    for (int number = 0; number < 50; ++number) {
        rmr_mbuf_t *message = prepare(context, NULL, 1000 + number % 2, -1, 1, number, 300);
        rmr.bytes2xact(message, (const unsigned char *)&number, sizeof number);
        message = rmr.call(context, message);
        CHECK(message != NULL);
        CHECK_STATE(message, RMR_OK);
        struct content content;
        CHECK(is_whole(message, &content));
        CHECK_EQUAL(content.number, number);
        CHECK_EQUAL(message->mtype, 1003);
        rmr.free_msg(message);
    }
    // Nothing of it came by the ordinary way.
    CHECK(rmr.torcv_msg(context, NULL, 50) == NULL);
}

void test_call(void) { with_answers(call_run); }

#define CALLERS 4
struct caller {
    void *context;
    int id;
};

static void *call_many(void *argument) {
    const struct caller *caller = argument;
    for (int number = 0; number < 300; ++number) {
        const int unique = caller->id * 100000 + number;
        rmr_mbuf_t *message = prepare(caller->context, NULL, 1000, -1, caller->id, unique, 200);
        rmr.bytes2xact(message, (const unsigned char *)&unique, sizeof unique);
        message = rmr.mt_call(caller->context, message, caller->id, 5000);
        CHECK(message != NULL);
        CHECK_STATE(message, RMR_OK);
        struct content content;
        CHECK(is_whole(message, &content));
        CHECK_EQUAL(content.number, unique);
        CHECK_EQUAL(content.sender, caller->id);
        rmr.free_msg(message);
    }
    return NULL;
}

// Each thread gets its own answers, while ordinary messages come to the receiving function.
static void calls_from_threads_run(void *context, const struct actor *self) {
    (void)self;
    pthread_t threads[CALLERS];
    struct caller callers[CALLERS];
    for (int i = 0; i < CALLERS; ++i) {
        callers[i] = (struct caller){context, 2 + i * 84};
        CHECK_EQUAL(pthread_create(&threads[i], NULL, call_many, &callers[i]), 0);
    }
    rmr_mbuf_t *out = NULL;
    rmr_mbuf_t *in = NULL;
    for (int number = 0; number < 100; ++number) {
        out = prepare(context, out, 1000, -1, 1, number, 150);
        out = send_patiently(context, out, 5);
        CHECK_STATE(out, RMR_OK);
        in = expect_answer(context, in, number, 150);
    }
    for (int i = 0; i < CALLERS; ++i) pthread_join(threads[i], NULL);
    rmr.free_msg(in);
    rmr.free_msg(out);
}

void test_calls_from_threads(void) { with_answers(calls_from_threads_run); }

static void call_timeout_run(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = prepare(context, NULL, 1002, -1, 1, 0, 100);
    double begin = milliseconds();
    CHECK(rmr.mt_call(context, message, 2, 200) == NULL);
    CHECK_EQUAL(errno, ETIMEDOUT);
    double passed = milliseconds() - begin;
    CHECK(passed >= 198 && passed < 1500);

    // A call that cannot be sent says so and gives the message back.
    message = prepare(context, NULL, 1234, -1, 1, 0, 100);
    begin = milliseconds();
    message = rmr.mt_call(context, message, 2, 5000);
    CHECK_STATE(message, RMR_ERR_NOENDPT);
    CHECK(milliseconds() - begin < 1000);
    rmr.free_msg(message);

    // The same id works after that.
    message = prepare(context, NULL, 1000, -1, 1, 7, 100);
    message = rmr.mt_call(context, message, 2, 5000);
    CHECK(message != NULL);
    CHECK_STATE(message, RMR_OK);
    rmr.free_msg(message);
}

void test_call_timeout(void) { with_answers(call_timeout_run); }

// The answer's buffer is the next request.
static void call_reuses_buffer_run(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = NULL;
    for (int number = 0; number < 10; ++number) {
        message = prepare(context, message, 1000, -1, 1, number, 100);
        message = rmr.mt_call(context, message, 2, 1000);
        CHECK(message != NULL);
        CHECK_STATE(message, RMR_OK);
        struct content content;
        CHECK(is_whole(message, &content));
        CHECK_EQUAL(content.number, number);
    }
    rmr.free_msg(message);
}

void test_call_reuses_buffer(void) { with_answers(call_reuses_buffer_run); }

// --- wormholes --------------------------------------------------------------------------------

static void wormholes_run(void *context, const struct actor *self) {
    const char *target = text("127.0.0.1:%ld", self->argument);
    const rmr_whid_t id = rmr.wh_open(context, target);
    CHECK(RMR_WH_CONNECTED(id));
    CHECK_EQUAL(rmr.wh_open(context, target), id);
    CHECK_EQUAL(rmr.wh_state(context, id), RMR_OK);
    rmr_mbuf_t *out = NULL;
    rmr_mbuf_t *in = NULL;
    // Types without a route go through it all the same.
    for (int number = 0; number < 20; ++number) {
        out = prepare(context, out, 1008, -1, 1, number, 200);
        out = rmr.wh_send_msg(context, id, out);
        CHECK_STATE(out, RMR_OK);
        in = expect_answer(context, in, number, 200);
    }
    out = prepare(context, out, 1000, -1, 1, 0, 200);
    out = rmr.wh_send_msg(context, id + 100, out);
    CHECK_STATE(out, RMR_ERR_WHID);
    CHECK_EQUAL(rmr.wh_state(context, id + 100), RMR_ERR_WHID);

    rmr.wh_close(context, id);
    CHECK_EQUAL(rmr.wh_state(context, id), RMR_ERR_WHID);
    out = rmr.wh_send_msg(context, id, out);
    CHECK_STATE(out, RMR_ERR_WHID);

    // Nobody there.
    const int nobody = free_port();
    CHECK_EQUAL(rmr.wh_open(context, text("127.0.0.1:%d", nobody)), -1);
    rmr.free_msg(in);
    rmr.free_msg(out);
}

void test_wormholes(void) { with_answers(wormholes_run); }

static void wormhole_call_run(void *context, const struct actor *self) {
    const rmr_whid_t id = rmr.wh_open(context, text("127.0.0.1:%ld", self->argument));
    CHECK(RMR_WH_CONNECTED(id));
    for (int number = 0; number < 20; ++number) {
        rmr_mbuf_t *message = prepare(context, NULL, 1008, -1, 1, number, 200);
        rmr.bytes2xact(message, (const unsigned char *)&number, sizeof number);
        message = rmr.wh_call(context, id, message, 9, 3000);
        CHECK(message != NULL);
        CHECK_STATE(message, RMR_OK);
        struct content content;
        CHECK(is_whole(message, &content));
        CHECK_EQUAL(content.number, number);
        rmr.free_msg(message);
    }
}

void test_wormhole_call(void) { with_answers(wormhole_call_run); }

// --- the descriptor that says that something came ---------------------------------------------

static int is_readable(int descriptor, int wait) {
    struct pollfd poll_this = {.fd = descriptor, .events = POLLIN};
    return poll(&poll_this, 1, wait) == 1 && (poll_this.revents & POLLIN) != 0;
}

static void receive_descriptor_run(void *context, const struct actor *self) {
    (void)self;
    const int descriptor = rmr.get_rcvfd(context);
    CHECK(descriptor >= 0);
    CHECK(!is_readable(descriptor, 50));
    rmr_mbuf_t *out = NULL;
    rmr_mbuf_t *in = NULL;
    for (int round = 0; round < 20; ++round) {
        // One and several: it is readable as long as there is a message.
        const int many = 1 + round % 3 * 10;
        for (int number = 0; number < many; ++number) {
            out = prepare(context, out, 1000, -1, 1, number, 100);
            out = send_patiently(context, out, 5);
            CHECK_STATE(out, RMR_OK);
        }
        for (int number = 0; number < many; ++number) {
            CHECK(is_readable(descriptor, 5000));
            in = rmr.torcv_msg(context, in, 0);
            // Readable may be a moment early; the message is then not far.
            if (in == NULL || in->state == RMR_ERR_TIMEOUT) in = rmr.torcv_msg(context, in, 1000);
            CHECK_STATE(in, RMR_OK);
            struct content content;
            CHECK(is_whole(in, &content));
            CHECK_EQUAL(content.number, number);
        }
    }
    rmr.free_msg(in);
    rmr.free_msg(out);
}

void test_receive_descriptor(void) { with_answers(receive_descriptor_run); }
