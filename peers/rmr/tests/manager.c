// Route tables that come from a route manager while the application runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define TABLE_DATA 20
#define TABLE_REQUEST 21
#define TABLE_STATE 22

// Orders to the application: send one message.
enum { ORDER, DONE, TYPE, SUB_ID, STATE, ACCEPTED, REFUSED, LOAD };

static int receivers[2];
static int manager_port;
static void (*scenario)(void *manager, rmr_whid_t application);

static void obey(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = NULL;
    int number = 0;
    while (!board->stop) {
        if (board->value[LOAD]) {
            message = prepare(context, message, 1000, -1, 1, ++number, 200);
            message = send_patiently(context, message, 5);
            ++board->value[message->state == RMR_OK ? ACCEPTED : REFUSED];
            // A receiver that drops what it cannot hold holds this.
            while (board->value[LOAD] && !board->stop &&
                   board->value[ACCEPTED] - board->count[0][0] - board->count[1][0] > 1000) {
                pause_microseconds(100);
            }
        } else if (board->value[ORDER] > board->value[DONE]) {
            message = prepare(context, message, (int)board->value[TYPE], (int)board->value[SUB_ID],
                              1, ++number, 200);
            rmr.str2meid(message, (const unsigned char *)board->text[0]);
            message = send_patiently(context, message, 5);
            board->value[STATE] = message->state;
            ++board->value[DONE];
        } else {
            pause_microseconds(100);
        }
    }
}

// Has the application send a message; which receiver has it then: 0 or 1, -1 for no endpoint.
static int goes_to(int type, int sub_id, const char *meid) {
    long before[2];
    for (int i = 0; i < 2; ++i) before[i] = board->count[i][type % 8];
    board->value[TYPE] = type;
    board->value[SUB_ID] = sub_id;
    snprintf(board->text[0], sizeof board->text[0], "%s", meid);
    ++board->value[ORDER];
    WAIT_FOR(board->value[DONE] == board->value[ORDER], 10);
    if (board->value[STATE] == RMR_ERR_NOENDPT) return -1;
    CHECK_EQUAL(board->value[STATE], RMR_OK);
    WAIT_FOR(board->count[0][type % 8] + board->count[1][type % 8] > before[0] + before[1], 10);
    return board->count[1][type % 8] > before[1];
}

static void give(void *manager, rmr_whid_t application, const char *records) {
    rmr_mbuf_t *message = rmr.alloc_msg(manager, (int)strlen(records) + 1);
    const double end = milliseconds() + 5000;
    do {
        message->mtype = TABLE_DATA;
        message->sub_id = -1;
        message->len = (int)strlen(records);
        memcpy(message->payload, records, strlen(records));
        message = rmr.wh_send_msg(manager, application, message);
    } while (message->state == RMR_ERR_RETRY && milliseconds() < end);
    CHECK_STATE(message, RMR_OK);
    rmr.free_msg(message);
}

// Waits for what the application says of a table: "OK id" or "ERR id".
static void expect_state(void *manager, const char *expected) {
    rmr_mbuf_t *message = NULL;
    const double end = milliseconds() + 10000;
    while (1) {
        message = rmr.torcv_msg(manager, message, 100);
        if (milliseconds() > end) die(__FILE__, __LINE__, "no '%s' from the application", expected);
        if (message == NULL || message->state != RMR_OK || message->mtype != TABLE_STATE) continue;
        if (strncmp((char *)message->payload, expected, strlen(expected)) != 0) {
            die(__FILE__, __LINE__, "the application says '%.*s', expected '%s'", message->len,
                (char *)message->payload, expected);
        }
        rmr.free_msg(message);
        return;
    }
}

static void manage(void *manager, const struct actor *self) {
    (void)self;
    ++board->value[PLACES - 1];
    // The application asks for a table. It listens for one where the request says it comes from.
    rmr_mbuf_t *message = NULL;
    unsigned char address[RMR_MAX_SRC] = "";
    while (address[0] == '\0') {
        message = rmr.torcv_msg(manager, message, 15000);
        CHECK(message != NULL);
        CHECK_STATE(message, RMR_OK);
        if (message->mtype == TABLE_REQUEST) rmr.get_src(message, address);
    }
    rmr.free_msg(message);
    const rmr_whid_t application = rmr.wh_open(manager, (char *)address);
    CHECK(RMR_WH_CONNECTED(application));
    scenario(manager, application);
}

static void run_scenario(void (*what)(void *, rmr_whid_t)) {
    scenario = what;
    for (int i = 0; i < 2; ++i) {
        receivers[i] = free_port();
        start((struct actor){.run = count_types, .index = i, .port = receivers[i]});
    }
    manager_port = free_port();
    const pid_t manager = start((struct actor){.run = manage, .port = manager_port});
    start((struct actor){.run = obey,
                         .port = free_port(),
                         .manager = text("127.0.0.1:%d", manager_port),
                         .control = text("%d", free_port())});
    join(manager, 60);
}

#define TO(receiver) receivers[receiver]

// --- whole tables -----------------------------------------------------------------------------

static void live_table(void *manager, rmr_whid_t application) {
    CHECK_EQUAL(goes_to(1000, -1, ""), -1);
    give(manager, application,
         text("newrt|start|first\nmse|1000|-1|127.0.0.1:%d\nnewrt|end|1\n", TO(0)));
    expect_state(manager, "OK first");
    CHECK_EQUAL(goes_to(1000, -1, ""), 0);

    // In several messages, and without a count.
    give(manager, application, "newrt | start | second\n");
    give(manager, application, text("mse | 1000 | -1 | 127.0.0.1:%d\n", TO(1)));
    CHECK_EQUAL(goes_to(1000, -1, ""), 0);
    give(manager, application, text("rte | 1001 | 127.0.0.1:%d\nnewrt | end\n", TO(0)));
    expect_state(manager, "OK second");
    CHECK_EQUAL(goes_to(1000, -1, ""), 1);
    CHECK_EQUAL(goes_to(1001, -1, ""), 0);

    // A new table replaces the old one: what it does not name is gone.
    give(manager, application,
         text("newrt|start|third\nmse|1000|5|127.0.0.1:%d\nnewrt|end|1\n", TO(0)));
    expect_state(manager, "OK third");
    CHECK_EQUAL(goes_to(1001, -1, ""), -1);
    CHECK_EQUAL(goes_to(1000, 5, ""), 0);
    CHECK_EQUAL(goes_to(1000, -1, ""), -1);
}

void test_live_table(void) { run_scenario(live_table); }

// --- bad tables -------------------------------------------------------------------------------

static void bad_tables(void *manager, rmr_whid_t application) {
    give(manager, application,
         text("newrt|start|good\nmse|1000|-1|127.0.0.1:%d\nnewrt|end|1\n", TO(0)));
    expect_state(manager, "OK good");

    // The count says that something got lost.
    give(manager, application,
         text("newrt|start|short\nmse|1000|-1|127.0.0.1:%d\nnewrt|end|2\n", TO(1)));
    expect_state(manager, "ERR short");
    CHECK_EQUAL(goes_to(1000, -1, ""), 0);

    // A table that never ends is given up by the next one.
    give(manager, application, text("newrt|start|endless\nmse|1000|-1|127.0.0.1:%d\n", TO(1)));
    give(manager, application,
         text("newrt|start|next\nmse|1000|-1|127.0.0.1:%d\nnewrt|end|1\n", TO(1)));
    expect_state(manager, "ERR endless");
    expect_state(manager, "OK next");
    CHECK_EQUAL(goes_to(1000, -1, ""), 1);

    // No table at all.
    give(manager, application, "\n\n||||\nhello\nnewrt\nmse\nrte|\nmse|||\n\x01\xff|\x80\n");
    CHECK_EQUAL(goes_to(1000, -1, ""), 1);
    give(manager, application,
         text("newrt|start|last\nmse|1000|-1|127.0.0.1:%d\nnewrt|end|1\n", TO(0)));
    // What comes before it may have been refused, too.
    rmr_mbuf_t *message = NULL;
    WAIT_FOR((message = rmr.torcv_msg(manager, message, 1000)) != NULL &&
                 message->state == RMR_OK && strncmp((char *)message->payload, "OK last", 7) == 0,
             10);
    rmr.free_msg(message);
    CHECK_EQUAL(goes_to(1000, -1, ""), 0);
}

void test_bad_tables(void) { run_scenario(bad_tables); }

// --- increments -------------------------------------------------------------------------------

static void incremental_tables(void *manager, rmr_whid_t application) {
    give(manager, application,
         text("newrt|start|base\nmse|1000|-1|127.0.0.1:%d\nmse|1001|-1|127.0.0.1:%d\nnewrt|end|2\n",
              TO(0), TO(0)));
    expect_state(manager, "OK base");
    give(manager, application,
         text("updatert|start|more\nmse|1001|-1|127.0.0.1:%d\nmse|1002|-1|127.0.0.1:%d\n"
              "updatert|end|2\n",
              TO(1), TO(1)));
    expect_state(manager, "OK more");
    CHECK_EQUAL(goes_to(1000, -1, ""), 0);
    CHECK_EQUAL(goes_to(1001, -1, ""), 1);
    CHECK_EQUAL(goes_to(1002, -1, ""), 1);

    give(manager, application, "updatert|start|less\ndel|1001|-1\nupdatert|end|1\n");
    expect_state(manager, "OK less");
    CHECK_EQUAL(goes_to(1001, -1, ""), -1);
    CHECK_EQUAL(goes_to(1002, -1, ""), 1);

    give(manager, application, "updatert|start|wrong\ndel|1000|-1\nupdatert|end|3\n");
    expect_state(manager, "ERR wrong");
    CHECK_EQUAL(goes_to(1000, -1, ""), 0);
}

void test_incremental_tables(void) { run_scenario(incremental_tables); }

// --- managed elements -------------------------------------------------------------------------

static void live_meids(void *manager, rmr_whid_t application) {
    give(manager, application, "newrt|start|meids\nmse|1000|-1|%meid\nnewrt|end|1\n");
    expect_state(manager, "OK meids");
    CHECK_EQUAL(goes_to(1000, -1, "gnb-a"), -1);
    give(manager, application,
         text("meid_map|start|map1\nmme_ar|127.0.0.1:%d|gnb-a gnb-b\nmme_ar|127.0.0.1:%d|gnb-c\n"
              "meid_map|end|2\n",
              TO(0), TO(1)));
    expect_state(manager, "OK map1");
    CHECK_EQUAL(goes_to(1000, -1, "gnb-a"), 0);
    CHECK_EQUAL(goes_to(1000, -1, "gnb-c"), 1);

    // Moved and deleted; the others stay.
    give(manager, application,
         text("meid_map|start|map2\nmme_ar|127.0.0.1:%d|gnb-a\nmme_del|gnb-c\nmeid_map|end|2\n",
              TO(1)));
    expect_state(manager, "OK map2");
    CHECK_EQUAL(goes_to(1000, -1, "gnb-a"), 1);
    CHECK_EQUAL(goes_to(1000, -1, "gnb-b"), 0);
    CHECK_EQUAL(goes_to(1000, -1, "gnb-c"), -1);

    // A new table keeps who owns what.
    give(manager, application, "newrt|start|again\nmse|1000|-1|%meid\nnewrt|end|1\n");
    expect_state(manager, "OK again");
    CHECK_EQUAL(goes_to(1000, -1, "gnb-b"), 0);
}

void test_live_meids(void) { run_scenario(live_meids); }

// --- swapped under load -----------------------------------------------------------------------

#define SWAPS 30

static void swapped_under_load(void *manager, rmr_whid_t application) {
    for (int swap = 0; swap < SWAPS; ++swap) {
        const double begin = milliseconds();
        give(manager, application,
             text("newrt|start|swap%d\nmse|1000|-1|127.0.0.1:%d\nmse|1001|-1|127.0.0.1:%d\n"
                  "newrt|end|2\n",
                  swap, TO(swap % 2), TO(0)));
        expect_state(manager, text("OK swap%d", swap));
        if (swap == 0) {
            CHECK_EQUAL(goes_to(1001, -1, ""), 0);
            board->value[LOAD] = 1;
        }
        // Both get their share: each table is used before the next one comes.
        const long before = board->count[swap % 2][0];
        WAIT_FOR(board->count[swap % 2][0] > before + 20, 10);
        while (milliseconds() - begin < 100) pause_microseconds(500);
    }
    board->value[LOAD] = 0;
    // One order more: when it is done, the load has ended.
    CHECK_EQUAL(goes_to(1001, -1, ""), 0);
    CHECK_EQUAL(board->value[REFUSED], 0);
    WAIT_FOR(board->count[0][0] + board->count[1][0] == board->value[ACCEPTED], 10);
}

void test_swapped_under_load(void) { run_scenario(swapped_under_load); }
