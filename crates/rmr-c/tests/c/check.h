/* What the programs of these tests share: checks that end the program, and contexts on loopback. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rmr/rmr.h>
#include <rmr/rmr_corewire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

/* Anything that is waited for comes within this, in milliseconds. */
enum { SOON = 20000 };

/* Routes of the contexts that are opened from now on. */
static inline void set_routes(const char *folder, const char *text) {
    char path[512];
    snprintf(path, sizeof(path), "%s/routes", folder);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
    setenv("RMR_SEED_RT", path, 1);
}

/* A context at a port that the system chooses, or at `port`. */
static inline void *open_context(const char *port) {
    char text[32];
    snprintf(text, sizeof(text), "%s", port == NULL ? "0" : port);
    void *context = rmr_init(text, 1024, RMRFL_NONE);
    CHECK(context != NULL);
    for (int i = 0; i < SOON && !rmr_ready(context); i++) {
        poll(NULL, 0, 1);
    }
    CHECK(rmr_ready(context));
    return context;
}

/* Its name, "address:port". */
static inline void name_of(void *context, char name[RMR_MAX_SRC]) {
    rmr_mbuf_t *message = rmr_alloc_msg(context, 0);
    CHECK(message != NULL);
    CHECK(rmr_get_src(message, (unsigned char *)name) != NULL);
    rmr_free_msg(message);
}

static inline rmr_mbuf_t *filled(rmr_mbuf_t *message, int type, const char *text) {
    message->mtype = type;
    message->sub_id = -1;
    rmr_str2payload(message, (const unsigned char *)text);
    CHECK(message->state == RMR_OK);
    return message;
}

/* An address of the loopback that no other of these programs has while it runs: a port that was
 * free a moment ago is free. */
static inline const char *own_address(void) {
    static char own[32];
    if (own[0] == 0) {
        unsigned me = (unsigned)getpid();
        snprintf(own, sizeof(own), "127.82.%u.%u", me >> 8 & 255, me & 255);
    }
    return own;
}

static inline void common_environment(void) {
    setenv("RMR_BIND_IF", own_address(), 1);
    setenv("RMR_SRC_ID", own_address(), 1);
    setenv("RMR_RTG_SVC", "-1", 1);
    setenv("RMR_LOG_VLEVEL", "1", 1);
    /* What sends until it is told to try again must come to that, however slow the machine is. */
    setenv("COREWIRE_RMR_HOLD_UNREAD", "-1", 1);
}

#endif
