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

#ifdef __cplusplus
}
#endif

#endif
