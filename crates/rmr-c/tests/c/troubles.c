/* What must go on when something else is in the way: unread messages, forks, no descriptors. */
#include <fcntl.h>
#include <rmr/RIC_message_types.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"

enum { CALLERS = 4, CALLS = 50, FLOOD = 6000 };

static void *caller_context;

/* Answers each call; "flood" with many messages before the answer, "end" ends it. */
static void *answering(void *context) {
    rmr_mbuf_t *message = NULL;
    rmr_mbuf_t *other = rmr_alloc_msg(context, 0);
    for (;;) {
        message = rmr_torcv_msg(context, message, SOON);
        CHECK(message != NULL && message->state == RMR_OK);
        if (strcmp((char *)message->payload, "end") == 0) {
            break;
        }
        if (strcmp((char *)message->payload, "flood") == 0) {
            for (int i = 0; i < FLOOD; i++) {
                do {
                    other = rmr_send_msg(context, filled(other, 40, "unread"));
                    CHECK(other != NULL);
                } while (other->state == RMR_ERR_RETRY);
                CHECK(other->state == RMR_OK);
            }
        }
        message->mtype++;
        message = rmr_rts_msg(context, message);
        CHECK(message != NULL && message->state == RMR_OK);
    }
    rmr_free_msg(other);
    rmr_free_msg(message);
    return NULL;
}

/* All use rmr_call, which has no number of the program's. */
static void *calling(void *argument) {
    int me = *(int *)argument;
    char text[64];
    rmr_mbuf_t *message = rmr_alloc_msg(caller_context, 0);
    for (int i = 0; i < CALLS; i++) {
        snprintf(text, sizeof(text), "%d/%d", me, i);
        message = rmr_call(caller_context, filled(message, 20, text));
        CHECK(message != NULL && message->state == RMR_OK && message->mtype == 21);
        CHECK(strcmp((char *)message->payload, text) == 0);
    }
    rmr_free_msg(message);
    return NULL;
}

static void call(const char *text) {
    rmr_mbuf_t *message = rmr_alloc_msg(caller_context, 0);
    message = rmr_mt_call(caller_context, filled(message, 20, text), 7, SOON);
    CHECK(message != NULL && message->state == RMR_OK && message->mtype == 21);
    rmr_free_msg(message);
}

/* The queue is full, and stays so: calls go on, and what is dropped is counted. */
static void calls_beside_unread_messages(void) {
    for (int i = 0; i < 3; i++) {
        call("flood");
        call("after");
    }
    rmr_rx_debug_t counts;
    CHECK(rmr_get_rx_debug_info(caller_context, &counts) == 0);
    CHECK(counts.drop > 0 && counts.drop <= 3 * FLOOD);
    rmr_mbuf_t *message = NULL;
    int unread = 0;
    while ((message = rmr_torcv_msg(caller_context, message, 100))->state == RMR_OK) {
        unread++;
    }
    CHECK(unread + (int)counts.drop == 3 * FLOOD);
    rmr_free_msg(message);
}

/* Whoever watches alarms is told of the drops, once. */
static void an_alarm(void *alarms) {
    rmr_mbuf_t *message = rmr_torcv_msg(alarms, NULL, SOON);
    CHECK(message != NULL && message->state == RMR_OK);
    CHECK(message->mtype == RIC_ALARM && message->sub_id == -1);
    char text[2048];
    snprintf(text, sizeof text, "%.*s", message->len, (char *)message->payload);
    CHECK(strstr(text, "\"applicationId\": \"program\"") != NULL);
    CHECK(strstr(text, "\"AlarmAction\": \"RAISE\"") != NULL);
    CHECK(rmr_torcv_msg(alarms, message, 600)->state == RMR_ERR_TIMEOUT);
    rmr_free_msg(message);
}

/* A child that exits leaves the parent's contexts alone: what waits in them is written once. */
static void a_child_that_exits(void *sink) {
    rmr_mbuf_t *message = rmr_alloc_msg(caller_context, 0);
    int accepted = 0;
    do {
        message = rmr_send_msg(caller_context, filled(message, 50, "many"));
        CHECK(message != NULL);
        accepted += message->state == RMR_OK;
    } while (message->state == RMR_OK);
    CHECK(message->state == RMR_ERR_RETRY);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(10);
        exit(0);
    }
    rmr_mbuf_t *received = NULL;
    for (; accepted > 0; accepted--) {
        received = rmr_torcv_msg(sink, received, SOON);
        CHECK(received != NULL && received->state == RMR_OK && received->mtype == 50);
    }
    received = rmr_torcv_msg(sink, received, 500);
    CHECK(received != NULL && received->state == RMR_ERR_TIMEOUT);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    rmr_rx_debug_t counts;
    CHECK(rmr_get_rx_debug_info(sink, &counts) == 0 && counts.drop == 0);
    rmr_free_msg(received);
    rmr_free_msg(message);
}

/* Descriptors run out and come back while messages keep coming: a new peer gets in. */
static void accepting_goes_on(void *server, void *peer) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int used = open("/dev/null", O_RDONLY);
    CHECK(used >= 0);
    char name[RMR_MAX_SRC];
    name_of(server, name);
    /* Room for one more: the peer's own end. */
    struct rlimit few = limit;
    few.rlim_cur = (rlim_t)used + 1;
    CHECK(close(used) == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    rmr_whid_t hole = rmr_wh_open(peer, name);
    rmr_mbuf_t *message = NULL;
    message = rmr_torcv_msg(server, message, 50);
    CHECK(message == NULL || message->state == RMR_ERR_TIMEOUT);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (!RMR_WH_CONNECTED(hole)) {
        hole = rmr_wh_open(peer, name);
    }
    CHECK(RMR_WH_CONNECTED(hole));
    rmr_mbuf_t *sent = rmr_alloc_msg(peer, 0);
    sent = rmr_wh_send_msg(peer, hole, filled(sent, 60, "late"));
    CHECK(sent != NULL && sent->state == RMR_OK);
    message = rmr_torcv_msg(server, message, SOON);
    CHECK(message != NULL && message->state == RMR_OK && message->mtype == 60);
    rmr_free_msg(message);
    rmr_free_msg(sent);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    common_environment();
    setenv("RMR_LOG_VLEVEL", "0", 1);
    char name[RMR_MAX_SRC];
    char table[512];
    set_routes(arguments[1], "newrt|start\nnewrt|end\n");
    void *sink = open_context(NULL);
    name_of(sink, name);
    /* The server's route to the caller is by a port that is chosen before the caller opens. */
    void *probe = open_context(NULL);
    char caller_name[RMR_MAX_SRC];
    name_of(probe, caller_name);
    rmr_close(probe);
    const char *port = strrchr(caller_name, ':') + 1;
    snprintf(table, sizeof(table), "newrt|start\nmse|40|-1|%s\nnewrt|end|1\n", caller_name);
    set_routes(arguments[1], table);
    void *server = open_context(NULL);
    char server_name[RMR_MAX_SRC];
    name_of(server, server_name);
    snprintf(table, sizeof(table), "newrt|start\nmse|20|-1|%s\nmse|50|-1|%s\nnewrt|end|2\n",
             server_name, name);
    set_routes(arguments[1], table);
    /* The alarm manager is one that the caller does not route to. */
    void *alarms = open_context(NULL);
    char alarms_name[RMR_MAX_SRC];
    name_of(alarms, alarms_name);
    setenv("ALARM_MGR_SERVICE_NAME", own_address(), 1);
    setenv("ALARM_MGR_SERVICE_PORT", strrchr(alarms_name, ':') + 1, 1);
    caller_context = open_context(port);
    pthread_t answerer;
    CHECK(pthread_create(&answerer, NULL, answering, server) == 0);

    pthread_t threads[CALLERS];
    int ids[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        ids[i] = i;
        CHECK(pthread_create(&threads[i], NULL, calling, &ids[i]) == 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    calls_beside_unread_messages();
    an_alarm(alarms);
    /* The same when a thread of the library's receives. */
    CHECK(rmr_get_rcvfd(caller_context) >= 0);
    CHECK(rmr_reset_rx_debug_count(caller_context) == 0);
    calls_beside_unread_messages();
    a_child_that_exits(sink);
    rmr_mbuf_t *message = rmr_alloc_msg(caller_context, 0);
    message = rmr_send_msg(caller_context, filled(message, 20, "end"));
    CHECK(message->state == RMR_OK);
    rmr_free_msg(message);
    CHECK(pthread_join(answerer, NULL) == 0);
    accepting_goes_on(server, sink);
    rmr_close(alarms);
    rmr_close(caller_context);
    rmr_close(server);
    rmr_close(sink);
    puts("ok");
    return 0;
}
