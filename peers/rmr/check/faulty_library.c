// An RMR library over datagram sockets of one machine, with faults on demand, so that the tests
// know what the programs must find. Not for measuring: it has no table, and one context a process.
//
//   FAULTY_PEER=PORT            where every message goes
//   FAULTY=lose|duplicate|swap|refuse|fail|corrupt    what happens to every tenth message
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rmr/rmr.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define EVERY 10
#define LARGEST 100000

struct wire {
    int mtype, len, call_id, source_port;
};

static int own_port, own_socket = -1;
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;
static unsigned long count;
static char held[LARGEST];
static size_t held_size;

// An abstract name: it leaves nothing behind.
static socklen_t name_of(int port, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    const int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "corewire-faulty-%d", port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

void *rmr_init(char *port, int size, int flags) {
    (void)size;
    (void)flags;
    own_port = atoi(port);
    own_socket = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr_un address;
    const socklen_t length = name_of(own_port, &address);
    const int room = 1 << 20;
    setsockopt(own_socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    return bind(own_socket, (struct sockaddr *)&address, length) == 0 ? &own_port : NULL;
}

int rmr_ready(void *context) { return context != NULL; }
void rmr_close(void *context) {
    (void)context;
    close(own_socket);
}

rmr_mbuf_t *rmr_alloc_msg(void *context, int size) {
    (void)context;
    rmr_mbuf_t *message = calloc(1, sizeof *message);
    message->alloc_len = size > LARGEST / 2 ? size : LARGEST / 2;
    message->payload = calloc(1, (size_t)message->alloc_len);
    return message;
}

void rmr_free_msg(rmr_mbuf_t *message) {
    if (message == NULL) return;
    free(message->payload);
    free(message);
}

int rmr_payload_size(rmr_mbuf_t *message) { return message->alloc_len; }

static int put(int port, const char *octets, size_t size) {
    struct sockaddr_un address;
    const socklen_t length = name_of(port, &address);
    return sendto(own_socket, octets, size, 0, (struct sockaddr *)&address, length) ==
           (ssize_t)size;
}

static rmr_mbuf_t *transmit(rmr_mbuf_t *message, int port, int call_id) {
    char octets[LARGEST];
    const struct wire wire = {message->mtype, message->len, call_id, own_port};
    memcpy(octets, &wire, sizeof wire);
    memcpy(octets + sizeof wire, message->payload, (size_t)message->len);
    const size_t size = sizeof wire + (size_t)message->len;
    const char *fault = getenv("FAULTY");
    pthread_mutex_lock(&sending);
    const int due = fault != NULL && ++count % EVERY == 0;
    int sent = 1;
    message->state = RMR_OK;
    if (due && strcmp(fault, "lose") == 0) {
    } else if (due && strcmp(fault, "refuse") == 0) {
        message->state = RMR_ERR_RETRY;
    } else if (due && strcmp(fault, "fail") == 0) {
        message->state = RMR_ERR_SENDFAILED;
    } else if (due && strcmp(fault, "swap") == 0) {
        memcpy(held, octets, size);
        held_size = size;
    } else {
        if (due && strcmp(fault, "corrupt") == 0) octets[size - 1] ^= 1;
        sent = put(port, octets, size);
        if (due && strcmp(fault, "duplicate") == 0) put(port, octets, size);
        if (sent && held_size > 0) {
            put(port, held, held_size);
            held_size = 0;
        }
    }
    if (!sent) message->state = RMR_ERR_RETRY;
    pthread_mutex_unlock(&sending);
    return message;
}

rmr_mbuf_t *rmr_send_msg(void *context, rmr_mbuf_t *message) {
    (void)context;
    return transmit(message, atoi(getenv("FAULTY_PEER")), 0);
}

rmr_mbuf_t *rmr_torcv_msg(void *context, rmr_mbuf_t *message, int milliseconds) {
    if (message == NULL) message = rmr_alloc_msg(context, LARGEST / 2);
    struct pollfd ready = {.fd = own_socket, .events = POLLIN};
    char octets[LARGEST];
    struct wire wire;
    message->state = RMR_ERR_TIMEOUT;
    if (poll(&ready, 1, milliseconds) == 1) {
        const ssize_t size = recv(own_socket, octets, sizeof octets, 0);
        if (size >= (ssize_t)sizeof wire) {
            memcpy(&wire, octets, sizeof wire);
            memcpy(message->payload, octets + sizeof wire, (size_t)wire.len);
            message->mtype = wire.mtype;
            message->len = wire.len;
            message->rts_fd = wire.source_port;
            message->flags = wire.call_id;
            message->state = RMR_OK;
        }
    }
    return message;
}

rmr_mbuf_t *rmr_rts_msg(void *context, rmr_mbuf_t *message) {
    (void)context;
    return transmit(message, message->rts_fd, message->flags);
}

// One call at a time, which is enough to count them.
rmr_mbuf_t *rmr_mt_call(void *context, rmr_mbuf_t *message, int call_id, int milliseconds) {
    static pthread_mutex_t calling = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&calling);
    message = transmit(message, atoi(getenv("FAULTY_PEER")), call_id);
    if (message->state == RMR_OK) {
        message = rmr_torcv_msg(context, message, milliseconds);
        if (message->state == RMR_ERR_TIMEOUT) {
            rmr_free_msg(message);
            message = NULL;
        }
    }
    pthread_mutex_unlock(&calling);
    return message;
}
