// Peers that are not RMR, or wish harm: raw TCP to an application's port, while a sound sender goes
// on.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

// What an application may hold at most because of what a stranger sent, in KiB.
#define MEMORY_LIMIT (512 * 1024)

static int connect_to(int port) {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        die(__FILE__, __LINE__, "cannot connect to %d: %s", port, strerror(errno));
    }
    // A peer that no longer reads must not hold the test up.
    const struct timeval wait = {.tv_sec = 2};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    return descriptor;
}

// The victim may close in the middle; that is its right.
static void give(int descriptor, const void *octets, size_t length) {
    const unsigned char *at = octets;
    while (length > 0) {
        const ssize_t written = send(descriptor, at, length, MSG_NOSIGNAL);
        if (written <= 0) return;
        at += written;
        length -= (size_t)written;
    }
}

static long memory_of(pid_t process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    char line[256];
    long found = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) found = strtol(line + 6, NULL, 10);
    }
    if (file != NULL) fclose(file);
    return found;
}

static void send_sound(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = NULL;
    for (int number = 0; !board->stop; ++number) {
        message = prepare(context, message, 1000, -1, 1, number, 200);
        message = send_patiently(context, message, 10);
        CHECK_STATE(message, RMR_OK);
        ++board->value[0];
        pause_microseconds(300);
    }
}

// Octets that are no message may be handed out as one only if they are one in form.
static void receive_sound(void *context, const struct actor *self) {
    (void)self;
    rmr_mbuf_t *message = NULL;
    while (!board->stop) {
        message = rmr.torcv_msg(context, message, 20);
        if (message == NULL || message->state != RMR_OK) continue;
        struct content content;
        if (message->mtype == 1000 && is_whole(message, &content)) {
            ++board->value[1];
        } else {
            // What stands in the fields must be usable.
            CHECK(message->len >= 0);
            CHECK(message->len <= rmr.payload_size(message));
            ++board->value[2];
        }
    }
}

static pid_t victim;
static int victim_port;

static void start_victim(void) {
    victim_port = free_port();
    victim = start((struct actor){.run = receive_sound, .port = victim_port});
    start((struct actor){.run = send_sound,
                         .port = free_port(),
                         .table = table("rte|1000|127.0.0.1:%d", victim_port)});
    WAIT_FOR(board->value[1] > 50, 10);
}

static void expect_sound(void) {
    const long before = board->value[1];
    WAIT_FOR(board->value[1] > before + 200, 15);
    if (memory_of(victim) >= MEMORY_LIMIT) {
        die(__FILE__, __LINE__, "it holds %ld KiB", memory_of(victim));
    }
}

// Peers that connect and say nothing.
void test_silent_peers(void) {
    start_victim();
    int peers[100];
    for (unsigned i = 0; i < LENGTH(peers); ++i) peers[i] = connect_to(victim_port);
    expect_sound();
    for (unsigned i = 0; i < LENGTH(peers); ++i) close(peers[i]);
    expect_sound();
}

// --- SI95 framing -----------------------------------------------------------------------------

#define TRANSPORT 50
#define HEADER 280

static void put32(unsigned char *at, uint32_t value) {
    value = htonl(value);
    memcpy(at, &value, sizeof value);
}

struct frame {
    unsigned char octets[TRANSPORT + HEADER + 4 + 100];
};

// A sound message of 100 octets, of type 1001.
static struct frame sound_frame(void) {
    struct frame frame = {{0}};
    const uint32_t total = sizeof frame.octets;
    memcpy(frame.octets, &total, sizeof total);
    put32(frame.octets + 4, total);
    frame.octets[8] = '$';
    unsigned char *header = frame.octets + TRANSPORT;
    put32(header, 1001);
    put32(header + 4, 100);
    put32(header + 8, 3);
    memcpy(header + 76, "127.0.0.1:1", 11);
    put32(header + 196, HEADER);
    put32(header + 204, 4);
    put32(header + 212, UINT32_MAX);
    return frame;
}

// Every start of a message, then the end of the connection.
void test_truncated_frames(void) {
    start_victim();
    const struct frame frame = sound_frame();
    for (size_t length = 1; length < sizeof frame.octets; length += 7) {
        const int descriptor = connect_to(victim_port);
        give(descriptor, frame.octets, length);
        close(descriptor);
    }
    // And octet by octet, whole.
    const int descriptor = connect_to(victim_port);
    for (size_t at = 0; at < sizeof frame.octets; ++at) give(descriptor, frame.octets + at, 1);
    expect_sound();
    close(descriptor);
}

// Lengths that lie: of the whole, of the header and its areas, of the payload.
void test_lying_lengths(void) {
    start_victim();
    static const uint32_t lies[] = {0,          1,          8,          49,         50,
                                    51,         329,        1000000000, 0x7fffffff, 0x7fffff80,
                                    0x80000000, 0xfffffff0, 0xffffffff, 0x40000000};
    static const int places[] = {
        0, TRANSPORT + 4, TRANSPORT + 196, TRANSPORT + 200, TRANSPORT + 204, TRANSPORT + 208};
    for (unsigned place = 0; place < LENGTH(places); ++place) {
        for (unsigned lie = 0; lie < LENGTH(lies); ++lie) {
            struct frame frame = sound_frame();
            put32(frame.octets + places[place], lies[lie]);
            if (places[place] == 0) {
                // Both lengths say the same.
                memcpy(frame.octets, &lies[lie], sizeof lies[lie]);
                put32(frame.octets + 4, lies[lie]);
            }
            const int descriptor = connect_to(victim_port);
            give(descriptor, frame.octets, sizeof frame.octets);
            give(descriptor, frame.octets, sizeof frame.octets);
            close(descriptor);
        }
    }
    // Someone who claims much and then goes on sending.
    struct frame frame = sound_frame();
    const uint32_t claim = 0x7fffff00;
    memcpy(frame.octets, &claim, sizeof claim);
    put32(frame.octets + 4, claim);
    int claimers[8];
    for (unsigned i = 0; i < LENGTH(claimers); ++i) {
        claimers[i] = connect_to(victim_port);
        give(claimers[i], frame.octets, sizeof frame.octets);
    }
    expect_sound();
    for (unsigned i = 0; i < LENGTH(claimers); ++i) close(claimers[i]);
}

// A thousand peers, each of which announces a large message and sends a part of it.
void test_crowd(void) {
    enum { PEERS = 1000, PART = 1024 * 1024 };
    struct rlimit files;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &files), 0);
    CHECK(files.rlim_cur > 2 * PEERS);
    start_victim();
    static unsigned char part[PART];
    struct frame frame = sound_frame();
    const uint32_t claim = 48 * 1024 * 1024;
    memcpy(frame.octets, &claim, sizeof claim);
    put32(frame.octets + 4, claim);
    put32(frame.octets + TRANSPORT + 4, claim - TRANSPORT - HEADER - 4);
    memcpy(part, frame.octets, sizeof frame.octets);
    static int peers[PEERS];
    for (int i = 0; i < PEERS; ++i) {
        peers[i] = connect_to(victim_port);
        give(peers[i], part, sizeof part);
        if (i % 250 == 249) expect_sound();
    }
    expect_sound();
    for (int i = 0; i < PEERS; ++i) close(peers[i]);
    expect_sound();
}

void test_garbage(void) {
    start_victim();
    unsigned char octets[64 * 1024];
    uint32_t state = 12345;
    for (int connection = 0; connection < 60; ++connection) {
        for (unsigned at = 0; at < sizeof octets; ++at) {
            state = state * 1664525 + 1013904223;
            octets[at] = (unsigned char)(state >> 24);
        }
        if (connection % 3 == 1) memset(octets, 0, 4096);
        if (connection % 3 == 2) octets[8] = '$';
        const int descriptor = connect_to(victim_port);
        give(descriptor, octets, 1 + state % sizeof octets);
        close(descriptor);
    }
    static const char http[] = "GET / HTTP/1.1\r\nHost: example\r\n\r\n";
    const int descriptor = connect_to(victim_port);
    give(descriptor, http, sizeof http - 1);
    expect_sound();
    close(descriptor);
}

// --- a route to a host that accepts no connection and refuses none ----------------------------

static void send_beside_mute(void *context, const struct actor *self) {
    (void)self;
    // The mute endpoint's messages fail or wait, but in bounded time.
    for (int tries = 0; tries < 3; ++tries) {
        rmr_mbuf_t *message = prepare(context, NULL, 1001, -1, 1, 0, 100);
        const double begin = milliseconds();
        message = rmr.send_msg(context, message);
        CHECK(message != NULL);
        CHECK(milliseconds() - begin < 8000);
        rmr.free_msg(message);
    }
    rmr_mbuf_t *message = prepare(context, NULL, 1000, -1, 1, 0, 100);
    message = send_patiently(context, message, 5);
    CHECK_STATE(message, RMR_OK);
    rmr.free_msg(message);
    WAIT_FOR(board->count[0][0] == 1, 10);
}

void test_mute_host(void) {
    // A listener whose queue is full: the kernel lets further SYNs wait.
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int mute = free_port();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)mute)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQUAL(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQUAL(listen(listener, 0), 0);
    for (int i = 0; i < 4; ++i) {
        const int filler = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(filler, (struct sockaddr *)&address, sizeof address);
    }
    const int there = free_port();
    start((struct actor){.run = count_types, .port = there});
    join(start((struct actor){
             .run = send_beside_mute,
             .port = free_port(),
             .table = table("rte|1001|127.0.0.1:%d\nrte|1000|127.0.0.1:%d", mute, there)}),
         60);
}
