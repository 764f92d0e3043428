#include "harness.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "main.h"

struct rmr_functions rmr;
struct board *board;

static const char *library_path;
static const char *peer_path;
static pid_t actors[256];
static int actor_count;
static int in_actor;

static void load_library(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) die(__FILE__, __LINE__, "cannot load the library: %s", dlerror());
    void *symbol;
    // POSIX has dlsym return functions as data pointers.
#define LOAD(name)                        \
    symbol = dlsym(handle, "rmr_" #name); \
    memcpy(&rmr.name, &symbol, sizeof symbol);
    RMR_FUNCTIONS(LOAD)
    LOAD(tx_dropped)
#undef LOAD
}

void harness_open(const char *library, const char *peer) {
    library_path = library;
    peer_path = peer != NULL ? peer : library;
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) die(__FILE__, __LINE__, "no memory for the board");
}

void harness_end_actors(void) {
    for (int i = 0; i < actor_count; ++i) {
        if (actors[i] > 0) {
            kill(actors[i], SIGKILL);
            waitpid(actors[i], NULL, 0);
        }
    }
    actor_count = 0;
}

void die(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    if (in_actor) _exit(1);
    harness_end_actors();
    exit(1);
}

double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void pause_microseconds(long microseconds) {
    const struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&time, NULL);
}

// Tests that run beside this one pass over a port that has this name; it goes with the process.
static int reserve(int port) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    // An abstract name: it begins with a zero octet.
    const int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "rmr-test-%d", port);
    const int descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (bind(descriptor, (struct sockaddr *)&name, size) == 0) return 1;
    close(descriptor);
    return 0;
}

int free_port(void) {
    // Nor has a connection of another test just ended on it: not every library can listen there
    // then. Below what the system gives out by itself, so that no connection takes it in between.
    // Odd: a connection to an even port of one's own may meet itself.
    static int next;
    if (next == 0) next = 20001 + (getpid() * 64) % 12000 / 2 * 2;
    for (int tries = 0; tries < 6000; ++tries) {
        const int port = next;
        next = next + 2 > 32700 ? 20001 : next + 2;
        const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        const int free = bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0;
        close(descriptor);
        if (free && reserve(port)) return port;
    }
    die(__FILE__, __LINE__, "no free port");
}

static const char *format_text(const char *format, va_list arguments) {
    char *made = NULL;
    if (vasprintf(&made, format, arguments) < 0) die(__FILE__, __LINE__, "no memory");
    return made;
}

const char *text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *made = format_text(format, arguments);
    va_end(arguments);
    return made;
}

const char *table(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *records = format_text(format, arguments);
    va_end(arguments);
    return text("newrt|start\n%s\nnewrt|end\n", records);
}

static void set_environment(const struct actor *actor) {
    setenv("RMR_BIND_IF", "127.0.0.1", 1);
    setenv("RMR_SRC_ID", actor->source != NULL ? actor->source : "127.0.0.1", 1);
    setenv("RMR_RTG_SVC", actor->manager != NULL ? actor->manager : "-1", 1);
    setenv("RMR_RTREQ_FREQ", "1", 1);
    // Warnings of the tests' own doing are no news.
    setenv("RMR_LOG_VLEVEL", "0", 0);
    unsetenv("RMR_SEED_RT");
    unsetenv("RMR_CTL_PORT");
    if (actor->control != NULL) setenv("RMR_CTL_PORT", actor->control, 1);
    if (actor->table != NULL) {
        char path[] = "/tmp/rmr-test-XXXXXX";
        const int descriptor = mkstemp(path);
        const size_t length = strlen(actor->table);
        if (descriptor < 0 || write(descriptor, actor->table, length) != (ssize_t)length) {
            die(__FILE__, __LINE__, "cannot write a route table: %s", strerror(errno));
        }
        close(descriptor);
        setenv("RMR_SEED_RT", path, 1);
    }
}

void *open_context(const struct actor *actor) {
    char port[16];
    snprintf(port, sizeof port, "%d", actor->port);
    void *context = rmr.init(port, actor->size != 0 ? actor->size : 4096, RMRFL_NONE);
    if (context == NULL) die(__FILE__, __LINE__, "rmr_init on port %s failed", port);
    if (actor->table != NULL) WAIT_FOR(rmr.ready(context), 10);
    if (actor->table != NULL) unlink(getenv("RMR_SEED_RT"));
    return context;
}

pid_t start(struct actor actor) {
    const long ready_before = board->ready;
    const pid_t process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        in_actor = 1;
        actor_count = 0;
        set_environment(&actor);
        // Who has routes, or gets them from a manager, is who is tested against the others.
        load_library(actor.table != NULL || actor.manager != NULL ? library_path : peer_path);
        void *context = NULL;
        if (!actor.manual) {
            context = open_context(&actor);
            ++board->ready;
        }
        actor.run(context, &actor);
        // As a program that returns from main: what the library accepted is on its way.
        exit(0);
    }
    if (process < 0 || actor_count == (int)LENGTH(actors)) die(__FILE__, __LINE__, "cannot fork");
    actors[actor_count++] = process;
    if (!actor.manual) WAIT_FOR(board->ready > ready_before, 20);
    return process;
}

void watch_actors(void) {
    for (int i = 0; i < actor_count; ++i) {
        int status = 0;
        if (actors[i] > 0 && waitpid(actors[i], &status, WNOHANG) == actors[i]) {
            actors[i] = 0;
            if (status != 0) {
                die(__FILE__, __LINE__, "an actor %s %d",
                    WIFSIGNALED(status) ? "died of signal" : "failed with status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            }
        }
    }
}

static int *slot_of(pid_t process) {
    for (int i = 0; i < actor_count; ++i) {
        if (actors[i] == process) return &actors[i];
    }
    return NULL;
}

void kill_actor(pid_t process) {
    int *slot = slot_of(process);
    if (slot == NULL) return;
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    *slot = 0;
}

void join(pid_t process, double seconds) { WAIT_FOR(slot_of(process) == NULL, seconds); }

const char *state_text(int state) {
    static const char *const names[] = {
        "OK",         "BADARG",   "NOENDPT", "EMPTY",      "NOHDR",   "SENDFAILED",
        "CALLFAILED", "NOWHOPEN", "WHID",    "OVERFLOW",   "RETRY",   "RCVFAILED",
        "TIMEOUT",    "UNSET",    "TRUNC",   "INITFAILED", "NOTSUPP",
    };
    return state >= 0 && state < (int)LENGTH(names) ? names[state] : "UNKNOWN";
}

// --- messages ---------------------------------------------------------------------------------

static unsigned char octet_at(const struct content *content, uint32_t at) {
    return (unsigned char)(content->sender * 131 + content->number * 31 + at * 7 + at / 251);
}

void fill(rmr_mbuf_t *message, int sender, int number, int length) {
    const struct content content = {(uint32_t)sender, (uint32_t)number, (uint32_t)length};
    if (length < (int)sizeof content) die(__FILE__, __LINE__, "a message of %d octets", length);
    memcpy(message->payload, &content, sizeof content);
    for (uint32_t at = sizeof content; at < content.length; ++at) {
        message->payload[at] = octet_at(&content, at);
    }
    message->len = length;
}

int is_whole(const rmr_mbuf_t *message, struct content *content) {
    if (message->len < (int)sizeof *content) return 0;
    memcpy(content, message->payload, sizeof *content);
    if (content->length != (uint32_t)message->len) return 0;
    for (uint32_t at = sizeof *content; at < content->length; ++at) {
        if (message->payload[at] != octet_at(content, at)) return 0;
    }
    return 1;
}

rmr_mbuf_t *prepare(void *context, rmr_mbuf_t *message, int type, int sub_id, int sender,
                    int number, int length) {
    // Room for the next one, which may be larger.
    if (message == NULL) message = rmr.alloc_msg(context, length < 1024 ? 1024 : length);
    if (message == NULL) die(__FILE__, __LINE__, "rmr_alloc_msg gave nothing");
    message->mtype = type;
    message->sub_id = sub_id;
    message->state = RMR_OK;
    fill(message, sender, number, length);
    return message;
}

rmr_mbuf_t *send_patiently(void *context, rmr_mbuf_t *message, double seconds) {
    const double end = milliseconds() + seconds * 1000;
    while (1) {
        message = rmr.send_msg(context, message);
        if (message == NULL || message->state != RMR_ERR_RETRY || milliseconds() > end) {
            return message;
        }
        pause_microseconds(50);
    }
}

void count_types(void *context, const struct actor *self) {
    rmr_mbuf_t *message = NULL;
    while (!board->stop) {
        message = rmr.torcv_msg(context, message, 20);
        if (message != NULL && message->state == RMR_OK) {
            ++board->count[self->index][message->mtype % 8];
        }
    }
}
