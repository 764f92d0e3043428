/*
 * rmr/rmr_corewire.h - what Corewire's librmr_si.so tells beyond RMR. A program that must also run
 * with another RMR library looks these up with dlsym.
 */
#ifndef RMR_COREWIRE_H
#define RMR_COREWIRE_H

#include <rmr/rmr.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When the transport took this message off its connection: nanoseconds of CLOCK_MONOTONIC; 0 when
 * it is not known, as always without RMR_RX_TIME=1 in the environment. One stamp a read. */
extern uint64_t rmr_rx_time_ns(const rmr_mbuf_t *msg);

/* Messages that this context accepted with RMR_OK and could not write later. Each was reported in
 * the log. */
extern uint64_t rmr_tx_dropped(void *vctx);

/* What became of what was sent, each copy of a message for itself: one that goes to three groups is
 * three. A copy is accepted or refused, never both; when nothing is under way, accepted is written
 * and the three kinds of drops together. What was refused the sender was told, and has kept. */
typedef struct {
    uint64_t accepted;     /* taken from the sender */
    uint64_t written;      /* given to the transport */
    uint64_t dropped_copy; /* refused, while another group took the message: RMR_OK was said */
    uint64_t dropped_connection; /* lost with its connection */
    uint64_t dropped_closed;     /* rmr_close came first, and the peer did not read */
    uint64_t refused_retry;      /* RMR_ERR_RETRY */
    uint64_t refused;            /* any other state, but for those without a route */
    uint64_t refused_no_route;   /* RMR_ERR_NOENDPT, since no table says where to */
} rmr_tx_counts_t;

/* What became of what came. `taken` is what the program got, or can still get; all others are kinds
 * of loss, of which all but `unread` together are the drops of rmr_get_rx_debug_info. */
typedef struct {
    uint64_t taken;       /* messages, replies among them */
    uint64_t malformed;   /* messages whose lengths contradict each other */
    uint64_t too_long;    /* messages beyond COREWIRE_RMR_MAX_MESSAGE */
    uint64_t late_reply;  /* replies for which nobody waited any more */
    uint64_t queue_full;  /* messages that came while too many were unread: see
                             COREWIRE_RMR_HOLD_UNREAD */
    uint64_t no_memory;   /* messages for which there was none */
    uint64_t connections; /* connections closed because of what came by them, or for want of room */
    uint64_t unread;      /* of those taken: not asked for before rmr_close */
} rmr_rx_counts_t;

/* Both return 0, or EINVAL for a null pointer. Not reset by rmr_reset_rx_debug_count. */
extern int rmr_get_tx_counts(void *vctx, rmr_tx_counts_t *counts);
extern int rmr_get_rx_counts(void *vctx, rmr_rx_counts_t *counts);

#ifdef __cplusplus
}
#endif

#endif
