/* A name server that is there and never answers: sends to names fail in time, and nobody else
 * waits. To be run where 127.0.0.1, port 53, is the system's name server and nobody's. */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "check.h"

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *context;

/* Sends to a name that nobody knows, and to an address: the longest that either took. */
static void *asking(void *longest) {
    rmr_mbuf_t *message = rmr_alloc_msg(context, 0);
    for (int i = 0; i < 3; i++) {
        const double begin = seconds();
        message = rmr_send_msg(context, filled(message, 10, "whom?"));
        CHECK(message->state == RMR_ERR_NOENDPT && errno == ENXIO);
        const double took = seconds() - begin;
        *(double *)longest = took > *(double *)longest ? took : *(double *)longest;
    }
    rmr_free_msg(message);
    return NULL;
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int mute = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(bind(mute, (struct sockaddr *)&at, sizeof at) == 0);
    common_environment();
    setenv("RMR_LOG_VLEVEL", "0", 1);
    set_routes(arguments[1], "newrt|start\nnewrt|end\n");
    void *sink = open_context(NULL);
    char name[RMR_MAX_SRC], table[512];
    name_of(sink, name);
    snprintf(table, sizeof(table),
             "newrt|start\nmse|10|-1|nowhere.example:4560\nmse|11|-1|%s\nnewrt|end|2\n", name);
    set_routes(arguments[1], table);
    context = open_context(NULL);

    double longest = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, asking, &longest) == 0);
    /* It is asked: so that is what is waited for. */
    char octets[512];
    const struct timeval wait = {.tv_sec = SOON / 1000};
    CHECK(setsockopt(mute, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0);
    CHECK(recv(mute, octets, sizeof octets, 0) > 0);
    /* Meanwhile others are sent to. */
    const double begin = seconds();
    rmr_mbuf_t *message = filled(rmr_alloc_msg(context, 0), 11, "there");
    message = rmr_send_msg(context, message);
    CHECK(message->state == RMR_OK);
    rmr_mbuf_t *received = rmr_torcv_msg(sink, NULL, SOON);
    CHECK(received != NULL && received->state == RMR_OK);
    CHECK(seconds() - begin < 4);
    CHECK(pthread_join(thread, NULL) == 0);
    /* The resolver alone would try for 5 s or more. */
    CHECK(longest < 4);
    rmr_free_msg(message);
    rmr_free_msg(received);
    rmr_close(context);
    rmr_close(sink);
    puts("ok");
    return 0;
}
