/* A sender that dies right after a burst, without a word: whatever it was told RMR_OK for arrives,
 * once and in order. The kernel has it by then. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"

enum { TYPE = 10, THREADS = 2, BURST = 2000, LARGE = 60000, ENOUGH_RETRIES = 20 };

enum death { LEAVES, KILLED };

/* Of both processes: messages that each thread was told RMR_OK for, and whether all threads are
 * through. */
static struct shared {
    atomic_int ok[THREADS];
    atomic_int through;
} * shared;

static void *sender;
static int size;

static void *bursting(void *argument) {
    const int thread = *(int *)argument;
    rmr_mbuf_t *message = rmr_alloc_msg(sender, LARGE);
    for (int retries = 0; shared->ok[thread] < BURST && retries < ENOUGH_RETRIES;) {
        const int next[2] = {thread, shared->ok[thread]};
        message->mtype = TYPE;
        message->sub_id = -1;
        message->len = size;
        memcpy(message->payload, next, sizeof next);
        message = rmr_mtosend_msg(sender, message, 0);
        if (message->state == RMR_OK) {
            shared->ok[thread]++;
        } else if (message->state == RMR_ERR_RETRY) {
            retries++;
        } else {
            /* The receiver is not there yet. */
            CHECK(message->state == RMR_ERR_NOENDPT && shared->ok[thread] == 0);
            poll(NULL, 0, 1);
        }
    }
    shared->through++;
    while (1) {
        pause();
    }
}

static pid_t dying_sender(enum death death) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) {
        return child;
    }
    sender = open_context(NULL);
    static int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, bursting, &numbers[i]) == 0);
    }
    while (shared->through < THREADS) {
        sched_yield();
    }
    if (death == KILLED) {
        raise(SIGKILL);
    }
    _exit(0);
}

/* Has a sender of such messages die; only then receives. */
static void burst(const char *port, int octets, enum death death) {
    size = octets;
    memset(shared, 0, sizeof *shared);
    const pid_t child = dying_sender(death);
    /* Whoever opened a context must not fork: this one was not yet. */
    void *receiver = rmr_init((char *)port, 1024, RMRFL_NOTHREAD);
    CHECK(receiver != NULL);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(death == KILLED ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    int next[THREADS] = {0};
    int left = 0;
    for (int i = 0; i < THREADS; i++) {
        left += shared->ok[i];
    }
    CHECK(left > 0);
    rmr_mbuf_t *message = NULL;
    for (; left > 0; left--) {
        message = rmr_torcv_msg(receiver, message, 1000);
        CHECK(message != NULL && message->state == RMR_OK && message->len == size);
        int got[2];
        memcpy(got, message->payload, sizeof got);
        CHECK(got[0] >= 0 && got[0] < THREADS && got[1] == next[got[0]]);
        next[got[0]]++;
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(next[i] == shared->ok[i]);
    }
    message = rmr_torcv_msg(receiver, message, 50);
    CHECK(message == NULL || message->state == RMR_ERR_TIMEOUT);
    rmr_free_msg(message);
    rmr_close(receiver);
}

/* In a process of its own, as it forks. */
static void in_a_process(const char *port, int octets, enum death death) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        burst(port, octets, death);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    common_environment();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    const char port[] = "24560";
    char table[256];
    snprintf(table, sizeof(table), "newrt|start\nmse|%d|-1|%s:%s\nnewrt|end|1\n", TYPE,
             own_address(), port);
    set_routes(arguments[1], table);
    for (enum death death = LEAVES; death <= KILLED; death++) {
        in_a_process(port, 100, death);
        in_a_process(port, 1000, death);
        /* More than the kernel holds: some are refused, and the last it has in part. */
        in_a_process(port, LARGE, death);
    }
    puts("ok");
    return 0;
}
