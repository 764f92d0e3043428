/* Messages by themselves: fields, room, trace data, copies; and what does not need a peer. */
#include <rmr/RIC_message_types.h>
#include <rmr/rmr_logging.h>
#include <rmr/rmr_symtab.h>
#include <stddef.h>
#include <stdint.h>

#include "check.h"

_Static_assert(sizeof(rmr_mbuf_t) == 88, "as in every RMR library");
_Static_assert(offsetof(rmr_mbuf_t, len) == 8, "");
_Static_assert(offsetof(rmr_mbuf_t, payload) == 16, "");
_Static_assert(offsetof(rmr_mbuf_t, xaction) == 24, "");
_Static_assert(offsetof(rmr_mbuf_t, sub_id) == 32, "");
_Static_assert(offsetof(rmr_mbuf_t, tp_state) == 36, "");

extern char *rmr_get_consts(void);
extern void rmr_free_consts(char *text);

static const unsigned char *u(const char *text) { return (const unsigned char *)text; }

static void fields(void *context) {
    unsigned char field[RMR_MAX_SRC];
    unsigned char long_text[64];
    rmr_mbuf_t *message = rmr_alloc_msg(context, 100);
    CHECK(message->state == RMR_OK && message->mtype == RMR_VOID_MSGTYPE);
    CHECK(message->sub_id == RMR_VOID_SUBID && message->len == 0);
    CHECK(rmr_payload_size(message) == 100);

    CHECK(rmr_str2xact(message, u("transaction")) == RMR_OK);
    CHECK(strcmp((char *)message->xaction, "transaction") == 0);
    CHECK(rmr_get_xact(message, field) == field && memcmp(field, "transaction", 12) == 0);
    memset(long_text, 'x', sizeof(long_text));
    CHECK(rmr_bytes2xact(message, long_text, 40) == RMR_MAX_XID && errno == EOVERFLOW);
    CHECK(rmr_bytes2xact(message, long_text, 32) == RMR_MAX_XID && errno == 0);
    long_text[63] = 0;
    CHECK(rmr_str2xact(message, long_text) == RMR_ERR_OVERFLOW);

    CHECK(rmr_str2meid(message, u("gnb_1")) == RMR_OK);
    unsigned char *meid = rmr_get_meid(message, NULL);
    CHECK(meid != NULL && strcmp((char *)meid, "gnb_1") == 0);
    free(meid);
    CHECK(rmr_bytes2meid(message, long_text, 32) == 32 && errno == EOVERFLOW);
    CHECK(rmr_get_meid(message, field) == field && strlen((char *)field) == 31);

    rmr_str2payload(message, u("payload"));
    CHECK(message->len == 8 && message->state == RMR_OK);
    unsigned char much[200] = {0};
    rmr_bytes2payload(message, much, sizeof(much));
    CHECK(message->len == 100 && message->state == RMR_ERR_OVERFLOW && errno == EMSGSIZE);

    size_t length = strlen(own_address());
    char *source = (char *)rmr_get_src(message, field);
    CHECK(strncmp(source, own_address(), length) == 0 && source[length] == ':');
    source = (char *)rmr_get_srcip(message, field);
    CHECK(strncmp(source, own_address(), length) == 0 && source[length] == ':');
    CHECK(rmr_rx_time_ns(message) == 0);
    rmr_free_msg(message);
}

static void trace(void *context) {
    unsigned char out[16] = {0};
    int size = 7;
    rmr_mbuf_t *message = rmr_alloc_msg(context, 100);
    CHECK(rmr_get_trlen(message) == 0 && rmr_trace_ref(message, &size) == NULL && size == 0);
    rmr_str2payload(message, u("kept"));
    CHECK(rmr_set_trace(message, u("0123456789"), 10) == 10);
    CHECK(rmr_get_trlen(message) == 10 && rmr_get_trace(message, out, 4) == 4);
    CHECK(memcmp(out, "0123", 5) == 0);
    CHECK(strcmp((char *)message->payload, "kept") == 0 && message->len == 5);
    CHECK(memcmp(rmr_trace_ref(message, &size), "0123456789", 10) == 0 && size == 10);
    CHECK(rmr_payload_size(message) == 100);

    rmr_mbuf_t *other = rmr_realloc_msg(message, 20);
    CHECK(other != message && rmr_get_trlen(other) == 20 && rmr_get_trlen(message) == 10);
    CHECK(strcmp((char *)other->payload, "kept") == 0);
    rmr_free_msg(other);
    rmr_free_msg(message);

    message = rmr_tralloc_msg(context, 50, 6, u("trace"));
    CHECK(rmr_get_trlen(message) == 6 && rmr_payload_size(message) == 50);
    CHECK(rmr_get_trace(message, out, 16) == 6 && strcmp((char *)out, "trace") == 0);
    rmr_free_msg(message);

    CHECK(rmr_init_trace(context, 12) == 1);
    message = rmr_alloc_msg(context, 0);
    CHECK(rmr_get_trlen(message) == 12);
    rmr_free_msg(message);
    rmr_init_trace(context, 0);
}

static void room(void *context) {
    rmr_mbuf_t *message = filled(rmr_alloc_msg(context, 100), 5, "contents");
    rmr_str2meid(message, u("element"));
    CHECK(rmr_realloc_payload(message, 50, RMR_COPY, RMR_NO_CLONE) == message);
    message = rmr_realloc_payload(message, 5000, RMR_COPY, RMR_NO_CLONE);
    CHECK(rmr_payload_size(message) == 5000 && message->mtype == 5 && message->len == 9);
    CHECK(strcmp((char *)message->payload, "contents") == 0);
    rmr_mbuf_t *clone = rmr_realloc_payload(message, 10, RMR_COPY, RMR_CLONE);
    CHECK(clone != message && strcmp((char *)clone->payload, "contents") == 0);
    rmr_free_msg(clone);
    clone = rmr_realloc_payload(message, 9000, RMR_NO_COPY, RMR_CLONE);
    CHECK(rmr_payload_size(clone) == 9000 && clone->mtype == -1 && clone->len == 0);
    unsigned char meid[RMR_MAX_MEID];
    CHECK(strcmp((char *)rmr_get_meid(clone, meid), "element") == 0);
    rmr_free_msg(clone);
    CHECK(rmr_realloc_payload(message, 0, 0, 0) == NULL && errno == EINVAL);
    rmr_free_msg(message);
    CHECK(rmr_alloc_msg(context, INT32_MAX) == NULL);
}

static void nothing_given(void *context) {
    unsigned char field[RMR_MAX_SRC];
    rmr_rx_debug_t counts;
    CHECK(rmr_alloc_msg(NULL, 1) == NULL && rmr_tralloc_msg(NULL, 1, 1, field) == NULL);
    CHECK(rmr_payload_size(NULL) == -1 && errno == EINVAL);
    CHECK(rmr_send_msg(context, NULL) == NULL && errno == EINVAL);
    CHECK(rmr_rts_msg(context, NULL) == NULL && rmr_call(context, NULL) == NULL);
    CHECK(rmr_mt_call(context, NULL, 2, 1) == NULL && rmr_wh_send_msg(context, 0, NULL) == NULL);
    CHECK(rmr_rcv_msg(NULL, NULL) == NULL && errno == EINVAL);
    CHECK(rmr_get_xact(NULL, field) == NULL && rmr_get_meid(NULL, field) == NULL);
    CHECK(rmr_get_src(NULL, field) == NULL && rmr_get_srcip(NULL, field) == NULL);
    CHECK(rmr_get_trlen(NULL) == 0 && rmr_get_trace(NULL, field, 4) == 0);
    CHECK(rmr_set_trace(NULL, field, 4) == 0 && rmr_trace_ref(NULL, NULL) == NULL);
    CHECK(rmr_bytes2meid(NULL, field, 1) == -1 && rmr_str2meid(NULL, field) == RMR_ERR_BADARG);
    CHECK(rmr_bytes2xact(NULL, field, 1) == -1 && rmr_str2xact(NULL, field) == RMR_ERR_BADARG);
    CHECK(rmr_realloc_payload(NULL, 1, 0, 0) == NULL && rmr_realloc_msg(NULL, 1) == NULL);
    CHECK(rmr_ready(NULL) == 0 && rmr_get_rcvfd(NULL) == -1);
    CHECK(rmr_init_trace(NULL, 1) == 0 && rmr_set_stimeout(NULL, 1) == -1);
    CHECK(rmr_wh_open(NULL, "x:1") == -1 && rmr_wh_open(context, NULL) == -1);
    CHECK(rmr_wh_open(context, "no port") == -1);
    CHECK(rmr_wh_state(NULL, 0) == RMR_ERR_BADARG);
    CHECK(rmr_get_rx_debug_info(NULL, &counts) == EINVAL);
    CHECK(rmr_get_rx_debug_info(context, NULL) == EINVAL);
    CHECK(rmr_tx_dropped(NULL) == 0);
    rmr_free_msg(NULL);
    rmr_str2payload(NULL, field);
    rmr_wh_close(NULL, 0);
    rmr_set_low_latency(NULL);
    rmr_set_fack(NULL);
    rmr_close(NULL);

    rmr_mbuf_t *message = rmr_alloc_msg(context, 10);
    CHECK(rmr_send_msg(NULL, message) == message && message->state == RMR_ERR_BADARG);
    CHECK(rmr_wh_send_msg(context, 0, message)->state == RMR_ERR_NOWHOPEN);
    CHECK(rmr_wh_state(context, 0) == RMR_ERR_NOWHOPEN);
    CHECK(rmr_mt_call(context, message, 1, 1)->state == RMR_ERR_BADARG);
    CHECK(rmr_mt_call(context, message, 256, 1)->state == RMR_ERR_BADARG);
    rmr_free_msg(message);
    rmr_free_msg(message); /* noticed, and no harm */
}

static void seen(void *table, void *entry, const char *name, void *val, void *data) {
    (void)table;
    (void)entry;
    CHECK(name != NULL);
    *(int *)data += *(int *)val;
}

static void symbols(void) {
    int values[3] = {1, 20, 300};
    int sum = 0;
    uint64_t key = 5;
    void *table = rmr_sym_alloc(0);
    CHECK(rmr_sym_put(table, "a", 1, &values[0]) == 1);
    CHECK(rmr_sym_put(table, "b", 1, &values[1]) == 1);
    CHECK(rmr_sym_put(table, "a", 2, &values[2]) == 1);
    CHECK(rmr_sym_put(table, "b", 1, &values[1]) == 0);
    CHECK(rmr_sym_map(table, key, &values[2]) == 1 && rmr_sym_map(table, key, &values[0]) == 0);
    CHECK(rmr_sym_get(table, "a", 1) == &values[0] && rmr_sym_get(table, "a", 2) == &values[2]);
    CHECK(rmr_sym_get(table, "c", 1) == NULL && rmr_sym_pull(table, 6) == NULL);
    CHECK(rmr_sym_pull(table, 5) == &values[0]);
    CHECK(rmr_sym_get(table, (const char *)&key, 0) == &values[0]);
    rmr_sym_foreach_class(table, 1, seen, &sum);
    CHECK(sum == 21);
    rmr_sym_del(table, "a", 1);
    rmr_sym_ndel(table, 5);
    CHECK(rmr_sym_get(table, "a", 1) == NULL && rmr_sym_pull(table, 5) == NULL);
    rmr_sym_stats(table, 5);
    rmr_sym_clear(table);
    CHECK(rmr_sym_get(table, "b", 1) == NULL && rmr_sym_get(NULL, "b", 1) == NULL);
    rmr_sym_free(table);
}

/* What is copied in may stand in the message itself, also where a buffer is left behind by it. */
static void from_itself(void *context) {
    rmr_mbuf_t *message = rmr_tralloc_msg(context, 100, 8, (const unsigned char *)"tracing");
    filled(message, 1, "0123456789");
    rmr_bytes2payload(message, message->payload + 2, 6);
    CHECK(message->len == 6 && memcmp(message->payload, "234567", 6) == 0);
    rmr_bytes2payload(message, message->payload, 6);
    CHECK(message->len == 6 && memcmp(message->payload, "234567", 6) == 0);
    rmr_str2xact(message, (unsigned char *)"transaction");
    CHECK(rmr_bytes2xact(message, message->xaction + 5, 7) == 7);
    CHECK(memcmp(message->xaction, "action", 7) == 0);
    int size = 0;
    unsigned char *area = rmr_trace_ref(message, &size);
    CHECK(size == 8 && rmr_set_trace(message, area + 1, 7) == 7);
    CHECK(rmr_set_trace(message, message->payload, 3) == 3);
    area = rmr_trace_ref(message, &size);
    CHECK(size == 3 && memcmp(area, "234", 3) == 0);
    CHECK(message->len == 6 && memcmp(message->payload, "234567", 6) == 0);
    /* Larger than any buffer that is kept for later: what is left behind is freed. */
    message = rmr_realloc_payload(message, 1 << 20, RMR_COPY, RMR_NO_CLONE);
    CHECK(message != NULL);
    memset(message->payload, 'x', 1 << 20);
    CHECK(rmr_set_trace(message, message->payload, 5000) == 5000);
    area = rmr_trace_ref(message, &size);
    CHECK(size == 5000 && area[0] == 'x' && area[4999] == 'x');
    rmr_free_msg(message);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    common_environment();
    set_routes(arguments[1], "newrt|start\nnewrt|end\n");
    void *context = open_context(NULL);
    fields(context);
    trace(context);
    room(context);
    nothing_given(context);
    from_itself(context);
    symbols();

    char *constants = rmr_get_consts();
    CHECK(strstr(constants, "\"RMR_ERR_TIMEOUT\": 12") != NULL);
    rmr_free_consts(constants);
    CHECK(rmr_vlog_init() == 1);
    rmr_vlog(RMR_VL_ERR, "not written: %d\n", 1);
    rmr_vlog(RMR_VL_CRIT, "written: %s %d %.2f %d %d %d %d\n", "text", 2, 3.5, 4, 5, 6, 7);
    rmr_set_vlevel(0);
    rmr_vlog_force(RMR_VL_CRIT, "not written either\n");
    CHECK(rmr_init((char *)"nonsense", 0, 0) == NULL && errno == EINVAL);
    rmr_close(context);
    puts("ok");
    return 0;
}
