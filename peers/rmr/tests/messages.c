// Buffers, what is in them, and how the functions answer to misuse.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

// Runs `run` in an application that sends to another one, which runs `peer`.
static void with_peer(void (*run)(void *, const struct actor *),
                      void (*peer)(void *, const struct actor *)) {
    const int there = free_port();
    start((struct actor){.run = peer, .index = 1, .port = there});
    const char *routes = table("rte|1000|127.0.0.1:%d\nrte|1001|127.0.0.1:%d", there, there);
    join(start((struct actor){.run = run, .port = free_port(), .table = routes}), 30);
}

static rmr_mbuf_t *receive(void *context) {
    rmr_mbuf_t *message = rmr.torcv_msg(context, NULL, 5000);
    CHECK(message != NULL);
    CHECK_STATE(message, RMR_OK);
    return message;
}

// --- exchange ---------------------------------------------------------------------------------

static void exchange_peer(void *context, const struct actor *self) {
    (void)self;
    struct content content;
    rmr_mbuf_t *message = NULL;
    for (int number = 0; number < 3; ++number) {
        message = rmr.torcv_msg(context, message, 5000);
        CHECK_STATE(message, RMR_OK);
        CHECK_EQUAL(message->mtype, 1000);
        CHECK_EQUAL(message->sub_id, 77);
        CHECK_EQUAL(message->len, 100 + number);
        CHECK(is_whole(message, &content));
        CHECK_EQUAL(content.number, number);
        CHECK(memcmp(message->xaction, "a transaction", 14) == 0);
        unsigned char field[RMR_MAX_SRC];
        CHECK(strcmp((char *)rmr.get_meid(message, field), "gnb-1") == 0);
        CHECK(rmr.get_src(message, field) == field);
        CHECK(strncmp((char *)field, "127.0.0.1:", 10) == 0);
        CHECK(rmr.payload_size(message) >= message->len);
    }
    rmr.free_msg(message);
    board->value[0] = 1;
}

static void exchange_run(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = rmr.alloc_msg(context, 500);
    const int capacity = rmr.payload_size(message);
    CHECK(capacity >= 500);
    for (int number = 0; number < 3; ++number) {
        prepare(context, message, 1000, 77, 1, number, 100 + number);
        CHECK_EQUAL(rmr.str2meid(message, (const unsigned char *)"gnb-1"), RMR_OK);
        CHECK_EQUAL(rmr.str2xact(message, (const unsigned char *)"a transaction"), RMR_OK);
        message = rmr.send_msg(context, message);
        // A buffer comes back that can be filled at once: empty, and as large.
        CHECK_STATE(message, RMR_OK);
        CHECK(rmr.payload_size(message) >= capacity);
        CHECK_EQUAL(message->len, 0);
        CHECK_EQUAL(message->mtype, RMR_VOID_MSGTYPE);
        CHECK_EQUAL(message->sub_id, RMR_VOID_SUBID);
    }
    rmr.free_msg(message);
    WAIT_FOR(board->value[0] == 1, 5);
}

void test_exchange(void) { with_peer(exchange_run, exchange_peer); }

// --- accessors --------------------------------------------------------------------------------

static void accessors_run(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = rmr.alloc_msg(context, 64);
    CHECK(rmr.payload_size(message) >= 64);
    CHECK_EQUAL(message->mtype, RMR_VOID_MSGTYPE);
    CHECK_EQUAL(message->sub_id, RMR_VOID_SUBID);
    CHECK_EQUAL(message->len, 0);

    // A transaction is 32 octets, whatever they are; too many are cut and said.
    unsigned char octets[40];
    for (unsigned i = 0; i < sizeof octets; ++i) octets[i] = (unsigned char)(i + 1);
    CHECK_EQUAL(rmr.bytes2xact(message, octets, RMR_MAX_XID), RMR_MAX_XID);
    CHECK_EQUAL(errno, 0);
    CHECK(memcmp(message->xaction, octets, RMR_MAX_XID) == 0);
    CHECK_EQUAL(rmr.bytes2xact(message, octets, sizeof octets), RMR_MAX_XID);
    CHECK_EQUAL(errno, EOVERFLOW);
    unsigned char *copy = rmr.get_xact(message, NULL);
    CHECK(memcmp(copy, octets, RMR_MAX_XID) == 0);
    free(copy);
    const char *long_text = "a text that does not fit into the field";
    CHECK_EQUAL(rmr.str2xact(message, (const unsigned char *)long_text), RMR_ERR_OVERFLOW);

    // A managed element is text: 31 octets and the end.
    CHECK_EQUAL(rmr.bytes2meid(message, octets, RMR_MAX_MEID), RMR_MAX_MEID);
    CHECK_EQUAL(errno, EOVERFLOW);
    unsigned char meid[RMR_MAX_MEID];
    rmr.get_meid(message, meid);
    CHECK_EQUAL(meid[RMR_MAX_MEID - 1], 0);
    CHECK_EQUAL(rmr.str2meid(message, (const unsigned char *)long_text), RMR_ERR_OVERFLOW);
    CHECK_EQUAL(rmr.str2meid(message, (const unsigned char *)"enb-7"), RMR_OK);
    CHECK(strcmp((char *)rmr.get_meid(message, meid), "enb-7") == 0);

    // Text goes with its end, and a payload that does not fit is cut and said.
    rmr.str2payload(message, (const unsigned char *)"hello");
    CHECK_EQUAL(message->len, 6);
    CHECK(memcmp(message->payload, "hello", 6) == 0);
    unsigned char ip[RMR_MAX_SRC];
    CHECK(rmr.get_srcip(message, ip) == ip);
    CHECK(strchr((char *)ip, ':') != NULL);
    rmr.free_msg(message);

    // Size 0 is the size that rmr_init was given.
    message = rmr.alloc_msg(context, 0);
    CHECK(rmr.payload_size(message) >= 4096);
    rmr.free_msg(message);
}

void test_accessors(void) {
    join(start((struct actor){.run = accessors_run, .port = free_port()}), 20);
}

// --- trace data -------------------------------------------------------------------------------

static const char trace_text[] = "trace data of some length";

static void trace_peer(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = receive(context);
    unsigned char octets[64] = "";
    CHECK_EQUAL(rmr.get_trlen(message), sizeof trace_text);
    CHECK_EQUAL(rmr.get_trace(message, octets, sizeof octets), sizeof trace_text);
    CHECK(memcmp(octets, trace_text, sizeof trace_text) == 0);
    int size = 0;
    CHECK(memcmp(rmr.trace_ref(message, &size), trace_text, sizeof trace_text) == 0);
    CHECK_EQUAL(size, sizeof trace_text);
    struct content content;
    CHECK(is_whole(message, &content));
    rmr.free_msg(message);

    message = receive(context);
    CHECK_EQUAL(rmr.get_trlen(message), 5);
    CHECK_EQUAL(rmr.get_trace(message, octets, 3), 3);
    CHECK(memcmp(rmr.trace_ref(message, NULL), "12345", 5) == 0);
    CHECK(is_whole(message, &content));
    rmr.free_msg(message);

    message = receive(context);
    CHECK_EQUAL(rmr.get_trlen(message), 0);
    CHECK(rmr.trace_ref(message, &size) == NULL);
    CHECK_EQUAL(size, 0);
    CHECK(is_whole(message, &content));
    rmr.free_msg(message);
    board->value[0] = 1;
}

static void trace_run(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message =
        rmr.tralloc_msg(context, 300, sizeof trace_text, (const unsigned char *)trace_text);
    CHECK(rmr.payload_size(message) >= 300);
    CHECK_EQUAL(rmr.get_trlen(message), sizeof trace_text);
    prepare(context, message, 1000, -1, 1, 0, 300);
    message = rmr.send_msg(context, message);
    CHECK_STATE(message, RMR_OK);
    rmr.free_msg(message);

    // Another size than the buffer was made with; the payload stays.
    message = prepare(context, NULL, 1000, -1, 1, 1, 200);
    CHECK_EQUAL(rmr.set_trace(message, (const unsigned char *)"12345", 5), 5);
    CHECK_EQUAL(rmr.get_trlen(message), 5);
    struct content content;
    message->len = 200;
    CHECK(is_whole(message, &content));
    message = rmr.send_msg(context, message);
    CHECK_STATE(message, RMR_OK);
    rmr.free_msg(message);

    message = prepare(context, NULL, 1000, -1, 1, 2, 100);
    message = rmr.send_msg(context, message);
    CHECK_STATE(message, RMR_OK);
    rmr.free_msg(message);
    WAIT_FOR(board->value[0] == 1, 5);

    // A size for all messages of the context.
    CHECK_EQUAL(rmr.init_trace(context, 16), 1);
    message = rmr.alloc_msg(context, 10);
    CHECK_EQUAL(rmr.get_trlen(message), 16);
    CHECK_EQUAL(rmr.set_trace(message, (const unsigned char *)"0123456789abcdef", 16), 16);
    rmr_mbuf_t *clone = rmr.realloc_msg(message, 32);
    CHECK_EQUAL(rmr.get_trlen(clone), 32);
    rmr.free_msg(clone);
    rmr.free_msg(message);
}

void test_trace(void) { with_peer(trace_run, trace_peer); }

// --- a larger payload -------------------------------------------------------------------------

static void payload_growth_run(void *context, const struct actor *self) {
    (void)self;
    struct content content;
    rmr_mbuf_t *message = prepare(context, NULL, 1000, 5, 1, 0, 100);
    rmr.str2meid(message, (const unsigned char *)"kept");
    rmr.str2xact(message, (const unsigned char *)"kept too");

    // Enough room: nothing happens.
    CHECK(rmr.realloc_payload(message, 50, 1, 0) == message);

    // In place, with the payload.
    rmr_mbuf_t *larger = rmr.realloc_payload(message, 100000, 1, 0);
    CHECK(larger == message);
    CHECK(rmr.payload_size(message) >= 100000);
    CHECK_EQUAL(message->mtype, 1000);
    CHECK_EQUAL(message->sub_id, 5);
    CHECK_EQUAL(message->len, 100);
    CHECK(is_whole(message, &content));
    unsigned char field[RMR_MAX_MEID];
    CHECK(strcmp((char *)rmr.get_meid(message, field), "kept") == 0);
    CHECK(strcmp((char *)message->xaction, "kept too") == 0);

    // A copy, with and without the payload; the original stays as it is.
    rmr_mbuf_t *clone = rmr.realloc_payload(message, 200000, 1, 1);
    CHECK(clone != message);
    CHECK(rmr.payload_size(clone) >= 200000);
    CHECK(is_whole(clone, &content));
    CHECK(is_whole(message, &content));
    rmr.free_msg(clone);
    clone = rmr.realloc_payload(message, 300000, 0, 1);
    CHECK(clone != message);
    CHECK_EQUAL(clone->len, 0);
    CHECK_EQUAL(clone->mtype, RMR_VOID_MSGTYPE);
    CHECK_EQUAL(clone->sub_id, RMR_VOID_SUBID);
    CHECK(strcmp((char *)rmr.get_meid(clone, field), "kept") == 0);
    rmr.free_msg(clone);
    CHECK(is_whole(message, &content));

    CHECK(rmr.realloc_payload(NULL, 100, 1, 0) == NULL);
    CHECK_EQUAL(errno, EINVAL);
    CHECK(rmr.realloc_payload(message, 0, 1, 0) == NULL);
    CHECK_EQUAL(errno, EINVAL);
    rmr.free_msg(message);
}

void test_payload_growth(void) {
    join(start((struct actor){.run = payload_growth_run, .port = free_port()}), 20);
}

// --- misuse -----------------------------------------------------------------------------------

static void misuse_run(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = prepare(context, NULL, 1000, -1, 1, 0, 100);
    CHECK(rmr.send_msg(NULL, message) == message);
    CHECK_STATE(message, RMR_ERR_BADARG);
    CHECK_EQUAL(errno, EINVAL);
    CHECK(rmr.send_msg(context, NULL) == NULL);
    CHECK_EQUAL(errno, EINVAL);
    CHECK(rmr.rts_msg(NULL, message) == message);
    CHECK_STATE(message, RMR_ERR_BADARG);
    message->state = RMR_OK;
    CHECK(rmr.mt_call(context, message, 1, 10) == message);  // ids 0 and 1 are taken
    CHECK_STATE(message, RMR_ERR_BADARG);
    message->state = RMR_OK;
    CHECK(rmr.mt_call(context, message, 256, 10) == message);
    CHECK_STATE(message, RMR_ERR_BADARG);
    CHECK(rmr.torcv_msg(NULL, message, 1) == message);
    CHECK_STATE(message, RMR_ERR_BADARG);
    CHECK(rmr.alloc_msg(NULL, 100) == NULL);

    // Before any is open, and then with a wrong id.
    CHECK_EQUAL(rmr.wh_open(context, ""), -1);
    CHECK_EQUAL(rmr.wh_open(NULL, "127.0.0.1:1"), -1);
    CHECK(rmr.wh_send_msg(context, 3, message) == message);
    CHECK_STATE(message, RMR_ERR_NOWHOPEN);

    CHECK_EQUAL(rmr.bytes2xact(NULL, (const unsigned char *)"x", 1), -1);
    CHECK_EQUAL(rmr.bytes2meid(message, NULL, 1), -1);
    CHECK_EQUAL(errno, EINVAL);
    CHECK(rmr.get_meid(NULL, NULL) == NULL);
    CHECK(rmr.get_src(NULL, NULL) == NULL);
    CHECK_EQUAL(rmr.get_trlen(NULL), 0);
    CHECK(rmr.trace_ref(NULL, NULL) == NULL);
    CHECK_EQUAL(rmr.set_trace(NULL, (const unsigned char *)"x", 1), 0);
    CHECK_EQUAL(rmr.payload_size(NULL), -1);
    CHECK_EQUAL(rmr.ready(NULL), 0);
    rmr.free_msg(NULL);
    rmr.free_msg(message);
}

void test_misuse(void) { join(start((struct actor){.run = misuse_run, .port = free_port()}), 20); }

// --- timeouts ---------------------------------------------------------------------------------

static void timeouts_run(void *context, const struct actor *self) {
    (void)self;
    CHECK(rmr.torcv_msg(context, NULL, 0) == NULL);
    rmr_mbuf_t *message = rmr.alloc_msg(context, 100);
    CHECK(rmr.torcv_msg(context, message, 0) == message);
    CHECK_STATE(message, RMR_ERR_TIMEOUT);
    for (int time = 30; time <= 1200; time += 1170) {
        const double begin = milliseconds();
        CHECK(rmr.torcv_msg(context, message, time) == message);
        const double passed = milliseconds() - begin;
        CHECK_STATE(message, RMR_ERR_TIMEOUT);
        CHECK_EQUAL(message->tp_state, ETIMEDOUT);
        CHECK_EQUAL(message->len, 0);
        CHECK(passed >= time - 2.0);
        CHECK(passed < time + 1000.0);
    }
    rmr.free_msg(message);
}

void test_timeouts(void) {
    join(start((struct actor){.run = timeouts_run, .port = free_port()}), 20);
}

// --- one port, one application ----------------------------------------------------------------

static void port_in_use_run(void *context, const struct actor *self) {
    (void)context;
    char port[16] = "";
    for (long rest = self->argument, at = 0, unit = 10000; unit > 0; unit /= 10) {
        port[at++] = (char)('0' + rest / unit % 10);
    }
    CHECK(rmr.init(port, 1000, 0) == NULL);
}

void test_port_in_use(void) {
    const int port = free_port();
    start((struct actor){.run = count_types, .port = port});
    join(start((struct actor){.run = port_in_use_run, .port = port, .manual = 1, .argument = port}),
         20);
}
