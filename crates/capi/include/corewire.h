/*
 * corewire.h - calls, events and streams between network functions, for C11 (and C++: see
 * corewire.hpp).
 *
 * Link with libcorewire.a (and -lpthread -ldl -lm) or -lcorewire; both also hold the functions of
 * corewire_guti.h. Build them with: cargo build --profile capi -p corewire-capi
 *
 * Rules for everything here:
 * - Times are relative and in microseconds. Texts are UTF-8.
 * - What a function gives in an out-parameter of type pointer to pointer is owned by the caller and
 *   given to the _free function of its type once. What a function returns is borrowed from its
 *   argument.
 * - A function that returns corewire_code and takes corewire_error ** writes NULL there when it did
 *   what it was asked, and an error owned by the caller when it did not. NULL instead of a place
 *   for an error is allowed.
 * - A null or wrong argument gives COREWIRE_INVALID_ARGUMENT where it can be noticed. Pointers that
 *   are neither NULL nor what they should be, and handles used after they were freed, cannot be.
 * - Each function says which thread may call it. "Any thread": any, and several at the same time.
 * - Callbacks must not unwind: no C++ exception and no longjmp may leave them.
 * - Structures of settings begin with their size, so that they can grow: programs built with an
 *   older header go on working.
 */

#ifndef COREWIRE_H
#define COREWIRE_H

/* Generated from crates/capi by cbindgen. Do not edit; see tests/header.rs. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// For `timeout_us`: no deadline.
#define COREWIRE_NO_TIMEOUT UINT64_MAX

// For `protocols`: Corewire's own.
#define COREWIRE_PROTOCOL_NATIVE 1

// For `protocols`: gRPC.
#define COREWIRE_PROTOCOL_GRPC 2

// For `protocols`: REST over HTTP/2.
#define COREWIRE_PROTOCOL_REST 4

// For `tls_client_certificates`: required if there are `tls_authorities`, else not asked for.
#define COREWIRE_CLIENT_CERTIFICATES_DEFAULT 0

// For `tls_client_certificates`: not asked for.
#define COREWIRE_CLIENT_CERTIFICATES_NOT_ASKED 1

// For `tls_client_certificates`: a client may present one; it must be good then.
#define COREWIRE_CLIENT_CERTIFICATES_OPTIONAL 2

// For `tls_client_certificates`: who presents none is refused (mutual TLS).
#define COREWIRE_CLIENT_CERTIFICATES_REQUIRED 3

// How a call ended, or why a function did not do what it was asked. Numbers and meanings are
// those of gRPC's status codes. New codes are never added.
typedef enum corewire_code {
    // Done.
    COREWIRE_OK = 0,
    // Given up by its caller.
    COREWIRE_CANCELLED = 1,
    // No better word is known.
    COREWIRE_UNKNOWN = 2,
    // The request is wrong whatever the state of the system; also a null or wrong argument.
    COREWIRE_INVALID_ARGUMENT = 3,
    // The deadline passed first.
    COREWIRE_DEADLINE_EXCEEDED = 4,
    // What the request names does not exist.
    COREWIRE_NOT_FOUND = 5,
    // What the request would create exists.
    COREWIRE_ALREADY_EXISTS = 6,
    // The caller is known and may not.
    COREWIRE_PERMISSION_DENIED = 7,
    // Some resource or quota is used up.
    COREWIRE_RESOURCE_EXHAUSTED = 8,
    // The system is not in the state that the request needs.
    COREWIRE_FAILED_PRECONDITION = 9,
    // Given up because of a conflict; may be tried again from a higher level.
    COREWIRE_ABORTED = 10,
    // Past the valid range.
    COREWIRE_OUT_OF_RANGE = 11,
    // The operation is not known here.
    COREWIRE_UNIMPLEMENTED = 12,
    // A fault of the answering side, or a defect of this library that was caught.
    COREWIRE_INTERNAL = 13,
    // Not now; may be tried again.
    COREWIRE_UNAVAILABLE = 14,
    // Data is lost or broken for good.
    COREWIRE_DATA_LOSS = 15,
    // The caller is not known.
    COREWIRE_UNAUTHENTICATED = 16,
} corewire_code;

// Why a call was not answered, or a function failed.
typedef enum corewire_error_kind {
    // A null or wrong argument, or a call at the wrong time: a fault of the program.
    COREWIRE_ERROR_MISUSE = 0,
    // A stream was ended by its service with a failure.
    COREWIRE_ERROR_ANSWERED = 1,
    // It never left: no connection.
    COREWIRE_ERROR_NOT_SENT = 2,
    // It left and nothing came back: the connection was lost.
    COREWIRE_ERROR_FATE_UNKNOWN = 3,
    // The deadline passed first.
    COREWIRE_ERROR_DEADLINE_EXCEEDED = 4,
    // Some limit is reached, here or there; it was not executed.
    COREWIRE_ERROR_OVERLOADED = 5,
    // The peer says that it did not and will not execute it.
    COREWIRE_ERROR_REFUSED = 6,
    // The caller gave it up.
    COREWIRE_ERROR_CANCELLED = 7,
    // The message cannot be sent by this protocol (too large, a header it cannot carry).
    COREWIRE_ERROR_UNSENDABLE = 8,
    // The peer broke the protocol.
    COREWIRE_ERROR_PROTOCOL = 9,
    // The operating system refused, for example an address in use.
    COREWIRE_ERROR_SYSTEM = 10,
    // A defect of this library, caught.
    COREWIRE_ERROR_INTERNAL = 11,
} corewire_error_kind;

// An asynchronous connection to one service, driven by an event loop. Any number of threads may
// use it at once. Connects at its first call, and anew at the next after it was lost.
typedef struct corewire_async_channel corewire_async_channel;

// A connection to one service, for threads that wait. Any number of threads may use it at once:
// they share the connection. When the connection is lost, the next call makes it anew.
typedef struct corewire_channel corewire_channel;

// Why something failed. Owned by whoever received it, who gives it to corewire_error_free.
typedef struct corewire_error corewire_error;

// Received headers, in order; names may repeat. Borrowed from what they came with.
typedef struct corewire_headers corewire_headers;

// A message that came in. A call is owned by its handler, who answers it with corewire_reply or
// gives it to corewire_incoming_free; an event and the request of a stream are only borrowed. What
// the functions below return is borrowed from it.
typedef struct corewire_incoming corewire_incoming;

// An event loop: drives the connections of asynchronous channels on the thread that runs it. One
// thread runs it at a time; which one may change between runs.
typedef struct corewire_loop corewire_loop;

// What a message asks for: "service/method". Made once and used for any number of calls, by any
// number of threads at once.
typedef struct corewire_operation corewire_operation;

// The answer to a call. Owned by whoever received it, who gives it to corewire_response_free;
// what the functions below return is borrowed from it.
typedef struct corewire_response corewire_response;

// A running server.
typedef struct corewire_server corewire_server;

// A stream at its service. Owned by the handler from its first callback on, who gives it to
// corewire_server_stream_finish or corewire_server_stream_free once.
typedef struct corewire_server_stream corewire_server_stream;

// An open call of many messages a side. Any thread may use it, one at a time: a function that is
// called while another is in progress returns COREWIRE_FAILED_PRECONDITION.
typedef struct corewire_stream corewire_stream;

// Settings of a channel. Fill with corewire_channel_options_init, then change what you need.
typedef struct corewire_channel_options {
    // Octets of this structure.
    size_t size;
    // How long connecting may take, microseconds.
    uint64_t connect_timeout_us;
    // The timeout of calls that bring none, microseconds.
    uint64_t call_timeout_us;
    // How long a blocking caller asks the socket again and again before it sleeps, microseconds.
    // Burns the CPU meanwhile. 0: never.
    uint64_t busy_poll_us;
    // How long a caller that waits, in a blocking call or in corewire_loop_run_once, asks again
    // before it sleeps, as long as answers come meanwhile; it lets other threads run between, and
    // stops by itself when answers do not come. Microseconds. 0: never.
    uint64_t patience_us;
    // TLS: a PEM file with the authorities that may have issued the service's certificate. NULL:
    // clear text. This and the files below are paths ended by NUL, read again when they change.
    const char *tls_authorities;
    // TLS: a PEM file with the certificate to present to a service that asks for one (mutual TLS).
    // NULL: none.
    const char *tls_certificate;
    // TLS: a PEM file with that certificate's private key.
    const char *tls_key;
    // TLS: the name or address that the service's certificate must be for, ended by NUL. NULL: the
    // endpoint's host.
    const char *tls_server_name;
    // Not 0: for a "native://" endpoint on this host, use shared memory where the service offers
    // it, and the socket otherwise. Not with TLS. An endpoint "shm://" needs no such setting.
    uint32_t shared_memory;
    // TLS: not 0: channels of this process with the same files share what was read of them and their
    // sessions, so that a new channel's connection goes on from an earlier one's to the same service,
    // without certificates being sent and checked again (docs/tls.md). 0: only connections of this
    // channel do.
    uint32_t tls_shared;
} corewire_channel_options;

// Some octets, borrowed. Nothing ends them: texts in it have no NUL. Laid out as struct iovec.
typedef struct corewire_slice {
    // The first of them; NULL only if there are none.
    const void *data;
    // How many there are.
    size_t length;
} corewire_slice;

// One header to send or received. Names are lower-case token characters (RFC 9110, 5.6.2), at
// most 255 octets; values at most 2^24 - 1, without CR, LF or NUL unless the name ends in -bin.
typedef struct corewire_header {
    // Its name.
    struct corewire_slice name;
    // Its value.
    struct corewire_slice value;
} corewire_header;

// Settings of one call. NULL instead of them means all defaults and costs least.
typedef struct corewire_call_options {
    // Octets of this structure.
    size_t size;
    // How long the caller waits, microseconds; for a stream, how long it may live. 0: as the
    // channel's options say. COREWIRE_NO_TIMEOUT: for ever.
    uint64_t timeout_us;
    // Headers to send, copied by the call; NULL if there are none.
    const struct corewire_header *headers;
    // How many.
    size_t header_count;
    // How urgent: 0 is the most urgent, 31 the least (TS 29.500, 6.8.4.1).
    uint32_t priority;
    // Must be 0.
    uint32_t reserved;
} corewire_call_options;

// Told how an asynchronous call ended, exactly once: either `response` or `error` is not NULL, as
// for corewire_call, and is owned by the callback. Runs on the thread that runs the loop, inside
// that; must not block, must not unwind (throw), and may make further calls.
typedef void (*corewire_call_callback)(void *user,
                                       struct corewire_response *response,
                                       struct corewire_error *error);

// Is told of a peer whose connection was ended because it broke the protocol or was refused by TLS,
// and why. `peer` and `why` are texts ended by NUL, borrowed for the duration of the callback. Runs on
// an event loop, on all loops at once, as often as strangers like: must not block, must not unwind.
typedef void (*corewire_on_fault)(void *user, const char *peer, const char *why);

// Settings of a server. Fill with corewire_server_options_init, then change what you need.
typedef struct corewire_server_options {
    // Octets of this structure.
    size_t size;
    // Event loops, one thread each. 0: one for each core this process may run on.
    uint32_t loops;
    // COREWIRE_PROTOCOL_* joined by |: what is spoken on every port.
    uint32_t protocols;
    // How long an event loop asks again and again before it sleeps, microseconds. Burns the CPU
    // meanwhile. 0: never.
    uint64_t busy_poll_us;
    // Connections that may be open at a time in each loop; more are closed at once.
    uint64_t max_connections;
    // Octets that may wait for a peer that does not read, before it is not read either.
    uint64_t max_backlog;
    // How long an event loop with connections in shared memory looks at them again before it
    // sleeps, as long as something comes within it; it stops by itself when nothing does. One with
    // sockets alone asks these for 5 us of it. Microseconds. 0: never.
    uint64_t patience_us;
    // TLS: a PEM file with this server's certificate and those between it and a root. NULL: clear
    // text. This and the files below are paths ended by NUL, read again when they change.
    const char *tls_certificate;
    // TLS: a PEM file with that certificate's private key.
    const char *tls_key;
    // TLS: a PEM file with the authorities that may have issued the certificates of clients.
    const char *tls_authorities;
    // TLS: COREWIRE_CLIENT_CERTIFICATES_*.
    uint32_t tls_client_certificates;
    // TLS: not 0: clients may speak clear text on the same ports.
    uint32_t tls_allow_clear_text;
    // Not 0: offer shared memory to processes of this host and user beside each TCP address; never
    // with TLS. The default.
    uint32_t shared_memory;
    // Must be 0.
    uint32_t reserved;
    // See there; may be NULL. Refused connections are counted anyway.
    corewire_on_fault on_fault;
    // Given to `on_fault` as it is; must live as long as the server.
    void *on_fault_user;
} corewire_server_options;

// Answers calls. `call` is owned by the handler: answer it with corewire_reply, now or later and
// from any thread. Runs on the event loop of the connection: must not block, must not unwind.
typedef void (*corewire_on_call)(void *user, struct corewire_incoming *call);

// Takes events. `event` is borrowed for the duration of the callback. Runs on the event loop of
// the connection: must not block, must not unwind.
typedef void (*corewire_on_event)(void *user, const struct corewire_incoming *event);

// Takes a message of a stream. `message` is borrowed for the duration of the callback. Runs on the
// event loop of the connection: must not block, must not unwind.
typedef void (*corewire_on_message)(void *user,
                                    struct corewire_server_stream *stream,
                                    struct corewire_slice message);

// Told once that no more messages of a stream come. `code` is COREWIRE_OK when the caller has
// ended its side and waits for the end of the service's; otherwise the call has failed. The stream
// is owned by the handler from its first callback on: whatever the code, it must be given to
// corewire_server_stream_finish or corewire_server_stream_free, here or later (or before). Runs on
// the event loop of the connection: must not block, must not unwind.
typedef void (*corewire_on_end)(void *user,
                                struct corewire_server_stream *stream,
                                enum corewire_code code);

// Told that a stream has room again after corewire_server_stream_send refused a message. Runs on
// the event loop of the connection: must not block, must not unwind.
typedef void (*corewire_on_room)(void *user, struct corewire_server_stream *stream);

// Who answers an operation. Fill with zeros, set `size`, then what you need. With several event
// loops the callbacks run on all of them at once.
typedef struct corewire_handler {
    // Octets of this structure.
    size_t size;
    // The operation, "service/method", ended by NUL; copied. NULL: every operation that no other
    // handler names.
    const char *operation;
    // Given to the callbacks as it is; must live as long as the server.
    void *user;
    // Answers calls. NULL: they are told COREWIRE_UNIMPLEMENTED.
    corewire_on_call on_call;
    // Takes events. NULL: they are dropped.
    corewire_on_event on_event;
    // Takes the messages of streams. Not NULL makes the operation a stream; `on_end` must be set
    // then and `on_call` not.
    corewire_on_message on_message;
    // See there.
    corewire_on_end on_end;
    // See there; may be NULL.
    corewire_on_room on_room;
} corewire_handler;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Connects to a service; waits until it has.
//
// `endpoint`: "native://HOST:PORT", "grpc://HOST:PORT" or "rest://HOST:PORT", or with a Unix
// socket "native+unix:PATH" and so on, or "shm://HOST:PORT" for the service of this host at that
// port by shared memory, ended by NUL. `options` may be NULL. *channel is owned by the caller, who
// gives it to corewire_channel_free. Any thread, but not from a callback.
//
// COREWIRE_INVALID_ARGUMENT: no such endpoint, or a TLS file that cannot be used (the message names
// it). COREWIRE_UNAVAILABLE: not reached, or refused by TLS; the message has the reason.
enum corewire_code corewire_channel_connect(const char *endpoint,
                                            const struct corewire_channel_options *options,
                                            struct corewire_channel **channel,
                                            struct corewire_error **error);

// Frees a channel, which no thread may use any more; its streams live on and are freed on their
// own. NULL is allowed. Any thread.
void corewire_channel_free(struct corewire_channel *channel);

// Calls an operation and waits for its end.
//
// The body is the `body_count` slices of `body` in their order; they are read before this returns
// and not kept. `options` may be NULL.
//
// Returns how the call ended. If an answer came, well or with a failure, *response holds it and
// *error is NULL; the code returned is the answer's. If none came, *response is NULL and *error
// says why, and whether the call may have been executed. `response` and `error` may be NULL; what
// they receive is owned by the caller. Any thread, but not from a callback.
enum corewire_code corewire_call(const struct corewire_channel *channel,
                                 const struct corewire_operation *operation,
                                 const struct corewire_slice *body,
                                 size_t body_count,
                                 const struct corewire_call_options *options,
                                 struct corewire_response **response,
                                 struct corewire_error **error);

// Sends an event, which nobody answers; returns when it is written to the connection. It is
// delivered at most once. Body and options as for corewire_call. Any thread, but not from a
// callback.
enum corewire_code corewire_send_event(const struct corewire_channel *channel,
                                       const struct corewire_operation *operation,
                                       const struct corewire_slice *body,
                                       size_t body_count,
                                       const struct corewire_call_options *options,
                                       struct corewire_error **error);

// The code that describes it best. COREWIRE_OK for NULL. Any thread.
enum corewire_code corewire_error_code(const struct corewire_error *error);

// What happened. COREWIRE_ERROR_MISUSE for NULL. Any thread.
enum corewire_error_kind corewire_error_kind_of(const struct corewire_error *error);

// Whether the service may have executed the call. If false, any call may be tried again; if true,
// only one whose repetition does no harm. False for NULL. Any thread.
bool corewire_error_may_have_executed(const struct corewire_error *error);

// A sentence for people, UTF-8, ended by NUL; never NULL. Borrowed from the error. Any thread.
const char *corewire_error_message(const struct corewire_error *error);

// Frees an error. NULL is allowed and does nothing. Any thread.
void corewire_error_free(struct corewire_error *error);

// The name of a code as the field writes it, for example "NOT_FOUND"; "UNKNOWN" for a number
// that is no code. Lives as long as the program. Any thread.
const char *corewire_code_name(uint32_t code);

// The version of this library, for example "0.1.0". Lives as long as the program. Any thread.
const char *corewire_version(void);

// A new event loop. *loop_ is owned by the caller, who gives it to corewire_loop_free. Any thread.
enum corewire_code corewire_loop_new(struct corewire_loop **loop_, struct corewire_error **error);

// Lets the loop ask again and again for so long after something happened before it sleeps,
// microseconds. Burns the CPU meanwhile. Default 0: off. While nobody runs the loop.
enum corewire_code corewire_loop_set_busy_poll(struct corewire_loop *loop_,
                                               uint64_t busy_poll_us,
                                               struct corewire_error **error);

// Runs the loop on this thread until corewire_loop_stop. COREWIRE_FAILED_PRECONDITION: another
// thread runs it, or this is one of its callbacks.
enum corewire_code corewire_loop_run(struct corewire_loop *loop_, struct corewire_error **error);

// Runs one turn of the loop on this thread; waits for something to do, at most `timeout_us`
// microseconds (COREWIRE_NO_TIMEOUT: for ever; 0: not at all). COREWIRE_CANCELLED: the loop was
// stopped. COREWIRE_FAILED_PRECONDITION as for corewire_loop_run.
enum corewire_code corewire_loop_run_once(struct corewire_loop *loop_,
                                          uint64_t timeout_us,
                                          struct corewire_error **error);

// Ends the loop after its current turn, for good; the callbacks of calls in flight are told
// errors. Any thread, also from a callback. NULL is allowed.
void corewire_loop_stop(const struct corewire_loop *loop_);

// Frees a loop that nobody runs; the callbacks of calls in flight are told errors on this thread,
// inside this function. Its channels are freed on their own; their calls fail from now on. NULL is
// allowed. Any thread; while the loop is being run, also by the thread itself in a callback, it
// is stopped and leaked instead.
void corewire_loop_free(struct corewire_loop *loop_);

// A channel to a service, driven by this loop; endpoint and options as for
// corewire_channel_connect. Does not wait: the connection is made at the first call, and a service
// that is not reached fails that. *channel is owned by the caller, who gives it to
// corewire_async_channel_free. Any thread.
enum corewire_code corewire_loop_connect(const struct corewire_loop *loop_,
                                         const char *endpoint,
                                         const struct corewire_channel_options *options,
                                         struct corewire_async_channel **channel,
                                         struct corewire_error **error);

// Frees an asynchronous channel, which no thread may use any more; calls in flight end. NULL is
// allowed. Any thread, also from a callback.
void corewire_async_channel_free(struct corewire_async_channel *channel);

// Calls an operation; `on_end` is told how it ended, with `user` as it is. Body and options as
// for corewire_call; both are read before this returns. Calls of one thread leave in order. Any
// thread, also from a callback.
//
// When the code is not COREWIRE_OK, an argument is wrong and `on_end` will not be called. It is
// called inside this function only when the loop has ended.
enum corewire_code corewire_call_async(const struct corewire_async_channel *channel,
                                       const struct corewire_operation *operation,
                                       const struct corewire_slice *body,
                                       size_t body_count,
                                       const struct corewire_call_options *options,
                                       corewire_call_callback on_end,
                                       void *user,
                                       struct corewire_error **error);

// Whether this thread is inside a callback of an event loop, where nothing may block.
bool corewire_in_callback(void);

// How many headers there are; 0 for NULL. Any thread.
size_t corewire_headers_count(const struct corewire_headers *headers);

// Writes the header at `index` (from 0) to *header, borrowed like the headers themselves. False,
// and nothing written, when there is none. Walks from the first one at each call. Any thread.
bool corewire_headers_at(const struct corewire_headers *headers,
                         size_t index,
                         struct corewire_header *header);

// Writes the first value of this name to *value, borrowed like the headers themselves. False, and
// nothing written, when there is none. Any thread.
bool corewire_headers_find(const struct corewire_headers *headers,
                           const char *name,
                           struct corewire_slice *value);

// Answers a call and frees it, whatever is returned: exactly once for each.
//
// `code` is a corewire_code; `message`, a sentence for people ended by NUL, may be NULL. The body
// is the slices of `body` in their order: one at the end that lies within the request's own body
// is shared with it and not copied, few octets in front of it cost nothing either. Inside the
// handler the answer leaves without any hand-over; later, and from any other thread, it wakes the
// call's event loop.
//
// COREWIRE_CANCELLED: nobody waits for the answer any more. COREWIRE_INVALID_ARGUMENT: the answer
// cannot be sent as it is; the caller was told COREWIRE_INTERNAL.
enum corewire_code corewire_reply(struct corewire_incoming *call,
                                  uint32_t code,
                                  const char *message,
                                  const struct corewire_slice *body,
                                  size_t body_count,
                                  const struct corewire_header *headers,
                                  size_t header_count,
                                  struct corewire_error **error);

// Frees a call that will not be answered: its caller is told COREWIRE_INTERNAL. NULL is allowed.
// Any thread.
void corewire_incoming_free(struct corewire_incoming *call);

// The operation's name, "service/method". Any thread.
struct corewire_slice corewire_incoming_operation(const struct corewire_incoming *message);

// The operation's service: what stands before the last slash. Any thread.
struct corewire_slice corewire_incoming_service(const struct corewire_incoming *message);

// The operation's method: what stands after the last slash. Any thread.
struct corewire_slice corewire_incoming_method(const struct corewire_incoming *message);

// The body, in one piece. Empty for a stream, whose messages come on their own. Any thread.
struct corewire_slice corewire_incoming_body(const struct corewire_incoming *message);

// The headers; NULL only for NULL. Any thread.
const struct corewire_headers *corewire_incoming_headers(const struct corewire_incoming *message);

// How long its caller still waits, microseconds; 0 when that has passed, COREWIRE_NO_TIMEOUT when
// there is no deadline. Any thread.
uint64_t corewire_incoming_timeout_us(const struct corewire_incoming *message);

// How urgent it is: 0 is the most urgent, 31 the least. Any thread.
uint32_t corewire_incoming_priority(const struct corewire_incoming *message);

// The address of its sender, for example "127.0.0.1:40112". Any thread.
struct corewire_slice corewire_incoming_peer(const struct corewire_incoming *message);

// The certificate (DER) that its sender proved to have the key of, issued by an accepted authority:
// mutual TLS. Empty when there was none. Any thread.
struct corewire_slice corewire_incoming_peer_certificate(const struct corewire_incoming *message);

// The protocol it came by: "native", "grpc" or "rest". Any thread.
struct corewire_slice corewire_incoming_protocol(const struct corewire_incoming *message);

// Whether its caller has given the call up, or its deadline has passed: an answer would reach
// nobody. Any thread.
bool corewire_incoming_is_cancelled(const struct corewire_incoming *message);

// The operation of this name: "service/method" in visible ASCII, at most 1024 octets, ended by
// NUL; the service may contain slashes. *operation is owned by the caller, who gives it to
// corewire_operation_free. COREWIRE_INVALID_ARGUMENT for anything else. Any thread.
enum corewire_code corewire_operation_new(const char *name,
                                          struct corewire_operation **operation,
                                          struct corewire_error **error);

// Frees an operation; calls in flight are not affected. NULL is allowed. Any thread.
void corewire_operation_free(struct corewire_operation *operation);

// Fills *options with the defaults. `size` is sizeof(corewire_channel_options). Any thread.
void corewire_channel_options_init(struct corewire_channel_options *options, size_t size);

// Fills *options with the defaults. `size` is sizeof(corewire_call_options). Any thread.
void corewire_call_options_init(struct corewire_call_options *options, size_t size);

// Fills *options with the defaults. `size` is sizeof(corewire_server_options). Any thread.
void corewire_server_options_init(struct corewire_server_options *options, size_t size);

// How the call ended: the code with which the service answered. COREWIRE_INTERNAL for NULL. Any
// thread.
enum corewire_code corewire_response_code(const struct corewire_response *response);

// The service's sentence for people, UTF-8; may be empty. Any thread.
struct corewire_slice corewire_response_message(const struct corewire_response *response);

// The body, in one piece; with a failure, its detail. Any thread.
struct corewire_slice corewire_response_body(const struct corewire_response *response);

// The headers; NULL only for NULL. Any thread.
const struct corewire_headers *corewire_response_headers(const struct corewire_response *response);

// Frees a response. NULL is allowed and does nothing. Any thread.
void corewire_response_free(struct corewire_response *response);

// Starts a server with threads of its own.
//
// `addresses`: "HOST:PORT" (port 0: any free one), "unix:PATH" or "shm:NAME" (shared memory alone),
// each ended by NUL; every protocol is told apart by its first octets. `options` may be NULL. `handlers` is copied, but
// what its `user` pointers point to is not. *server is owned by the caller, who gives it to
// corewire_server_free. Any thread.
//
// COREWIRE_UNAVAILABLE: an address cannot be bound (the message names it).
// COREWIRE_INVALID_ARGUMENT: also a TLS file that cannot be used (the message names it).
enum corewire_code corewire_server_start(const char *const *addresses,
                                         size_t address_count,
                                         const struct corewire_server_options *options,
                                         const struct corewire_handler *handlers,
                                         size_t handler_count,
                                         struct corewire_server **server,
                                         struct corewire_error **error);

// Where it listens: the address at `index`, in the order given, with its port, ended by NUL.
// Borrowed from the server. NULL when there is none. Any thread.
const char *corewire_server_address(const struct corewire_server *server, size_t index);

// Takes no more connections and calls, waits until those in flight have ended, at most
// `timeout_us` microseconds, and ends; what is still in flight then is cut. The server is still to
// be freed. Any thread, but not from a callback.
enum corewire_code corewire_server_drain(struct corewire_server *server,
                                         uint64_t timeout_us,
                                         struct corewire_error **error);

// Frees a server and waits until its threads have ended; what is in flight is cut. No callback
// runs afterwards. NULL is allowed. Any thread; in a callback, where it could wait for itself, it
// does nothing.
void corewire_server_free(struct corewire_server *server);

// Sends a message to the caller: the slices of `body` in their order. One that lies within the
// message that `on_message` is looking at is shared with it, not copied. Never waits. Any thread.
//
// COREWIRE_RESOURCE_EXHAUSTED: the caller does not keep up, and a MiB of messages waits; this one
// was not taken. Send it again when `on_room` was called. COREWIRE_CANCELLED: the call is over.
enum corewire_code corewire_server_stream_send(struct corewire_server_stream *stream,
                                               const struct corewire_slice *body,
                                               size_t body_count,
                                               struct corewire_error **error);

// Ends a stream, after the messages sent before, and frees it, whatever is returned. `code` is a
// corewire_code; `message` and `headers` may be NULL. Any thread. COREWIRE_CANCELLED: the call was
// over already.
enum corewire_code corewire_server_stream_finish(struct corewire_server_stream *stream,
                                                 uint32_t code,
                                                 const char *message,
                                                 const struct corewire_header *headers,
                                                 size_t header_count,
                                                 struct corewire_error **error);

// Frees a stream without a proper end: unless the call is over, its caller is told
// COREWIRE_INTERNAL. NULL is allowed. Any thread.
void corewire_server_stream_free(struct corewire_server_stream *stream);

// The request that opened the stream: its operation, headers, deadline, sender. Borrowed from the
// stream. Any thread.
const struct corewire_incoming *corewire_server_stream_request(const struct corewire_server_stream *stream);

// Keeps a pointer of the program with the stream; NULL before. Any thread.
void corewire_server_stream_set_user(struct corewire_server_stream *stream, void *user);

// The pointer kept with corewire_server_stream_set_user. Any thread.
void *corewire_server_stream_user(const struct corewire_server_stream *stream);

// Opens a stream. The body is its first message, unless it is empty; the timeout bounds how long
// the stream may live. *stream is owned by the caller, who gives it to corewire_stream_free. Any
// thread, but not from a callback.
enum corewire_code corewire_stream_open(const struct corewire_channel *channel,
                                        const struct corewire_operation *operation,
                                        const struct corewire_slice *body,
                                        size_t body_count,
                                        const struct corewire_call_options *options,
                                        struct corewire_stream **stream,
                                        struct corewire_error **error);

// Sends a message, the slices of `body` in their order; waits while the service has no room for
// it. One that lies within the message last received is shared with it, not copied.
// COREWIRE_CANCELLED: the call has ended; receiving tells how. One thread at a time, not from a
// callback.
enum corewire_code corewire_stream_send(const struct corewire_stream *stream,
                                        const struct corewire_slice *body,
                                        size_t body_count,
                                        struct corewire_error **error);

// Receives the next message; waits for it. *message is borrowed from the stream until the next
// receive. When the service has ended the call well, the code is COREWIRE_OK and message->data is
// NULL; it never is for a message, not even for an empty one. When the call failed, the code is
// how. One thread at a time, not from a callback.
enum corewire_code corewire_stream_receive(const struct corewire_stream *stream,
                                           struct corewire_slice *message,
                                           struct corewire_error **error);

// Ends the caller's side: no more messages follow. Receiving goes on. One thread at a time.
enum corewire_code corewire_stream_finish(const struct corewire_stream *stream,
                                          struct corewire_error **error);

// Gives the call up; the service is told `code`, a corewire_code. The stream is still to be freed.
// One thread at a time.
enum corewire_code corewire_stream_cancel(const struct corewire_stream *stream,
                                          uint32_t code,
                                          struct corewire_error **error);

// The headers that came after the last message; none before. Borrowed from the stream until the
// next function that is called with it. NULL when the stream is given up or in use. One thread at
// a time.
const struct corewire_headers *corewire_stream_trailers(const struct corewire_stream *stream);

// Frees a stream, which no thread may use any more; gives the call up unless it has ended. NULL
// is allowed. Any thread.
void corewire_stream_free(struct corewire_stream *stream);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COREWIRE_H */
