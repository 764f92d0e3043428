/* Every message can be accounted for: what was accepted was written or is counted as dropped, what
 * was refused its sender was told, what came was taken or is counted as lost. Under load from
 * several threads, to several groups, to queues that are full, to peers that go. */
#include <arpa/inet.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "check.h"

enum { THREADS = 3, EACH = 3000, GROUPS = 3, LIVES = 6 };
enum { TO_ALL = 10, TO_FULL = 11, TO_MORTAL = 12, NOWHERE = 99 };

static void *sender;
static atomic_long told_ok, told_retry, told_other;

static rmr_tx_counts_t sent(void) {
    rmr_tx_counts_t counts;
    CHECK(rmr_get_tx_counts(sender, &counts) == 0);
    return counts;
}

static uint64_t dropped(const rmr_tx_counts_t *counts) {
    return counts->dropped_copy + counts->dropped_connection + counts->dropped_closed;
}

/* Waits until nothing is under way. */
static rmr_tx_counts_t settled(void) {
    rmr_tx_counts_t counts = sent();
    for (int i = 0; i < SOON && counts.accepted != counts.written + dropped(&counts); i++) {
        poll(NULL, 0, 1);
        counts = sent();
    }
    CHECK(counts.accepted == counts.written + dropped(&counts));
    return counts;
}

static uint64_t lost(void *context) {
    rmr_rx_counts_t counts;
    CHECK(rmr_get_rx_counts(context, &counts) == 0);
    CHECK(counts.connections == 0);
    return counts.malformed + counts.too_long + counts.late_reply + counts.queue_full +
           counts.no_memory;
}

struct sink {
    void *context;
    atomic_int stop;
    long got;
    pthread_t thread;
};

static void *sinking(void *argument) {
    struct sink *sink = argument;
    rmr_mbuf_t *message = NULL;
    while (1) {
        const int last = sink->stop;
        message = rmr_torcv_msg(sink->context, message, last ? 300 : 20);
        if (message != NULL && message->state == RMR_OK) {
            sink->got++;
        } else if (last) {
            break;
        }
    }
    rmr_free_msg(message);
    return NULL;
}

static void start(struct sink *sink) {
    CHECK(pthread_create(&sink->thread, NULL, sinking, sink) == 0);
}

static void stop(struct sink *sink) {
    sink->stop = 1;
    CHECK(pthread_join(sink->thread, NULL) == 0);
}

static void *sending(void *argument) {
    const int type = *(int *)argument;
    rmr_mbuf_t *message = rmr_alloc_msg(sender, 0);
    for (int i = 0; i < EACH; i++) {
        message = rmr_send_msg(sender, filled(message, type, "counted"));
        CHECK(message != NULL);
        if (message->state == RMR_OK) {
            told_ok++;
        } else if (message->state == RMR_ERR_RETRY) {
            told_retry++;
        } else {
            told_other++;
        }
        if (i % 500 == 0) {
            poll(NULL, 0, 1);
        }
    }
    rmr_free_msg(message);
    return NULL;
}

static void send_from_threads(int type) {
    told_ok = told_retry = told_other = 0;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, sending, &type) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(told_ok + told_retry + told_other == THREADS * EACH);
}

/* Two groups are there, the third is not: each message is three copies, of which one is lost. */
static void fan_out(struct sink *a, struct sink *b) {
    start(a);
    start(b);
    send_from_threads(TO_ALL);
    const rmr_tx_counts_t counts = settled();
    stop(a);
    stop(b);
    /* Nobody but the dead endpoint is in the way of a message that both sinks refused. */
    CHECK(told_other == 0 && told_ok > 0);
    CHECK(counts.accepted == (uint64_t)told_ok * GROUPS);
    CHECK(counts.refused + counts.refused_retry == (uint64_t)told_retry * GROUPS);
    CHECK(counts.dropped_copy >= (uint64_t)told_ok && counts.dropped_connection == 0);
    CHECK(rmr_tx_dropped(sender) == counts.dropped_copy);
    CHECK((uint64_t)(a->got + b->got) + lost(a->context) + lost(b->context) == counts.written);
}

/* Nobody reads until everybody was told to try again. */
static void full_queue(struct sink *full) {
    const rmr_tx_counts_t before = sent();
    rmr_mbuf_t *message = rmr_alloc_msg(sender, 60000);
    long ok = 0, retry = 0;
    while (retry < 50) {
        message->mtype = TO_FULL;
        message->sub_id = -1;
        message->len = 60000;
        message = rmr_mtosend_msg(sender, message, 0);
        CHECK(message->state == RMR_OK || message->state == RMR_ERR_RETRY);
        *(message->state == RMR_OK ? &ok : &retry) += 1;
    }
    rmr_tx_counts_t counts = sent();
    CHECK(counts.accepted - before.accepted == (uint64_t)ok);
    CHECK(counts.refused_retry - before.refused_retry == (uint64_t)retry);
    start(full);
    counts = settled();
    stop(full);
    CHECK(dropped(&counts) == dropped(&before));
    CHECK((uint64_t)full->got + lost(full->context) == counts.written - before.written);
    rmr_free_msg(message);
}

struct mortal {
    const char *port;
    atomic_int stop;
    uint64_t got;
};

/* Comes and goes while it is sent to. */
static void *living(void *argument) {
    struct mortal *mortal = argument;
    for (int life = 0; life < LIVES && !mortal->stop; life++) {
        void *context = rmr_init((char *)mortal->port, 1024, RMRFL_NOTHREAD);
        CHECK(context != NULL);
        rmr_mbuf_t *message = NULL;
        for (int i = 0; i < 700 && !mortal->stop; i++) {
            message = rmr_torcv_msg(context, message, 5);
            mortal->got += message != NULL && message->state == RMR_OK;
        }
        rmr_free_msg(message);
        rmr_close(context);
        rmr_rx_counts_t counts;
        CHECK(rmr_get_rx_counts(context, &counts) == 0);
        CHECK(counts.taken - counts.unread <= mortal->got);
        poll(NULL, 0, 3);
    }
    return NULL;
}

static void peers_that_go(const char *port) {
    const rmr_tx_counts_t before = sent();
    struct mortal mortal = {.port = port};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, living, &mortal) == 0);
    send_from_threads(TO_MORTAL);
    mortal.stop = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    const rmr_tx_counts_t counts = settled();
    CHECK(counts.accepted - before.accepted == (uint64_t)told_ok);
    CHECK(counts.refused_retry - before.refused_retry == (uint64_t)told_retry);
    CHECK(counts.refused - before.refused == (uint64_t)told_other);
    /* What the kernel held for the dead is the difference. */
    CHECK(mortal.got <= counts.written - before.written);
}

/* By raw TCP: one message too long, one malformed, and a length that is none. */
static void strangers(struct sink *sink, const char *name) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(strrchr(name, ':') + 1)),
                             .sin_addr.s_addr = inet_addr(own_address())};
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(descriptor, (struct sockaddr *)&at, sizeof at) == 0);
    static unsigned char octets[100 * 1024];
    const uint32_t claims[] = {sizeof octets, 60, 10};
    for (unsigned i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        memset(octets, 0, sizeof octets);
        memcpy(octets, &claims[i], sizeof claims[i]);
        CHECK(send(descriptor, octets, claims[i], MSG_NOSIGNAL) == (ssize_t)claims[i]);
    }
    rmr_rx_counts_t counts;
    for (int i = 0; i < SOON; i++) {
        CHECK(rmr_torcv_msg(sink->context, NULL, 1) == NULL);
        CHECK(rmr_get_rx_counts(sink->context, &counts) == 0);
        if (counts.connections == 1) {
            break;
        }
    }
    CHECK(counts.too_long == 1 && counts.malformed == 1 && counts.connections == 1);
    CHECK(counts.taken == (uint64_t)sink->got);
    close(descriptor);
}

static void no_route(void) {
    const rmr_tx_counts_t before = sent();
    rmr_mbuf_t *message = rmr_alloc_msg(sender, 0);
    message = rmr_send_msg(sender, filled(message, NOWHERE, "nowhere"));
    CHECK(message->state == RMR_ERR_NOENDPT);
    const rmr_tx_counts_t counts = sent();
    CHECK(counts.refused_no_route == before.refused_no_route + 1);
    CHECK(counts.accepted == before.accepted && counts.refused == before.refused);
    rmr_free_msg(message);
    CHECK(rmr_get_tx_counts(NULL, NULL) == EINVAL && rmr_get_rx_counts(sender, NULL) == EINVAL);
}

/* What no receiver with the same settings takes is refused here, not lost there. */
static void too_long(void) {
    const rmr_tx_counts_t before = sent();
    rmr_mbuf_t *message = rmr_alloc_msg(sender, 100000);
    message->mtype = TO_ALL;
    message->len = 100000;
    message = rmr_send_msg(sender, message);
    CHECK(message->state == RMR_ERR_OVERFLOW && errno == EMSGSIZE && message->len == 100000);
    const rmr_tx_counts_t counts = sent();
    CHECK(counts.accepted == before.accepted);
    rmr_free_msg(message);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    common_environment();
    setenv("RMR_LOG_VLEVEL", "0", 1);
    setenv("COREWIRE_RMR_MAX_MESSAGE", "65536", 1);
    set_routes(arguments[1], "newrt|start\nnewrt|end\n");
    struct sink a = {.context = open_context(NULL)}, b = {.context = open_context(NULL)};
    struct sink full = {.context = open_context(NULL)};
    void *probe = open_context(NULL);
    char a_name[RMR_MAX_SRC], b_name[RMR_MAX_SRC], full_name[RMR_MAX_SRC], mortal[RMR_MAX_SRC];
    name_of(a.context, a_name);
    name_of(b.context, b_name);
    name_of(full.context, full_name);
    name_of(probe, mortal);
    rmr_close(probe);
    char table[1024];
    snprintf(table, sizeof(table),
             "newrt|start\nmse|%d|-1|%s;%s;127.0.0.1:1\nmse|%d|-1|%s\nmse|%d|-1|%s\nnewrt|end|3\n",
             TO_ALL, a_name, b_name, TO_FULL, full_name, TO_MORTAL, mortal);
    set_routes(arguments[1], table);
    sender = open_context(NULL);

    fan_out(&a, &b);
    full_queue(&full);
    peers_that_go(strrchr(mortal, ':') + 1);
    no_route();
    too_long();
    strangers(&a, a_name);
    const rmr_tx_counts_t before = settled();
    rmr_close(sender);
    const rmr_tx_counts_t after = settled();
    CHECK(after.accepted == before.accepted && dropped(&after) == dropped(&before));
    rmr_close(a.context);
    rmr_close(b.context);
    rmr_close(full.context);
    puts("ok");
    return 0;
}
