/* What is closed, and what was large, is given back. */
#include <dirent.h>

#include "check.h"

enum { CYCLES = 1000, WARM_UP = 200, TYPE = 10, HUGE_ONE = 48 << 20 };

static int entries(const char *folder) {
    DIR *opened = opendir(folder);
    CHECK(opened != NULL);
    int found = 0;
    while (readdir(opened) != NULL) {
        found++;
    }
    closedir(opened);
    return found;
}

/* Octets that the process holds. */
static long resident(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL);
    long all, here;
    CHECK(fscanf(file, "%ld %ld", &all, &here) == 2);
    fclose(file);
    return here * sysconf(_SC_PAGESIZE);
}

/* As a program uses a context: with routes, a descriptor, a message to itself that comes, a call.
 */
static void cycle(void) {
    void *context = rmr_init("0", 1024, RMRFL_NONE);
    CHECK(context != NULL && rmr_get_rcvfd(context) >= 0);
    rmr_mbuf_t *message = filled(rmr_alloc_msg(context, 0), TYPE, "nowhere");
    CHECK(rmr_mt_call(context, message, 7, 1)->state == RMR_ERR_NOENDPT);
    rmr_free_msg(message);
    rmr_close(context);
    /* It is over, and says so. */
    CHECK(rmr_torcv_msg(context, NULL, 0) == NULL);
    /* Its threads end by themselves. */
    for (int i = 0; i < SOON && entries("/proc/self/task") > 3; i++) {
        poll(NULL, 0, 1);
    }
}

static void contexts(void) {
    for (int i = 0; i < WARM_UP; i++) {
        cycle();
    }
    const int descriptors = entries("/proc/self/fd");
    const long before = resident();
    for (int i = 0; i < CYCLES; i++) {
        cycle();
    }
    CHECK(entries("/proc/self/fd") == descriptors);
    /* The context itself stays, emptied: programs call after they closed. */
    const long grown = (resident() - before) / CYCLES;
    if (grown >= 4096) {
        fprintf(stderr, "%ld octets for each context\n", grown);
    }
    CHECK(grown < 4096);
}

/* A receiver that goes on with its buffer, after one message that is huge. */
static void a_huge_message(const char *folder) {
    set_routes(folder, "newrt|start\nnewrt|end\n");
    void *receiver = open_context(NULL);
    char name[RMR_MAX_SRC], table[256];
    name_of(receiver, name);
    snprintf(table, sizeof(table), "newrt|start\nmse|%d|-1|%s\nnewrt|end|1\n", TYPE, name);
    set_routes(folder, table);
    void *sender = open_context(NULL);
    rmr_mbuf_t *got = NULL;
    const long before = resident();
    for (int round = 0; round < 2; round++) {
        rmr_mbuf_t *message = rmr_alloc_msg(sender, HUGE_ONE);
        message->mtype = TYPE;
        message->len = HUGE_ONE;
        memset(message->payload, 1, HUGE_ONE);
        do {
            message = rmr_send_msg(sender, message);
        } while (message->state == RMR_ERR_RETRY);
        CHECK(message->state == RMR_OK);
        rmr_free_msg(message);
        got = rmr_torcv_msg(receiver, got, SOON);
        CHECK(got->state == RMR_OK && got->len == HUGE_ONE);
        message = rmr_alloc_msg(sender, 0);
        for (int i = 0; i < 100; i++) {
            message = rmr_send_msg(sender, filled(message, TYPE, "small"));
            CHECK(message->state == RMR_OK);
            got = rmr_torcv_msg(receiver, got, SOON);
            CHECK(got->state == RMR_OK && strcmp((char *)got->payload, "small") == 0);
        }
        rmr_free_msg(message);
    }
    const long kept = resident() - before;
    if (kept >= HUGE_ONE / 8) {
        fprintf(stderr, "%ld octets are kept\n", kept);
    }
    CHECK(kept < HUGE_ONE / 8);
    rmr_free_msg(got);
    rmr_close(sender);
    rmr_close(receiver);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    common_environment();
    setenv("RMR_LOG_VLEVEL", "0", 1);
    a_huge_message(arguments[1]);
    set_routes(arguments[1], "newrt|start\nmse|11|-1|127.0.0.1:1\nnewrt|end\n");
    contexts();
    puts("ok");
    return 0;
}
