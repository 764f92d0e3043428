/* Shared memory between processes: it is used, its ends may be killed, and idle it costs nothing.
 * Children are forked before the library has begun anything, and wait until they are told to. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

enum { MANY = 20000, SENDERS = 3, MEMORY_TYPE = 70 };

struct child {
    pid_t pid;
    int tell;
    int hear;
};

static char own_port[16], their_port[16];

static void free_port(char port[16]) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = inet_addr(own_address());
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
    snprintf(port, 16, "%d", ntohs(address.sin_port));
    CHECK(close(fd) == 0);
}

/* How many memories this process has mapped. */
static int memories(void) {
    char line[1024];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL) {
        count += strstr(line, "memfd:corewire") != NULL;
    }
    CHECK(fclose(maps) == 0);
    return count;
}

static double cpu_seconds(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static struct child started(void (*body)(int told, int say, int argument), int argument) {
    int down[2], up[2];
    CHECK(pipe(down) == 0 && pipe(up) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(60);
        char go;
        CHECK(close(down[1]) == 0 && close(up[0]) == 0);
        if (read(down[0], &go, 1) == 1) {
            body(down[0], up[1], argument);
        }
        _exit(0);
    }
    CHECK(close(down[0]) == 0 && close(up[1]) == 0);
    return (struct child){pid, down[1], up[0]};
}

static void go(const struct child *child) { CHECK(write(child->tell, "g", 1) == 1); }

static void heard(const struct child *child) {
    char word;
    CHECK(read(child->hear, &word, 1) == 1);
}

static void killed(const struct child *child) {
    CHECK(kill(child->pid, SIGKILL) == 0);
    CHECK(waitpid(child->pid, NULL, 0) == child->pid);
}

/* Receives, and says so at the first message. */
static void receiving(int told, int say, int unused) {
    (void)told;
    (void)unused;
    void *context = open_context(their_port);
    CHECK(write(say, "r", 1) == 1);
    rmr_mbuf_t *message = NULL;
    for (int count = 0;; count++) {
        message = rmr_rcv_msg(context, message);
        CHECK(message != NULL && message->state == RMR_OK && message->mtype == MEMORY_TYPE);
        if (count == 0) {
            CHECK(memories() > 0);
            CHECK(write(say, "m", 1) == 1);
        }
    }
}

/* Sends MANY numbered messages, and then on and on until it is killed. */
static void sending(int told, int say, int me) {
    (void)told;
    void *context = open_context(NULL);
    rmr_mbuf_t *message = rmr_alloc_msg(context, 64);
    char text[64];
    for (int i = 0;; i++) {
        snprintf(text, sizeof(text), "%d/%d", me, i);
        do {
            message = rmr_send_msg(context, filled(message, MEMORY_TYPE + 1, text));
            CHECK(message != NULL);
        } while (message->state == RMR_ERR_RETRY);
        CHECK(message->state == RMR_OK);
        if (i == MANY) {
            CHECK(memories() > 0);
            CHECK(write(say, "m", 1) == 1);
        }
    }
}

static rmr_mbuf_t *sent_one(void *context, rmr_mbuf_t *message) {
    message = rmr_send_msg(context, filled(message, MEMORY_TYPE, "one"));
    CHECK(message != NULL);
    return message;
}

/* The receiver is killed: its sender is told soon, however fast it sends, and finds the next one.
 */
static void a_receiver_that_is_killed(void *context, struct child *first, struct child *second) {
    rmr_mbuf_t *message = rmr_alloc_msg(context, 64);
    go(first);
    heard(first);
    message = sent_one(context, message);
    CHECK(message->state == RMR_OK);
    heard(first);
    CHECK(memories() > 0);
    killed(first);
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        message = sent_one(context, message);
        clock_gettime(CLOCK_MONOTONIC, &now);
        CHECK(now.tv_sec - begin.tv_sec < 2);
    } while (message->state == RMR_OK || message->state == RMR_ERR_RETRY);
    CHECK(message->state == RMR_ERR_NOENDPT);
    CHECK(memories() == 0);

    go(second);
    heard(second);
    message = sent_one(context, message);
    CHECK(message->state == RMR_OK);
    heard(second);
    CHECK(memories() > 0);
    killed(second);
    rmr_free_msg(message);
}

/* Several senders: all come, in order; killed in the middle of it, their memories are let go. */
static void senders_that_are_killed(void *context, struct child *senders) {
    int next[SENDERS] = {0};
    rmr_mbuf_t *message = NULL;
    /* That towards a receiver which is gone may still be there: it is found out when it is used. */
    int before = memories();
    for (int i = 0; i < SENDERS; i++) {
        go(&senders[i]);
    }
    for (int done = 0; done < SENDERS;) {
        message = rmr_torcv_msg(context, message, SOON);
        CHECK(message != NULL && message->state == RMR_OK && message->mtype == MEMORY_TYPE + 1);
        int sender, number;
        CHECK(sscanf((char *)message->payload, "%d/%d", &sender, &number) == 2);
        CHECK(number == next[sender]);
        done += ++next[sender] == MANY;
    }
    CHECK(memories() == before + SENDERS);
    for (int i = 0; i < SENDERS; i++) {
        killed(&senders[i]);
    }
    do {
        message = rmr_torcv_msg(context, message, 200);
        CHECK(message != NULL);
    } while (message->state == RMR_OK);
    CHECK(message->state == RMR_ERR_TIMEOUT);
    CHECK(memories() == before);
    rmr_free_msg(message);
}

/* A receiver that waits, with a memory that nobody uses, sleeps. */
static void idle(void *context, void *other) {
    rmr_mbuf_t *message = rmr_alloc_msg(other, 64);
    rmr_mbuf_t *received = NULL;
    for (int i = 0; i < 100; i++) {
        message = rmr_send_msg(other, filled(message, MEMORY_TYPE + 1, "one"));
        CHECK(message->state == RMR_OK);
        received = rmr_torcv_msg(context, received, SOON);
        CHECK(received->state == RMR_OK);
    }
    CHECK(memories() > 0);
    double begin = cpu_seconds();
    received = rmr_torcv_msg(context, received, 1000);
    CHECK(received->state == RMR_ERR_TIMEOUT);
    CHECK(cpu_seconds() - begin < 0.2);
    rmr_free_msg(message);
    rmr_free_msg(received);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    common_environment();
    setenv("RMR_LOG_VLEVEL", "0", 1);
    setenv("COREWIRE_RMR_TRANSPORT", "shm", 1);
    free_port(own_port);
    do {
        free_port(their_port);
    } while (strcmp(own_port, their_port) == 0);
    char table[512];
    snprintf(table, sizeof(table), "newrt|start\nmse|%d|-1|%s:%s\nmse|%d|-1|%s:%s\nnewrt|end|2\n",
             MEMORY_TYPE, own_address(), their_port, MEMORY_TYPE + 1, own_address(), own_port);
    set_routes(arguments[1], table);
    struct child first = started(receiving, 0), second = started(receiving, 0);
    struct child senders[SENDERS];
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = started(sending, i);
    }
    void *context = open_context(own_port);
    a_receiver_that_is_killed(context, &first, &second);
    senders_that_are_killed(context, senders);
    void *other = open_context(NULL);
    idle(context, other);
    rmr_close(other);
    rmr_close(context);
    puts("ok");
    return 0;
}
