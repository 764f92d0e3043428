/* Calls: one after the other, from many threads, in time and too late. */
#include "check.h"

enum { THREADS = 4, CALLS = 200 };

static void *caller_context;

/* Answers each call with what it was asked; "silence" not at all, "end" ends it. */
static void *answering(void *context) {
    rmr_mbuf_t *message = NULL;
    for (;;) {
        message = rmr_torcv_msg(context, message, SOON);
        CHECK(message != NULL && message->state == RMR_OK);
        if (strcmp((char *)message->payload, "end") == 0) {
            break;
        }
        if (strcmp((char *)message->payload, "silence") != 0) {
            message->mtype++;
            message = rmr_rts_msg(context, message);
            CHECK(message != NULL && message->state == RMR_OK);
        }
    }
    rmr_free_msg(message);
    return NULL;
}

static void *calling(void *argument) {
    int call_id = *(int *)argument;
    char text[64];
    /* The reply is the next request: as much our own message as a fresh one. */
    rmr_mbuf_t *message = rmr_alloc_msg(caller_context, 0);
    for (int i = 0; i < CALLS; i++) {
        snprintf(text, sizeof(text), "%d/%d", call_id, i);
        filled(message, 20, text);
        rmr_str2xact(message, (unsigned char *)text);
        message = rmr_mt_call(caller_context, message, call_id, SOON);
        CHECK(message != NULL && message->state == RMR_OK && message->mtype == 21);
        CHECK(strcmp((char *)message->payload, text) == 0);
        CHECK(strcmp((char *)message->xaction, text) == 0);
    }
    rmr_free_msg(message);
    return NULL;
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    common_environment();
    char name[RMR_MAX_SRC];
    char table[512];
    set_routes(arguments[1], "newrt|start\nnewrt|end\n");
    void *server = open_context(NULL);
    name_of(server, name);
    snprintf(table, sizeof(table), "newrt|start\nmse|20|-1|%s\nnewrt|end|1\n", name);
    set_routes(arguments[1], table);
    caller_context = open_context(NULL);
    pthread_t answerer;
    CHECK(pthread_create(&answerer, NULL, answering, server) == 0);

    pthread_t threads[THREADS];
    int ids[THREADS];
    for (int i = 0; i < THREADS; i++) {
        ids[i] = 2 + i;
        CHECK(pthread_create(&threads[i], NULL, calling, &ids[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }

    rmr_mbuf_t *message = filled(rmr_alloc_msg(caller_context, 0), 20, "silence");
    CHECK(rmr_mt_call(caller_context, message, 9, 30) == NULL && errno == ETIMEDOUT);
    message = filled(rmr_alloc_msg(caller_context, 0), 20, "plain");
    message = rmr_call(caller_context, message);
    CHECK(message != NULL && message->state == RMR_OK && message->mtype == 21);

    rmr_whid_t hole = rmr_wh_open(caller_context, name);
    CHECK(hole >= 0);
    message = rmr_wh_call(caller_context, hole, filled(message, 30, "hole"), 5, SOON);
    CHECK(message != NULL && message->state == RMR_OK && message->mtype == 31);

    message = rmr_call(caller_context, filled(message, 999, "nowhere"));
    CHECK(message != NULL && message->state == RMR_ERR_NOENDPT);
    message = rmr_send_msg(caller_context, filled(message, 20, "end"));
    CHECK(message->state == RMR_OK);
    CHECK(pthread_join(answerer, NULL) == 0);
    rmr_rx_debug_t counts;
    CHECK(rmr_get_rx_debug_info(caller_context, &counts) == 0);
    CHECK(counts.enqueue == THREADS * CALLS + 2 && counts.drop == 0);
    CHECK(rmr_reset_rx_debug_count(caller_context) == 0);
    CHECK(rmr_get_rx_debug_info(caller_context, &counts) == 0 && counts.enqueue == 0);
    rmr_free_msg(message);
    rmr_close(caller_context);
    rmr_close(server);
    puts("ok");
    return 0;
}
