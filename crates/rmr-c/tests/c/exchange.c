/* Messages between contexts of one process: routes, replies, wormholes, pressure, loss. */
#include "check.h"

static rmr_mbuf_t *received(void *context, rmr_mbuf_t *old, const char *text) {
    rmr_mbuf_t *message = rmr_torcv_msg(context, old, SOON);
    CHECK(message != NULL && message->state == RMR_OK);
    CHECK(strcmp((char *)message->payload, text) == 0);
    CHECK(message->len == (int)strlen(text) + 1);
    return message;
}

static rmr_mbuf_t *sent(void *context, rmr_mbuf_t *message) {
    message = rmr_send_msg(context, message);
    CHECK(message != NULL && message->state == RMR_OK);
    return message;
}

static void there_and_back(void *a, void *b) {
    unsigned char name[RMR_MAX_SRC];
    unsigned char own[RMR_MAX_SRC];
    rmr_mbuf_t *out = filled(rmr_alloc_msg(a, 0), 10, "question");
    rmr_str2xact(out, (unsigned char *)"x1");
    rmr_str2meid(out, (unsigned char *)"m1");
    out->sub_id = 7;
    rmr_set_trace(out, (unsigned char *)"trace", 6);
    out = sent(a, out);
    CHECK(out->mtype == -1 && out->len == 0 && rmr_payload_size(out) >= 1024);

    rmr_mbuf_t *in = received(b, NULL, "question");
    CHECK(in->mtype == 10 && in->sub_id == 7 && strcmp((char *)in->xaction, "x1") == 0);
    CHECK(rmr_get_trlen(in) == 6);
    unsigned char meid[RMR_MAX_MEID];
    CHECK(strcmp((char *)rmr_get_meid(in, meid), "m1") == 0);
    name_of(a, (char *)own);
    CHECK(strcmp((char *)rmr_get_src(in, name), (char *)own) == 0);

    /* A reply may be larger than the question, and may be sent twice. */
    in = rmr_realloc_payload(in, 100000, RMR_NO_COPY, RMR_NO_CLONE);
    CHECK(in != NULL);
    memset(in->payload, 'r', 99999);
    in->payload[99999] = 0;
    in->len = 100000;
    in->mtype = 11;
    in = rmr_rts_msg(b, in);
    CHECK(in != NULL && in->state == RMR_OK);
    in = rmr_rts_msg(b, filled(in, 12, "again"));
    CHECK(in != NULL && in->state == RMR_OK);
    out = rmr_torcv_msg(a, out, SOON);
    CHECK(out->state == RMR_OK && out->mtype == 11 && out->len == 100000);
    CHECK(strcmp((char *)out->xaction, "x1") == 0 && out->payload[99998] == 'r');
    out = received(a, out, "again");

    /* Nothing more. */
    rmr_mbuf_t *same = rmr_torcv_msg(a, out, 0);
    CHECK(same == out && same->state == RMR_ERR_TIMEOUT && same->len == 0);
    same = rmr_torcv_msg(a, out, 20);
    CHECK(same == out && same->state == RMR_ERR_TIMEOUT);
    CHECK(rmr_torcv_msg(a, NULL, 1) == NULL);
    rmr_free_msg(out);
    rmr_free_msg(in);
}

static void refusals(void *a) {
    rmr_mbuf_t *message = filled(rmr_alloc_msg(a, 0), 999, "nowhere");
    message = rmr_send_msg(a, message);
    CHECK(message->state == RMR_ERR_NOENDPT && errno == ENXIO && message->tp_state == ENXIO);
    CHECK(message->mtype == 999 && strcmp((char *)message->payload, "nowhere") == 0);
    /* Nobody listens at the endpoint of this type. */
    message->mtype = 13;
    message = rmr_send_msg(a, message);
    CHECK(message->state == RMR_ERR_NOENDPT && errno == ENXIO);
    message->mtype = 10;
    message->len = rmr_payload_size(message) + 1;
    message = rmr_send_msg(a, message);
    CHECK(message->state == RMR_ERR_OVERFLOW);
    message->len = -1;
    CHECK(rmr_send_msg(a, message)->state == RMR_ERR_OVERFLOW);
    rmr_free_msg(message);
}

static void groups(void *a, void *b, void *c) {
    /* To one of {b, c} in turn, and to c always. */
    rmr_mbuf_t *message = rmr_alloc_msg(a, 0);
    for (int i = 0; i < 4; i++) {
        message = sent(a, filled(message, 14, "all"));
    }
    rmr_mbuf_t *in = NULL;
    for (int i = 0; i < 2; i++) {
        in = received(b, in, "all");
    }
    for (int i = 0; i < 6; i++) {
        in = received(c, in, "all");
    }
    CHECK(rmr_torcv_msg(b, in, 20)->state == RMR_ERR_TIMEOUT);
    CHECK(rmr_torcv_msg(c, in, 20)->state == RMR_ERR_TIMEOUT);
    rmr_free_msg(in);
    rmr_free_msg(message);
}

static void large(void *a, void *b) {
    enum { LARGE = 8 << 20 };
    rmr_mbuf_t *out = rmr_alloc_msg(a, LARGE);
    for (int i = 0; i < LARGE; i++) {
        out->payload[i] = (unsigned char)(i * 7);
    }
    out->mtype = 10;
    out->len = LARGE;
    out = sent(a, out);
    /* Where nobody reads yet there is no room for another. */
    out = rmr_send_msg(a, filled(out, 10, "behind it"));
    const int refused = out->state == RMR_ERR_RETRY;
    CHECK(refused || out->state == RMR_OK);
    rmr_mbuf_t *in = rmr_torcv_msg(b, NULL, SOON);
    CHECK(in->state == RMR_OK && in->len == LARGE);
    if (refused) {
        out = sent(a, out);
    }
    for (int i = 0; i < LARGE; i++) {
        CHECK(in->payload[i] == (unsigned char)(i * 7));
    }
    in = received(b, in, "behind it");
    rmr_free_msg(in);
    rmr_free_msg(out);
}

static void wormholes(void *a, void *b) {
    char name[RMR_MAX_SRC];
    name_of(b, name);
    rmr_whid_t hole = rmr_wh_open(a, name);
    CHECK(RMR_WH_CONNECTED(hole) && rmr_wh_open(a, name) == hole);
    CHECK(rmr_wh_state(a, hole) == RMR_OK && rmr_wh_state(a, hole + 1) == RMR_ERR_WHID);
    rmr_mbuf_t *message = filled(rmr_alloc_msg(a, 0), 77, "through");
    message = rmr_wh_send_msg(a, hole, message);
    CHECK(message->state == RMR_OK);
    rmr_mbuf_t *in = received(b, NULL, "through");
    CHECK(in->mtype == 77);
    rmr_wh_close(a, hole);
    CHECK(rmr_wh_send_msg(a, hole, message)->state == RMR_ERR_WHID);
    CHECK(rmr_wh_open(a, "127.0.0.1:1") == -1 && errno == ECONNREFUSED);
    rmr_free_msg(in);
    rmr_free_msg(message);
}

static void others_are_kept(void *a, void *b) {
    rmr_mbuf_t *out = rmr_alloc_msg(a, 0);
    out = sent(a, filled(out, 10, "one"));
    out = sent(a, filled(out, 10, "two"));
    filled(out, 10, "three");
    rmr_str2xact(out, (unsigned char *)"wanted");
    out = sent(a, out);
    rmr_mbuf_t *in = rmr_rcv_specific(b, NULL, (char *)"wanted", 5);
    CHECK(in != NULL && strcmp((char *)in->payload, "three") == 0);
    in = received(b, in, "one");
    in = received(b, in, "two");
    rmr_free_msg(in);
    rmr_free_msg(out);
}

/* Who does not read holds the sender back, and nothing is lost. */
static void pressure(void *a, void *b) {
    int accepted = 0;
    rmr_mbuf_t *out = rmr_alloc_msg(a, 4096);
    for (;;) {
        out->mtype = 10;
        out->sub_id = -1;
        out->len = 4096;
        memcpy(out->payload, &accepted, sizeof(accepted));
        out = rmr_send_msg(a, out);
        if (out->state != RMR_OK) {
            break;
        }
        accepted++;
        CHECK(accepted < 10000000);
    }
    CHECK(out->state == RMR_ERR_RETRY && errno == EAGAIN && out->mtype == 10);
    rmr_mbuf_t *in = NULL;
    for (int i = 0; i < accepted; i++) {
        int number;
        in = rmr_torcv_msg(b, in, SOON);
        CHECK(in->state == RMR_OK);
        memcpy(&number, in->payload, sizeof(number));
        CHECK(number == i);
    }
    CHECK(rmr_torcv_msg(b, in, 20)->state == RMR_ERR_TIMEOUT);
    CHECK(rmr_tx_dropped(a) == 0);
    rmr_free_msg(in);
    rmr_free_msg(out);
}

static void descriptor(void *a, void *c) {
    struct pollfd ready = {.fd = rmr_get_rcvfd(c), .events = POLLIN};
    CHECK(ready.fd >= 0 && rmr_get_rcvfd(c) == ready.fd);
    CHECK(poll(&ready, 1, 20) == 0);
    rmr_mbuf_t *out = rmr_alloc_msg(a, 0);
    for (int i = 0; i < 3; i++) {
        out = sent(a, filled(out, 15, "told"));
    }
    rmr_mbuf_t *in = NULL;
    for (int i = 0; i < 3; i++) {
        CHECK(poll(&ready, 1, SOON) == 1);
        in = received(c, in, "told");
    }
    CHECK(poll(&ready, 1, 20) == 0);
    CHECK(rmr_torcv_msg(c, in, 0)->state == RMR_ERR_TIMEOUT);
    rmr_free_msg(in);
    rmr_free_msg(out);
}

/* A program that reads the descriptor as well, once a message, before or after or both, or until
 * nothing is in it, is told of every message all the same. */
static void descriptor_that_is_read(void *a, void *c) {
    enum { BEFORE = 1, AFTER = 2, DRAIN = 4, MANY = 60 };
    struct pollfd ready = {.fd = rmr_get_rcvfd(c), .events = POLLIN};
    const int habits[] = {BEFORE, AFTER, BEFORE | AFTER, DRAIN, DRAIN | AFTER, 0};
    rmr_mbuf_t *out = rmr_alloc_msg(a, 0);
    rmr_mbuf_t *in = NULL;
    for (unsigned habit = 0; habit < sizeof habits / sizeof habits[0]; habit++) {
        for (int i = 0; i < MANY; i++) {
            out = sent(a, filled(out, 15, "told"));
        }
        for (int i = 0; i < MANY; i++) {
            uint64_t count;
            CHECK(poll(&ready, 1, SOON) == 1);
            if (habits[habit] & BEFORE) {
                CHECK(read(ready.fd, &count, sizeof count) == sizeof count && count == 1);
            }
            while (habits[habit] & DRAIN && read(ready.fd, &count, sizeof count) > 0) {
            }
            in = received(c, in, "told");
            if (habits[habit] & AFTER) {
                (void)!read(ready.fd, &count, sizeof count);
            }
        }
        CHECK(rmr_torcv_msg(c, in, 0)->state == RMR_ERR_TIMEOUT);
        CHECK(poll(&ready, 1, 0) == 0);
    }
    rmr_free_msg(in);
    rmr_free_msg(out);
}

/* What was accepted is written when a context closes, also what was only gathered. */
static void closing(void *a, void *b, const char *folder) {
    enum { MANY = 1000 };
    (void)folder;
    rmr_mbuf_t *out = rmr_alloc_msg(a, 0);
    for (int i = 0; i < MANY; i++) {
        out = sent(a, filled(out, 10, "last words"));
    }
    rmr_close(a);
    CHECK(rmr_send_msg(a, filled(out, 10, "too late"))->state != RMR_OK);
    rmr_mbuf_t *in = NULL;
    for (int i = 0; i < MANY; i++) {
        in = received(b, in, "last words");
    }
    CHECK(rmr_torcv_msg(a, NULL, 0) == NULL);
    rmr_free_msg(in);
    rmr_free_msg(out);
    rmr_close(a);
}

/* A peer that goes and comes back: sends fail meanwhile, and work again after. */
static void coming_back(void *b, void *c, const char *port) {
    rmr_mbuf_t *out = filled(rmr_alloc_msg(b, 0), 16, "before");
    out = sent(b, out);
    rmr_mbuf_t *in = received(c, NULL, "before");
    rmr_close(c);
    int failed = 0;
    for (int i = 0; i < SOON && !failed; i++) {
        out = rmr_send_msg(b, filled(out, 16, "into the void"));
        failed = out->state != RMR_OK;
        poll(NULL, 0, 1);
    }
    CHECK(failed);
    c = open_context(port);
    int again = 0;
    for (int i = 0; i < SOON && !again; i++) {
        out = rmr_send_msg(b, filled(out, 16, "after"));
        again = out->state == RMR_OK;
        poll(NULL, 0, 1);
    }
    CHECK(again);
    in = received(c, in, "after");
    rmr_free_msg(in);
    rmr_free_msg(out);
    rmr_close(c);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    const char *folder = arguments[1];
    common_environment();
    char b_name[RMR_MAX_SRC];
    char c_name[RMR_MAX_SRC];
    char table[2048];
    set_routes(folder, "newrt|start\nnewrt|end\n");
    void *c = open_context(NULL);
    name_of(c, c_name);
    snprintf(table, sizeof(table), "newrt|start\nrte|16|%s\nnewrt|end|1\n", c_name);
    set_routes(folder, table);
    void *b = open_context(NULL);
    name_of(b, b_name);
    snprintf(table, sizeof(table),
             "newrt|start\n"
             "mse|10|-1|%s\n"
             "mse|13|-1|127.0.0.1:1\n"
             "mse|14|-1|%s,%s;%s\n"
             "mse|15|-1|%s\n"
             "newrt|end|4\n",
             b_name, b_name, c_name, c_name, c_name);
    set_routes(folder, table);
    void *a = open_context(NULL);

    there_and_back(a, b);
    refusals(a);
    groups(a, b, c);
    large(a, b);
    wormholes(a, b);
    others_are_kept(a, b);
    pressure(a, b);
    descriptor(a, c);
    descriptor_that_is_read(a, c);
    closing(a, b, folder);
    set_routes(folder, "newrt|start\nnewrt|end\n");
    coming_back(b, c, strchr(c_name, ':') + 1);
    rmr_close(b);
    puts("ok");
    return 0;
}
