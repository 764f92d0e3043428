// Which endpoints a message goes to.
#include <errno.h>
#include <stddef.h>

#include "harness.h"

#define RECEIVERS 4

// What the sender of a test sends: `count` messages of each type.
struct burst {
    int type;
    int sub_id;
    int count;
    int expected;  // the state
    const char *meid;
};
static const struct burst *bursts;

static void send_bursts(void *context, const struct actor *self) {
    (void)self;
    for (const struct burst *burst = bursts; burst->count > 0; ++burst) {
        rmr_mbuf_t *message = NULL;
        for (int number = 0; number < burst->count; ++number) {
            message = prepare(context, message, burst->type, burst->sub_id, 0, number, 100);
            if (burst->meid != NULL) {
                rmr.str2meid(message, (const unsigned char *)burst->meid);
            }
            message = send_patiently(context, message, 5);
            CHECK_STATE(message, burst->expected);
            if (burst->expected != RMR_OK) CHECK_EQUAL(errno, ENXIO);
        }
        rmr.free_msg(message);
    }
}

static int ports[RECEIVERS];

static void start_receivers(void) {
    for (int i = 0; i < RECEIVERS; ++i) {
        ports[i] = free_port();
        start((struct actor){.run = count_types, .index = i, .port = ports[i]});
    }
}

static void send_all(const struct burst *what, const char *routes, int port) {
    bursts = what;
    join(start((struct actor){.run = send_bursts, .port = port, .table = routes}), 30);
}

// Receiver `index` got `expected` of the messages of type 1000 + `type`; nothing more comes after
// what the sender sent, because each receiver also gets a last message of type 1007.
#define EXPECT(index, type, expected) CHECK_EQUAL(board->count[index][type], expected)

// A table with the given routes and one by which each receiver gets the last message.
static const char *with_last(const char *routes) {
    return table("%s\nrte|1007|127.0.0.1:%d;127.0.0.1:%d;127.0.0.1:%d;127.0.0.1:%d", routes,
                 ports[0], ports[1], ports[2], ports[3]);
}

static void wait_for_last(void) {
    for (int i = 0; i < RECEIVERS; ++i) WAIT_FOR(board->count[i][7] == 1, 10);
}

// ';' separates groups: each gets a copy. ',' separates endpoints of a group: they take turns.
void test_groups(void) {
    start_receivers();
    static const struct burst what[] = {{1000, -1, 60, RMR_OK, NULL},
                                        {1001, -1, 10, RMR_OK, NULL},
                                        {1007, -1, 1, RMR_OK, NULL},
                                        {0}};
    const char *routes =
        with_last(text("rte | 1000 | 127.0.0.1:%d,127.0.0.1:%d;127.0.0.1:%d # two groups\n"
                       "# the new form of a record\n"
                       "mse | 1001 | -1 | 127.0.0.1:%d",
                       ports[0], ports[1], ports[2], ports[3]));
    send_all(what, routes, free_port());
    wait_for_last();
    EXPECT(0, 0, 30);
    EXPECT(1, 0, 30);
    EXPECT(2, 0, 60);
    EXPECT(3, 0, 0);
    EXPECT(3, 1, 10);
    EXPECT(0, 1, 0);
}

void test_round_robin(void) {
    start_receivers();
    static const struct burst what[] = {
        {1000, -1, 400, RMR_OK, NULL}, {1007, -1, 1, RMR_OK, NULL}, {0}};
    const char *routes =
        with_last(text("rte|1000|127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", ports[0],
                       ports[1], ports[2], ports[3]));
    send_all(what, routes, free_port());
    wait_for_last();
    for (int i = 0; i < RECEIVERS; ++i) EXPECT(i, 0, 100);
}

// The subscription's own route comes first, then the type's for any subscription.
void test_sub_ids(void) {
    start_receivers();
    static const struct burst what[] = {{1000, -1, 3, RMR_OK, NULL},
                                        {1000, 7, 4, RMR_OK, NULL},
                                        {1000, 8, 5, RMR_OK, NULL},
                                        {1000, 9, 6, RMR_OK, NULL},
                                        {1001, 7, 1, RMR_OK, NULL},
                                        {1001, -1, 1, RMR_ERR_NOENDPT, NULL},
                                        {1001, 8, 1, RMR_ERR_NOENDPT, NULL},
                                        {1007, 12, 1, RMR_OK, NULL},
                                        {0}};
    const char *routes =
        with_last(text("rte|1000|127.0.0.1:%d\n"
                       "rte|1000|127.0.0.1:%d|7\n"
                       "mse|1000|8|127.0.0.1:%d\n"
                       "mse|1001|7|127.0.0.1:%d",
                       ports[0], ports[1], ports[2], ports[3]));
    send_all(what, routes, free_port());
    wait_for_last();
    EXPECT(0, 0, 3 + 6);
    EXPECT(1, 0, 4);
    EXPECT(2, 0, 5);
    EXPECT(3, 1, 1);
}

// Records for named senders hold for these alone; the later record of a type wins.
void test_sender_filter(void) {
    start_receivers();
    static const struct burst what[] = {{1000, -1, 5, RMR_OK, NULL},
                                        {1001, -1, 1, RMR_ERR_NOENDPT, NULL},
                                        {1002, -1, 5, RMR_OK, NULL},
                                        {1007, -1, 1, RMR_OK, NULL},
                                        {0}};
    const int us = free_port();
    const char *routes = text(
        "rte|1000|127.0.0.1:%d\n"
        "rte|1000,127.0.0.1:1,example:2|127.0.0.1:%d\n"
        "rte|1001,127.0.0.1:1|127.0.0.1:%d\n"
        "rte|1002|127.0.0.1:%d\n"
        "rte|1002,127.0.0.1:1,127.0.0.1:%d|127.0.0.1:%d",
        ports[0], ports[1], ports[1], ports[0], us, ports[2]);
    send_all(what, with_last(routes), us);
    wait_for_last();
    EXPECT(0, 0, 5);
    EXPECT(1, 0, 0);
    EXPECT(1, 1, 0);
    EXPECT(0, 2, 0);
    EXPECT(2, 2, 5);
}

// An application does not send to itself by a route that names it among others.
void test_hairpin(void) {
    start_receivers();
    static const struct burst what[] = {{1000, -1, 10, RMR_OK, NULL},
                                        {1001, -1, 10, RMR_OK, NULL},
                                        {1002, -1, 1, RMR_ERR_NOENDPT, NULL},
                                        {1007, -1, 1, RMR_OK, NULL},
                                        {0}};
    const int us = free_port();
    const char *routes = text(
        "rte|1000|127.0.0.1:%d,127.0.0.1:%d\n"
        "rte|1001|127.0.0.1:%d;127.0.0.1:%d\n"
        "rte|1002|127.0.0.1:%d",
        us, ports[0], us, ports[1], us);
    send_all(what, with_last(routes), us);
    wait_for_last();
    EXPECT(0, 0, 10);
    EXPECT(1, 1, 10);
}

// The owner of a managed element gets what is for it.
void test_meid(void) {
    start_receivers();
    static const struct burst what[] = {{1000, -1, 3, RMR_OK, "gnb-a"},
                                        {1000, -1, 4, RMR_OK, "gnb-b"},
                                        {1000, -1, 5, RMR_OK, "gnb-c"},
                                        {1000, 99, 2, RMR_OK, "gnb-c"},
                                        {1000, -1, 1, RMR_ERR_NOENDPT, "gnb-unknown"},
                                        {1007, -1, 1, RMR_OK, NULL},
                                        {0}};
    const char *routes = text(
        "%smeid_map|start\n"
        "mme_ar|127.0.0.1:%d|gnb-a gnb-b\n"
        "mme_ar|127.0.0.1:%d|gnb-c\n"
        "meid_map|end|2\n",
        with_last("mse|1000|-1|%meid"), ports[1], ports[2]);
    send_all(what, routes, free_port());
    wait_for_last();
    EXPECT(1, 0, 7);
    EXPECT(2, 0, 7);
    EXPECT(0, 0, 0);
}

static void no_route_run(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = prepare(context, NULL, 1234, -1, 1, 0, 100);
    for (int i = 0; i < 3; ++i) {
        rmr_mbuf_t *back = rmr.send_msg(context, message);
        // The message stays with the caller as it was.
        CHECK(back == message);
        CHECK_STATE(message, RMR_ERR_NOENDPT);
        CHECK_EQUAL(errno, ENXIO);
        CHECK_EQUAL(message->tp_state, ENXIO);
        CHECK_EQUAL(message->mtype, 1234);
        CHECK_EQUAL(message->len, 100);
        struct content content;
        CHECK(is_whole(message, &content));
    }
    rmr.free_msg(message);
}

void test_no_route(void) {
    const char *routes = table("rte|1000|127.0.0.1:1");
    join(start((struct actor){.run = no_route_run, .port = free_port(), .table = routes}), 20);
    // Without any table it is not ready, and says the same.
    join(start((struct actor){.run = no_route_run, .port = free_port()}), 20);
}
