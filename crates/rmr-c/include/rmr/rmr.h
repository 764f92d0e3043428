/*
 * rmr/rmr.h - RIC message routing: what an xApp compiles against.
 *
 * Names, numbers and the layout of rmr_mbuf_t are those that existing programs use, so that they
 * compile and link unchanged against Corewire's librmr_si.so.
 *
 * Buffers. A call that sends consumes the message and gives a fresh one of at least the same room
 * when `state` is RMR_OK; otherwise it gives the same message back, untouched but for `state` and
 * `tp_state` (errno). Receiving consumes the old message the same way. Always go on with the
 * pointer that was returned.
 *
 * Threads. One context may be used by any number of threads; one message by one thread at a time.
 */
#ifndef _rmr_h
#define _rmr_h

#include <stdint.h>
#include <sys/epoll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes of fields, in octets. */
#define RMR_MAX_XID 32
#define RMR_MAX_SID 32
#define RMR_MAX_MEID 32 /* with the closing NUL */
#define RMR_MAX_SRC 64  /* "host:port" with the closing NUL */

#define RMR_MAX_RCV_BYTES (2 * 1024) /* deprecated: there is no such limit */
#define RMR_DEF_MSG_SIZE 1024
#define RMR_DEF_SIZE 0 /* as a size: what rmr_init was told */

/* Flags of rmr_init. */
#define RMRFL_NONE 0x00
#define RMRFL_NOTHREAD 0x01   /* no routes are collected: only wormholes and replies can be sent */
#define RMRFL_MTCALL 0x02     /* accepted; calls from many threads are always possible */
#define RMRFL_AUTO_ALLOC 0x03 /* accepted; unused */
#define RMRFL_NAME_ONLY 0x04  /* messages carry our name and no address as their source */
#define RMRFL_NOLOCK 0x08     /* accepted; receiving is always safe from many threads */

/* Of a message or subscription: none. */
#define RMR_VOID_MSGTYPE (-1)
#define RMR_VOID_SUBID (-1)

/* States of a message. */
#define RMR_OK 0
#define RMR_ERR_BADARG 1     /* an argument cannot be used */
#define RMR_ERR_NOENDPT 2    /* no route for the type, or its endpoint cannot be reached */
#define RMR_ERR_EMPTY 3      /* nothing to send, nothing received */
#define RMR_ERR_NOHDR 4      /* the message has no header: it was not allocated here */
#define RMR_ERR_SENDFAILED 5 /* the connection failed; errno has the reason */
#define RMR_ERR_CALLFAILED 6 /* a call could not be sent */
#define RMR_ERR_NOWHOPEN 7   /* no wormhole has been opened */
#define RMR_ERR_WHID 8       /* there is no such wormhole */
#define RMR_ERR_OVERFLOW 9   /* does not fit into its field or buffer */
#define RMR_ERR_RETRY 10     /* the peer does not read fast enough: try again */
#define RMR_ERR_RCVFAILED 11 /* receiving failed */
#define RMR_ERR_TIMEOUT 12   /* nothing came in time */
#define RMR_ERR_UNSET 13     /* the message has no buffer */
#define RMR_ERR_TRUNC 14     /* the message is probably cut off */
#define RMR_ERR_INITFAILED 15
#define RMR_ERR_NOTSUPP 16

/* Arguments of rmr_realloc_payload. */
#define RMR_NO_CLONE 0
#define RMR_CLONE 1
#define RMR_NO_COPY 0
#define RMR_COPY 1

#define RMR_WH_CONNECTED(a) ((a) >= 0)

/* A message. Programs use the fields down to tp_state. */
typedef struct {
    int state;              /* RMR_OK or RMR_ERR_* of the last operation */
    int mtype;              /* message type */
    int len;                /* octets used of the payload */
    unsigned char *payload; /* rmr_payload_size() octets */
    unsigned char *xaction; /* transaction id, RMR_MAX_XID octets */
    int sub_id;             /* subscription id */
    int tp_state;           /* errno of the last operation when state is not RMR_OK */

    /* The library's own. */
    void *tp_buf;
    void *header;
    unsigned char *id;
    int flags;
    int alloc_len;
    void *ring;
    int rts_fd;
    int cookie;
} rmr_mbuf_t;

typedef int rmr_whid_t; /* a wormhole; negative: none */

/* What came in: rmr_get_rx_debug_info. */
typedef struct {
    uint64_t drop;    /* refused, because they were malformed or too long, or answered no call */
    uint64_t enqueue; /* taken for the application */
} rmr_rx_debug_t;

/* ---- a context ------------------------------------------------------------------------------ */

/* Listens at `proto_port` ("4560" or "tcp:4560"; NULL: 4560) and begins to collect routes.
 * `max_msg_size` is the payload that messages usually have, not a limit. NULL: errno says why. */
extern void *rmr_init(char *proto_port, int max_msg_size, int flags);
/* Writes what waits to be written, for a bounded time, and lets go of sockets and threads. */
extern void rmr_close(void *vctx);
/* Not 0 once there is a complete route table. */
extern int rmr_ready(void *vctx);
/* Octets of trace data in messages that are allocated from now on. 0 on failure. */
extern int rmr_init_trace(void *vctx, int size);
/* A descriptor for epoll, poll or select: readable while a message can be received. */
extern int rmr_get_rcvfd(void *vctx);
/* How long sending waits for a peer that does not read: 0 about 0.1 ms, 1 (default) about 1 ms,
 * n about n ms. */
extern int rmr_set_stimeout(void *vctx, int time);
extern int rmr_set_rtimeout(void *vctx, int time); /* has no effect; rmr_torcv_msg has a timeout */
extern void rmr_set_low_latency(void *vctx);       /* TCP_NODELAY, which is always on */
extern void rmr_set_fack(void *vctx);              /* TCP_QUICKACK on connections made later */
extern void rmr_set_vlevel(int new_level);         /* 0 nothing, 1 critical ... 5 debugging */
extern int rmr_get_rx_debug_info(void *vctx, rmr_rx_debug_t *rx_debug);
extern int rmr_reset_rx_debug_count(void *vctx);

/* ---- messages ------------------------------------------------------------------------------- */

extern rmr_mbuf_t *rmr_alloc_msg(void *vctx, int size);
extern rmr_mbuf_t *rmr_tralloc_msg(void *vctx, int size, int tr_size, unsigned const char *data);
extern void rmr_free_msg(rmr_mbuf_t *msg);
/* Octets of payload there is room for. */
extern int rmr_payload_size(rmr_mbuf_t *msg);
/* A larger payload under the same header, so that rmr_rts_msg still works. */
extern rmr_mbuf_t *rmr_realloc_payload(rmr_mbuf_t *msg, int new_len, int copy, int clone);
/* A copy with another size of trace data; the old message stays valid. */
extern rmr_mbuf_t *rmr_realloc_msg(rmr_mbuf_t *msg, int new_tr_size);
extern void rmr_bytes2payload(rmr_mbuf_t *msg, unsigned char const *src, int len);
extern void rmr_str2payload(rmr_mbuf_t *msg, unsigned char const *str);
extern int rmr_bytes2xact(rmr_mbuf_t *msg, unsigned char const *src, int len);
extern int rmr_str2xact(rmr_mbuf_t *msg, unsigned char const *str);
extern int rmr_bytes2meid(rmr_mbuf_t *msg, unsigned char const *src, int len);
extern int rmr_str2meid(rmr_mbuf_t *msg, unsigned char const *str);
/* With a NULL `dest` the field is allocated by malloc and the caller's to free. */
extern unsigned char *rmr_get_xact(rmr_mbuf_t *msg, unsigned char *dest);
extern unsigned char *rmr_get_meid(rmr_mbuf_t *msg, unsigned char *dest);
extern unsigned char *rmr_get_src(rmr_mbuf_t *msg, unsigned char *dest);
extern unsigned char *rmr_get_srcip(rmr_mbuf_t *msg, unsigned char *dest);
extern int rmr_get_trlen(rmr_mbuf_t *msg);
extern int rmr_get_trace(rmr_mbuf_t *msg, unsigned char *dest, int size);
extern int rmr_set_trace(rmr_mbuf_t *msg, unsigned const char *data, int size);
extern void *rmr_trace_ref(rmr_mbuf_t *msg, int *sizeptr);

/* ---- sending -------------------------------------------------------------------------------- */

/* To one endpoint of each group that the routes have for the type and subscription. */
extern rmr_mbuf_t *rmr_send_msg(void *vctx, rmr_mbuf_t *msg);
/* The same; `max_to` as in rmr_set_stimeout, negative: as the context has it. */
extern rmr_mbuf_t *rmr_mtosend_msg(void *vctx, rmr_mbuf_t *msg, int max_to);
/* Back to where a received message came from. */
extern rmr_mbuf_t *rmr_rts_msg(void *vctx, rmr_mbuf_t *msg);

/* ---- receiving ------------------------------------------------------------------------------ */

extern rmr_mbuf_t *rmr_rcv_msg(void *vctx, rmr_mbuf_t *old_msg);
/* Waits `ms_to` milliseconds; 0: does not wait; negative: until a message comes. When none did the
 * old message is returned with RMR_ERR_TIMEOUT. */
extern rmr_mbuf_t *rmr_torcv_msg(void *vctx, rmr_mbuf_t *old_msg, int ms_to);
extern rmr_mbuf_t *rmr_mt_rcv(void *vctx, rmr_mbuf_t *msg, int max_wait);
/* Deprecated. Waits for a transaction and keeps up to `allow2queue` other messages for later. */
extern rmr_mbuf_t *rmr_rcv_specific(void *vctx, rmr_mbuf_t *msg, char *expect, int allow2queue);

/* ---- calls: send and wait for the reply with the same transaction id ---------------------------
 */

/* Waits one second. NULL with errno ETIMEDOUT when no reply came. */
extern rmr_mbuf_t *rmr_call(void *vctx, rmr_mbuf_t *msg);
/* `call_id` 2 to 255, another for each thread that calls at the same time. */
extern rmr_mbuf_t *rmr_mt_call(void *vctx, rmr_mbuf_t *msg, int call_id, int max_wait);

/* ---- wormholes: messages to an endpoint that is named, not routed -----------------------------
 */

extern rmr_whid_t rmr_wh_open(void *vctx, char const *target);
extern rmr_mbuf_t *rmr_wh_send_msg(void *vctx, rmr_whid_t whid, rmr_mbuf_t *msg);
extern rmr_mbuf_t *rmr_wh_call(void *vctx, rmr_whid_t whid, rmr_mbuf_t *msg, int call_id,
                               int max_wait);
extern int rmr_wh_state(void *vctx, rmr_whid_t whid);
extern void rmr_wh_close(void *vctx, int whid);

#ifdef __cplusplus
}
#endif

#endif
