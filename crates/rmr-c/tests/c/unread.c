/* A program that does not take what comes: it holds its senders back for so long, and then what is
 * newest is dropped and counted, so that those who only send do not wait for each other for ever.
 */
#include <stdatomic.h>

#include "check.h"

enum { ASK = 10, ANSWER = 11, MANY = 25000, SIZE = 1000, RING = 4096 };

static atomic_int over;

static rmr_mbuf_t *of_size(rmr_mbuf_t *message, int type) {
    message->mtype = type;
    message->sub_id = -1;
    message->len = SIZE;
    return message;
}

/* Answers what it gets, and goes on trying. */
static void *answering(void *context) {
    rmr_mbuf_t *message = NULL;
    while (!over) {
        message = rmr_torcv_msg(context, message, 20);
        if (message == NULL || message->state != RMR_OK) {
            continue;
        }
        do {
            message->mtype = ANSWER;
            message = rmr_rts_msg(context, message);
        } while (message->state == RMR_ERR_RETRY && !over);
    }
    rmr_free_msg(message);
    return NULL;
}

static rmr_rx_counts_t received(void *context) {
    rmr_rx_counts_t counts;
    CHECK(rmr_get_rx_counts(context, &counts) == 0);
    return counts;
}

/* Questions that the server has dealt with: it is held back while it answers, and may drop some as
 * well. */
static uint64_t dealt_with(void *server) {
    rmr_tx_counts_t counts;
    CHECK(rmr_get_tx_counts(server, &counts) == 0);
    return counts.written + received(server).queue_full;
}

/* Asks without reading any answer; only then reads what is left. `hold`: NULL for what nobody sets.
 */
static void who_only_asks_is_answered(const char *folder, const char *hold, int by_descriptor) {
    unsetenv("COREWIRE_RMR_HOLD_UNREAD");
    if (hold != NULL) {
        setenv("COREWIRE_RMR_HOLD_UNREAD", hold, 1);
    }
    set_routes(folder, "newrt|start\nnewrt|end\n");
    void *server = open_context(NULL);
    char name[RMR_MAX_SRC], table[256];
    name_of(server, name);
    snprintf(table, sizeof(table), "newrt|start\nmse|%d|-1|%s\nnewrt|end|1\n", ASK, name);
    set_routes(folder, table);
    void *client = open_context(NULL);
    if (by_descriptor) {
        CHECK(rmr_get_rcvfd(client) >= 0);
    }
    pthread_t thread;
    over = 0;
    CHECK(pthread_create(&thread, NULL, answering, server) == 0);
    rmr_mbuf_t *message = rmr_alloc_msg(client, SIZE);
    for (int i = 0; i < MANY; i++) {
        do {
            message = rmr_send_msg(client, of_size(message, ASK));
        } while (message->state == RMR_ERR_RETRY);
        CHECK(message->state == RMR_OK);
    }
    for (int i = 0; i < SOON && dealt_with(server) < MANY; i++) {
        poll(NULL, 0, 1);
    }
    CHECK(dealt_with(server) == MANY);
    int got = 0;
    while ((message = rmr_torcv_msg(client, message, 300)) != NULL && message->state == RMR_OK) {
        got++;
    }
    const rmr_rx_counts_t counts = received(client);
    const uint64_t dropped = counts.queue_full + received(server).queue_full;
    CHECK(dropped > 0 && got >= RING && got + dropped == MANY);
    over = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    rmr_free_msg(message);
    rmr_close(client);
    rmr_close(server);
}

/* Its sender is told to try again, for as long as it takes nothing, and everything arrives. */
static void who_holds_back_loses_nothing(const char *folder) {
    setenv("COREWIRE_RMR_HOLD_UNREAD", "-1", 1);
    set_routes(folder, "newrt|start\nnewrt|end\n");
    void *receiver = open_context(NULL);
    char name[RMR_MAX_SRC], table[256];
    name_of(receiver, name);
    snprintf(table, sizeof(table), "newrt|start\nmse|%d|-1|%s\nnewrt|end|1\n", ASK, name);
    set_routes(folder, table);
    void *sender = open_context(NULL);
    rmr_mbuf_t *message = rmr_alloc_msg(sender, SIZE);
    int ok = 0;
    for (int refused = 0; refused < 300;) {
        message = rmr_send_msg(sender, of_size(message, ASK));
        CHECK(message->state == RMR_OK || message->state == RMR_ERR_RETRY);
        ok += message->state == RMR_OK;
        refused = message->state == RMR_OK ? 0 : refused + 1;
    }
    rmr_mbuf_t *got = NULL;
    for (int i = 0; i < ok; i++) {
        got = rmr_torcv_msg(receiver, got, SOON);
        CHECK(got != NULL && got->state == RMR_OK);
    }
    CHECK(received(receiver).queue_full == 0);
    rmr_free_msg(got);
    rmr_free_msg(message);
    rmr_close(sender);
    rmr_close(receiver);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    common_environment();
    setenv("RMR_LOG_VLEVEL", "0", 1);
    for (int by_descriptor = 0; by_descriptor < 2; by_descriptor++) {
        who_only_asks_is_answered(arguments[1], "0", by_descriptor);
        who_only_asks_is_answered(arguments[1], "100", by_descriptor);
    }
    who_only_asks_is_answered(arguments[1], NULL, 0);
    who_holds_back_loses_nothing(arguments[1]);
    puts("ok");
    return 0;
}
