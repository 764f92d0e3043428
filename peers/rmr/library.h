// An RMR library, whichever: opened by its path, so that one program measures all of them.
#pragma once

#include <rmr/rmr.h>
#include <stdint.h>

struct library {
    void *(*init)(char *, int, int);
    int (*ready)(void *);
    void (*close)(void *);
    rmr_mbuf_t *(*alloc_msg)(void *, int);
    void (*free_msg)(rmr_mbuf_t *);
    int (*payload_size)(rmr_mbuf_t *);
    rmr_mbuf_t *(*send_msg)(void *, rmr_mbuf_t *);
    rmr_mbuf_t *(*torcv_msg)(void *, rmr_mbuf_t *, int);

    // Not in every library; NULL where there is none.
    rmr_mbuf_t *(*rts_msg)(void *, rmr_mbuf_t *);
    rmr_mbuf_t *(*mt_call)(void *, rmr_mbuf_t *, int, int);
    rmr_whid_t (*wh_open)(void *, char const *);
    rmr_mbuf_t *(*wh_send_msg)(void *, rmr_whid_t, rmr_mbuf_t *);
    void (*set_low_latency)(void *);
    int (*get_rx_debug_info)(void *, rmr_rx_debug_t *);
    // When the transport took this message from its connection, before it was queued.
    uint64_t (*rx_time_ns)(const rmr_mbuf_t *);
    // Messages that were accepted and dropped later, as the library itself says.
    uint64_t (*tx_dropped)(void *);
};

// Opens it; says on standard error what is missing and returns 0 when it is no RMR library.
int library_open(struct library *library, const char *path);

// A context that listens on `port`; NULL with a line on standard error.
void *library_context(const struct library *library, int port, int size);

// `RMR_ERR_RETRY` as `RETRY`.
const char *state_name(int state);

// States are 0 to 16; anything above counts as this.
#define STATES 18
