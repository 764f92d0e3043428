/* Uses every face of corewire.h from C11: blocking and asynchronous calls, events, streams. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "corewire.h"
#include "corewire_guti.h"

static corewire_slice text(const char *text) {
    corewire_slice slice = {text, strlen(text)};
    return slice;
}

static bool is(corewire_slice slice, const char *text) {
    return slice.length == strlen(text) && memcmp(slice.data, text, slice.length) == 0;
}

static bool contains(const char *text, const char *part) { return strstr(text, part) != NULL; }

static corewire_operation *operation(const char *name) {
    corewire_operation *made = NULL;
    CHECK(corewire_operation_new(name, &made, NULL) == COREWIRE_OK);
    return made;
}

/* ---- the service ---- */

struct service {
    atomic_int events;
    atomic_int streams_ended;
    /* How many messages on_flood has sent, and how often it was refused. */
    int flooded;
    int refused;
    /* A call that on_keep leaves unanswered. */
    _Atomic(corewire_incoming *) kept;
};

/* Answers "<" and the request, which is shared and not copied. */
static void on_echo(void *user, corewire_incoming *call) {
    (void)user;
    CHECK(corewire_in_callback());
    const corewire_slice pieces[] = {text("<"), corewire_incoming_body(call)};
    corewire_slice value = {NULL, 0};
    const bool tagged = corewire_headers_find(corewire_incoming_headers(call), "x-tag", &value);
    const corewire_header headers[] = {{text("x-tag-back"), value}};
    CHECK(corewire_reply(call, COREWIRE_OK, NULL, pieces, 2, headers, tagged ? 1 : 0, NULL) ==
          COREWIRE_OK);
}

static void on_refuse(void *user, corewire_incoming *call) {
    (void)user;
    CHECK(is(corewire_incoming_operation(call), "test.Service/Refuse"));
    CHECK(is(corewire_incoming_service(call), "test.Service"));
    CHECK(is(corewire_incoming_method(call), "Refuse"));
    CHECK(is(corewire_incoming_protocol(call), "native"));
    CHECK(corewire_incoming_peer(call).length > 0);
    CHECK(corewire_incoming_priority(call) == 3);
    CHECK(corewire_incoming_timeout_us(call) <= 1500000);
    CHECK(corewire_incoming_timeout_us(call) > 100000);
    const corewire_slice detail = text("detail");
    CHECK(corewire_reply(call, COREWIRE_NOT_FOUND, "no such thing", &detail, 1, NULL, 0, NULL) ==
          COREWIRE_OK);
}

static void *answer_later(void *call) {
    usleep(20000);
    const corewire_slice body = text("later");
    CHECK(corewire_reply(call, COREWIRE_OK, NULL, &body, 1, NULL, 0, NULL) == COREWIRE_OK);
    return NULL;
}

static void on_later(void *user, corewire_incoming *call) {
    (void)user;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answer_later, call) == 0);
    pthread_detach(thread);
}

static void on_keep(void *user, corewire_incoming *call) {
    struct service *service = user;
    corewire_incoming_free(atomic_exchange(&service->kept, call));
}

static void on_forget(void *user, corewire_incoming *call) {
    (void)user;
    corewire_incoming_free(call);
}

static void on_wrong(void *user, corewire_incoming *call) {
    (void)user;
    const corewire_header header = {text("No Token"), text("")};
    corewire_error *error = NULL;
    CHECK(corewire_reply(call, COREWIRE_OK, NULL, NULL, 0, &header, 1, &error) ==
          COREWIRE_INVALID_ARGUMENT);
    CHECK(corewire_error_kind_of(error) == COREWIRE_ERROR_MISUSE);
    corewire_error_free(error);
}

static void on_notice(void *user, const corewire_incoming *event) {
    struct service *service = user;
    CHECK(is(corewire_incoming_body(event), "notice"));
    atomic_fetch_add(&service->events, 1);
}

/* Blocking inside a callback is refused: it would stop every call of the loop. */
static void on_block(void *user, corewire_incoming *call) {
    (void)user;
    corewire_channel *channel = NULL;
    const corewire_code code =
        corewire_channel_connect("native://127.0.0.1:1", NULL, &channel, NULL);
    CHECK(code == COREWIRE_FAILED_PRECONDITION);
    CHECK(channel == NULL);
    CHECK(corewire_reply(call, COREWIRE_OK, NULL, NULL, 0, NULL, 0, NULL) == COREWIRE_OK);
}

static void on_message(void *user, corewire_server_stream *stream, corewire_slice message) {
    (void)user;
    if (corewire_server_stream_user(stream) == NULL) {
        const corewire_incoming *request = corewire_server_stream_request(stream);
        CHECK(is(corewire_incoming_method(request), "Stream"));
        corewire_server_stream_set_user(stream, stream);
    }
    const corewire_slice pieces[] = {text("<"), message};
    CHECK(corewire_server_stream_send(stream, pieces, 2, NULL) == COREWIRE_OK);
}

static void on_end(void *user, corewire_server_stream *stream, corewire_code code) {
    struct service *service = user;
    atomic_fetch_add(&service->streams_ended, 1);
    const corewire_header trailer = {text("x-end"), text("yes")};
    const corewire_code ended =
        corewire_server_stream_finish(stream, COREWIRE_OK, NULL, &trailer, 1, NULL);
    CHECK(ended == (code == COREWIRE_OK ? COREWIRE_OK : COREWIRE_CANCELLED));
}

static void on_refused_end(void *user, corewire_server_stream *stream, corewire_code code) {
    (void)user;
    (void)code;
    corewire_server_stream_finish(stream, COREWIRE_ABORTED, "not today", NULL, 0, NULL);
}

enum { FLOOD = 1000, FLOOD_OCTETS = 10000 };

/* Sends far more than the caller reads at once, as far as it is allowed. */
static void on_flood_room(void *user, corewire_server_stream *stream) {
    static const char octets[FLOOD_OCTETS];
    struct service *service = user;
    while (service->flooded < FLOOD) {
        const corewire_slice body = {octets, sizeof octets};
        const corewire_code code = corewire_server_stream_send(stream, &body, 1, NULL);
        if (code == COREWIRE_RESOURCE_EXHAUSTED) {
            ++service->refused;
            return;
        }
        CHECK(code == COREWIRE_OK);
        ++service->flooded;
    }
    CHECK(corewire_server_stream_finish(stream, COREWIRE_OK, NULL, NULL, 0, NULL) == COREWIRE_OK);
}

static void on_flood(void *user, corewire_server_stream *stream, corewire_slice message) {
    CHECK(is(message, "go"));
    on_flood_room(user, stream);
}

/* The service ends that stream by itself: it is told nothing after that. */
static void on_flood_end(void *user, corewire_server_stream *stream, corewire_code code) {
    (void)user;
    (void)stream;
    fprintf(stderr, "an ended stream ended again: %s\n", corewire_code_name(code));
    exit(1);
}

static corewire_server *start(struct service *service, char *endpoint, size_t size) {
    const corewire_handler handlers[] = {
        {.size = sizeof(corewire_handler), .operation = "test.Service/Echo", .on_call = on_echo},
        {.size = sizeof(corewire_handler),
         .operation = "test.Service/Refuse",
         .on_call = on_refuse},
        {.size = sizeof(corewire_handler), .operation = "test.Service/Later", .on_call = on_later},
        {.size = sizeof(corewire_handler),
         .operation = "test.Service/Keep",
         .user = service,
         .on_call = on_keep},
        {.size = sizeof(corewire_handler),
         .operation = "test.Service/Forget",
         .on_call = on_forget},
        {.size = sizeof(corewire_handler), .operation = "test.Service/Wrong", .on_call = on_wrong},
        {.size = sizeof(corewire_handler), .operation = "test.Service/Block", .on_call = on_block},
        {.size = sizeof(corewire_handler),
         .operation = "test.Service/Notice",
         .user = service,
         .on_event = on_notice},
        {.size = sizeof(corewire_handler),
         .operation = "test.Service/Stream",
         .user = service,
         .on_message = on_message,
         .on_end = on_end},
        {.size = sizeof(corewire_handler),
         .operation = "test.Service/Flood",
         .user = service,
         .on_message = on_flood,
         .on_end = on_flood_end,
         .on_room = on_flood_room},
        {.size = sizeof(corewire_handler),
         .operation = "test.Service/RefusedStream",
         .on_message = on_message,
         .on_end = on_refused_end},
    };
    corewire_server_options options;
    corewire_server_options_init(&options, sizeof options);
    options.loops = 2;
    const char *const addresses[] = {"127.0.0.1:0"};
    corewire_server *server = NULL;
    corewire_error *error = NULL;
    const corewire_code code = corewire_server_start(
        addresses, 1, &options, handlers, sizeof handlers / sizeof handlers[0], &server, &error);
    if (code != COREWIRE_OK) fprintf(stderr, "%s\n", corewire_error_message(error));
    CHECK(code == COREWIRE_OK);
    snprintf(endpoint, size, "native://%s", corewire_server_address(server, 0));
    CHECK(corewire_server_address(server, 1) == NULL);

    CHECK(corewire_server_start(addresses, 1, &options, NULL, 0, &server, NULL) ==
          COREWIRE_INVALID_ARGUMENT);
    const char *taken = corewire_server_address(server, 0);
    corewire_server *second = NULL;
    options.loops = 1;
    CHECK(corewire_server_start(&taken, 1, &options, handlers, 1, &second, &error) ==
          COREWIRE_UNAVAILABLE);
    CHECK(corewire_error_kind_of(error) == COREWIRE_ERROR_SYSTEM);
    CHECK(contains(corewire_error_message(error), "Address already in use"));
    corewire_error_free(error);
    return server;
}

/* ---- its callers ---- */

static void calls_block(corewire_channel *channel) {
    corewire_operation *echo = operation("test.Service/Echo");
    for (size_t size = 0; size <= 1000000; size = size * 10 + 1) {
        char *payload = malloc(size + 1);
        memset(payload, 'p', size + 1);
        const corewire_slice pieces[] = {text("head "), {payload, size}};
        corewire_response *response = NULL;
        corewire_error *error = NULL;
        CHECK(corewire_call(channel, echo, pieces, 2, NULL, &response, &error) == COREWIRE_OK);
        CHECK(error == NULL);
        CHECK(corewire_response_code(response) == COREWIRE_OK);
        const corewire_slice body = corewire_response_body(response);
        CHECK(body.length == size + 6);
        CHECK(memcmp(body.data, "<head ", 6) == 0);
        CHECK(memcmp((const char *)body.data + 6, payload, size) == 0);
        corewire_response_free(response);
        free(payload);
    }
    /* Who does not care for the answer passes no place for it. */
    CHECK(corewire_call(channel, echo, NULL, 0, NULL, NULL, NULL) == COREWIRE_OK);
    corewire_operation_free(echo);
}

static void headers_go_both_ways(corewire_channel *channel) {
    corewire_operation *echo = operation("test.Service/Echo");
    const corewire_header headers[] = {{text("x-tag"), text("blue")}};
    corewire_call_options options;
    corewire_call_options_init(&options, sizeof options);
    options.headers = headers;
    options.header_count = 1;
    corewire_response *response = NULL;
    CHECK(corewire_call(channel, echo, NULL, 0, &options, &response, NULL) == COREWIRE_OK);
    const corewire_headers *received = corewire_response_headers(response);
    CHECK(corewire_headers_count(received) == 1);
    corewire_header header;
    CHECK(corewire_headers_at(received, 0, &header));
    CHECK(is(header.name, "x-tag-back") && is(header.value, "blue"));
    CHECK(!corewire_headers_at(received, 1, &header));
    CHECK(!corewire_headers_find(received, "absent", NULL));
    corewire_response_free(response);
    corewire_operation_free(echo);
}

static void failures_are_told(corewire_channel *channel) {
    corewire_response *response = NULL;
    corewire_error *error = NULL;
    corewire_call_options options;
    corewire_call_options_init(&options, sizeof options);

    corewire_operation *refuse = operation("test.Service/Refuse");
    options.priority = 3;
    options.timeout_us = 1500000;
    CHECK(corewire_call(channel, refuse, NULL, 0, &options, &response, &error) ==
          COREWIRE_NOT_FOUND);
    CHECK(error == NULL);
    CHECK(corewire_response_code(response) == COREWIRE_NOT_FOUND);
    CHECK(is(corewire_response_message(response), "no such thing"));
    CHECK(is(corewire_response_body(response), "detail"));
    corewire_response_free(response);
    options.priority = 32;
    CHECK(corewire_call(channel, refuse, NULL, 0, &options, &response, NULL) ==
          COREWIRE_INVALID_ARGUMENT);
    CHECK(response == NULL);
    corewire_operation_free(refuse);

    corewire_operation *nobody = operation("test.Service/Nobody");
    CHECK(corewire_call(channel, nobody, NULL, 0, NULL, &response, NULL) == COREWIRE_UNIMPLEMENTED);
    corewire_response_free(response);
    corewire_operation_free(nobody);

    corewire_operation *keep = operation("test.Service/Keep");
    corewire_call_options_init(&options, sizeof options);
    options.timeout_us = 50000;
    CHECK(corewire_call(channel, keep, NULL, 0, &options, &response, &error) ==
          COREWIRE_DEADLINE_EXCEEDED);
    /* Either side may notice first: the caller by itself, or the service by an answer. */
    CHECK((response == NULL) != (error == NULL));
    if (error != NULL) {
        CHECK(corewire_error_kind_of(error) == COREWIRE_ERROR_DEADLINE_EXCEEDED);
        CHECK(corewire_error_may_have_executed(error));
    }
    corewire_response_free(response);
    corewire_error_free(error);
    corewire_operation_free(keep);

    const char *const unanswered[] = {"test.Service/Forget", "test.Service/Wrong"};
    for (int i = 0; i < 2; ++i) {
        corewire_operation *bad = operation(unanswered[i]);
        CHECK(corewire_call(channel, bad, NULL, 0, NULL, &response, NULL) == COREWIRE_INTERNAL);
        CHECK(response != NULL);
        corewire_response_free(response);
        corewire_operation_free(bad);
    }
}

static void answers_may_come_later(corewire_channel *channel) {
    corewire_response *response = NULL;
    corewire_operation *later = operation("test.Service/Later");
    CHECK(corewire_call(channel, later, NULL, 0, NULL, &response, NULL) == COREWIRE_OK);
    CHECK(is(corewire_response_body(response), "later"));
    corewire_response_free(response);
    corewire_operation_free(later);
    corewire_operation *block = operation("test.Service/Block");
    CHECK(corewire_call(channel, block, NULL, 0, NULL, NULL, NULL) == COREWIRE_OK);
    corewire_operation_free(block);
}

static void events_arrive(corewire_channel *channel, struct service *service) {
    corewire_operation *notice = operation("test.Service/Notice");
    const corewire_slice body = text("notice");
    for (int i = 0; i < 3; ++i) {
        CHECK(corewire_send_event(channel, notice, &body, 1, NULL, NULL) == COREWIRE_OK);
    }
    for (int i = 0; i < 6000 && atomic_load(&service->events) < 3; ++i) usleep(5000);
    CHECK(atomic_load(&service->events) == 3);
    corewire_operation_free(notice);
}

static void streams_go_both_ways(corewire_channel *channel, struct service *service) {
    corewire_operation *name = operation("test.Service/Stream");
    corewire_stream *stream = NULL;
    corewire_slice message;
    CHECK(corewire_stream_open(channel, name, NULL, 0, NULL, &stream, NULL) == COREWIRE_OK);
    char *large = malloc(500000);
    memset(large, 'l', 500000);
    for (int i = 0; i < 20; ++i) {
        const corewire_slice pieces[] = {text("#"), {large, (size_t)i * 25000}};
        CHECK(corewire_stream_send(stream, pieces, 2, NULL) == COREWIRE_OK);
        CHECK(corewire_stream_receive(stream, &message, NULL) == COREWIRE_OK);
        CHECK(message.length == 2 + pieces[1].length);
        CHECK(memcmp(message.data, "<#", 2) == 0);
    }
    free(large);
    CHECK(corewire_headers_count(corewire_stream_trailers(stream)) == 0);
    CHECK(corewire_stream_finish(stream, NULL) == COREWIRE_OK);
    CHECK(corewire_stream_receive(stream, &message, NULL) == COREWIRE_OK);
    CHECK(message.data == NULL);
    corewire_slice value;
    CHECK(corewire_headers_find(corewire_stream_trailers(stream), "x-end", &value));
    CHECK(is(value, "yes"));
    corewire_stream_free(stream);
    CHECK(atomic_load(&service->streams_ended) == 1);

    /* Given up by its caller: the service is told. */
    CHECK(corewire_stream_open(channel, name, NULL, 0, NULL, &stream, NULL) == COREWIRE_OK);
    const corewire_slice body = text("x");
    CHECK(corewire_stream_send(stream, &body, 1, NULL) == COREWIRE_OK);
    CHECK(corewire_stream_receive(stream, &message, NULL) == COREWIRE_OK);
    CHECK(corewire_stream_cancel(stream, COREWIRE_CANCELLED, NULL) == COREWIRE_OK);
    CHECK(corewire_stream_send(stream, &body, 1, NULL) == COREWIRE_CANCELLED);
    corewire_stream_free(stream);
    for (int i = 0; i < 6000 && atomic_load(&service->streams_ended) < 2; ++i) usleep(5000);
    CHECK(atomic_load(&service->streams_ended) == 2);
    corewire_operation_free(name);

    /* Ended by its service with a failure. */
    name = operation("test.Service/RefusedStream");
    corewire_error *error = NULL;
    CHECK(corewire_stream_open(channel, name, NULL, 0, NULL, &stream, NULL) == COREWIRE_OK);
    CHECK(corewire_stream_finish(stream, NULL) == COREWIRE_OK);
    CHECK(corewire_stream_receive(stream, &message, &error) == COREWIRE_ABORTED);
    CHECK(corewire_error_kind_of(error) == COREWIRE_ERROR_ANSWERED);
    CHECK(contains(corewire_error_message(error), "not today"));
    corewire_error_free(error);
    corewire_stream_free(stream);
    corewire_operation_free(name);
}

static void streams_hold_back(corewire_channel *channel, const struct service *service) {
    corewire_operation *name = operation("test.Service/Flood");
    const corewire_slice go = text("go");
    corewire_stream *stream = NULL;
    CHECK(corewire_stream_open(channel, name, &go, 1, NULL, &stream, NULL) == COREWIRE_OK);
    usleep(50000);
    corewire_slice message;
    int received = 0;
    for (; received <= FLOOD; ++received) {
        CHECK(corewire_stream_receive(stream, &message, NULL) == COREWIRE_OK);
        if (message.data == NULL) break;
        CHECK(message.length == FLOOD_OCTETS);
    }
    CHECK(received == FLOOD);
    /* The end was sent after the last message, and with it what the service counted. */
    CHECK(service->refused > 0);
    corewire_stream_free(stream);
    corewire_operation_free(name);
}

struct ended {
    int answers;
    int errors;
    corewire_loop *loop;
};

static void on_answer(void *user, corewire_response *response, corewire_error *error) {
    struct ended *ended = user;
    CHECK((response == NULL) != (error == NULL));
    /* Being run, or at its end. */
    CHECK(corewire_loop_run_once(ended->loop, 0, NULL) != COREWIRE_OK);
    ++*(response != NULL ? &ended->answers : &ended->errors);
    if (response != NULL) CHECK(is(corewire_response_body(response), "<async"));
    if (error != NULL) CHECK(corewire_error_code(error) == COREWIRE_UNAVAILABLE);
    corewire_response_free(response);
    corewire_error_free(error);
}

static void *stop_later(void *loop) {
    usleep(20000);
    corewire_loop_stop(loop);
    return NULL;
}

static void calls_overlap(const char *endpoint) {
    corewire_operation *echo = operation("test.Service/Echo");
    struct ended ended = {0, 0, NULL};
    CHECK(corewire_loop_new(&ended.loop, NULL) == COREWIRE_OK);
    corewire_async_channel *channel = NULL;
    CHECK(corewire_loop_connect(ended.loop, endpoint, NULL, &channel, NULL) == COREWIRE_OK);
    const corewire_slice body = text("async");
    for (int i = 0; i < 100; ++i) {
        CHECK(corewire_call_async(channel, echo, &body, 1, NULL, on_answer, &ended, NULL) ==
              COREWIRE_OK);
    }
    for (int i = 0; i < 1000 && ended.answers < 100; ++i) {
        CHECK(corewire_loop_run_once(ended.loop, 100000, NULL) == COREWIRE_OK);
    }
    CHECK(ended.answers == 100);
    CHECK(corewire_call_async(channel, echo, &body, 1, NULL, NULL, &ended, NULL) ==
          COREWIRE_INVALID_ARGUMENT);

    /* Nobody listens there. */
    corewire_async_channel *lost = NULL;
    CHECK(corewire_loop_connect(ended.loop, "native://127.0.0.1:1", NULL, &lost, NULL) ==
          COREWIRE_OK);
    CHECK(corewire_call_async(lost, echo, &body, 1, NULL, on_answer, &ended, NULL) == COREWIRE_OK);
    for (int i = 0; i < 1000 && ended.errors < 1; ++i) {
        CHECK(corewire_loop_run_once(ended.loop, 100000, NULL) == COREWIRE_OK);
    }
    CHECK(ended.errors == 1);
    /* The next call fails before the wait of its turn, which must not wait then. */
    CHECK(corewire_call_async(lost, echo, &body, 1, NULL, on_answer, &ended, NULL) == COREWIRE_OK);
    const time_t before = time(NULL);
    CHECK(corewire_loop_run_once(ended.loop, COREWIRE_NO_TIMEOUT, NULL) == COREWIRE_OK);
    CHECK(time(NULL) - before < 3);
    for (int i = 0; i < 1000 && ended.errors < 2; ++i) {
        CHECK(corewire_loop_run_once(ended.loop, 100000, NULL) == COREWIRE_OK);
    }
    CHECK(ended.errors == 2);
    corewire_async_channel_free(lost);

    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, stop_later, ended.loop) == 0);
    CHECK(corewire_loop_run(ended.loop, NULL) == COREWIRE_OK);
    pthread_join(thread, NULL);
    CHECK(corewire_loop_run_once(ended.loop, 0, NULL) == COREWIRE_CANCELLED);
    /* After its end a call is told at once. */
    CHECK(corewire_call_async(channel, echo, &body, 1, NULL, on_answer, &ended, NULL) ==
          COREWIRE_OK);
    CHECK(ended.errors == 3);
    corewire_async_channel_free(channel);
    corewire_loop_free(ended.loop);
    corewire_operation_free(echo);
}

static void on_free(void *user, corewire_response *response, corewire_error *error) {
    struct ended *ended = user;
    CHECK(response == NULL && corewire_error_code(error) == COREWIRE_UNAVAILABLE);
    corewire_error_free(error);
    CHECK(corewire_loop_run_once(ended->loop, 0, &error) == COREWIRE_FAILED_PRECONDITION);
    corewire_error_free(error);
    corewire_loop_free(ended->loop);
    ++ended->errors;
}

/* Callbacks that are told errors while their loop is freed can neither run nor free it. */
static void a_loop_is_freed_with_calls_in_flight(const char *endpoint) {
    corewire_operation *echo = operation("test.Service/Echo");
    struct ended ended = {0, 0, NULL};
    CHECK(corewire_loop_new(&ended.loop, NULL) == COREWIRE_OK);
    corewire_async_channel *channel = NULL;
    CHECK(corewire_loop_connect(ended.loop, endpoint, NULL, &channel, NULL) == COREWIRE_OK);
    /* One waits in the connection, the other for the loop's next turn. */
    CHECK(corewire_call_async(channel, echo, NULL, 0, NULL, on_free, &ended, NULL) == COREWIRE_OK);
    CHECK(corewire_loop_run_once(ended.loop, 0, NULL) == COREWIRE_OK);
    CHECK(corewire_call_async(channel, echo, NULL, 0, NULL, on_free, &ended, NULL) == COREWIRE_OK);
    corewire_loop_free(ended.loop);
    CHECK(ended.errors == 2);
    corewire_async_channel_free(channel);
    corewire_operation_free(echo);
}

static void mistakes_are_refused(corewire_channel *channel) {
    corewire_operation *bad = NULL;
    corewire_error *error = NULL;
    CHECK(corewire_operation_new("no slash", &bad, &error) == COREWIRE_INVALID_ARGUMENT);
    CHECK(bad == NULL && contains(corewire_error_message(error), "no slash"));
    corewire_error_free(error);
    CHECK(corewire_operation_new(NULL, &bad, NULL) == COREWIRE_INVALID_ARGUMENT);
    CHECK(corewire_call(NULL, NULL, NULL, 0, NULL, NULL, &error) == COREWIRE_INVALID_ARGUMENT);
    CHECK(strcmp(corewire_error_message(error), "channel is NULL") == 0);
    corewire_error_free(error);
    CHECK(corewire_call(channel, NULL, NULL, 0, NULL, NULL, NULL) == COREWIRE_INVALID_ARGUMENT);
    const corewire_slice nothing = {NULL, 5};
    corewire_operation *echo = operation("test.Service/Echo");
    CHECK(corewire_call(channel, echo, &nothing, 1, NULL, NULL, NULL) == COREWIRE_INVALID_ARGUMENT);
    const corewire_call_options unset = {0};
    CHECK(corewire_call(channel, echo, NULL, 0, &unset, NULL, NULL) == COREWIRE_INVALID_ARGUMENT);
    corewire_operation_free(echo);
    CHECK(corewire_reply(NULL, 0, NULL, NULL, 0, NULL, 0, NULL) == COREWIRE_INVALID_ARGUMENT);
    corewire_channel *other = NULL;
    CHECK(corewire_channel_connect("soap://x:1", NULL, &other, NULL) == COREWIRE_INVALID_ARGUMENT);
    CHECK(corewire_channel_connect("native://127.0.0.1:1", NULL, &other, &error) ==
          COREWIRE_UNAVAILABLE);
    CHECK(corewire_error_kind_of(error) == COREWIRE_ERROR_NOT_SENT);
    CHECK(!corewire_error_may_have_executed(error));
    CHECK(contains(corewire_error_message(error), "refused"));
    corewire_error_free(error);
    corewire_channel_free(NULL);
    corewire_response_free(NULL);
    corewire_error_free(NULL);
    corewire_stream_free(NULL);
    corewire_loop_free(NULL);
    corewire_server_free(NULL);
    corewire_incoming_free(NULL);
    corewire_server_stream_free(NULL);
    CHECK(corewire_response_code(NULL) == COREWIRE_INTERNAL);
    CHECK(corewire_response_body(NULL).data == NULL);
    CHECK(strcmp(corewire_code_name(COREWIRE_NOT_FOUND), "NOT_FOUND") == 0);
    CHECK(strlen(corewire_version()) > 0);
}

/* The same library holds the GUTI allocator. */
static void gutis_are_allocated(void) {
    cw_guti_allocator *allocator = cw_guti_allocator_new();
    cw_guti guti;
    CHECK(cw_guti_allocate(allocator, &guti) == CW_GUTI_OK);
    CHECK(cw_guti_deallocate(allocator, &guti) == CW_GUTI_OK);
    cw_guti_allocator_free(allocator);
}

int main(void) {
    struct service service = {0};
    char endpoint[128];
    corewire_server *server = start(&service, endpoint, sizeof endpoint);
    corewire_channel_options options;
    corewire_channel_options_init(&options, sizeof options);
    options.call_timeout_us = 20000000;
    corewire_channel *channel = NULL;
    CHECK(corewire_channel_connect(endpoint, &options, &channel, NULL) == COREWIRE_OK);
    calls_block(channel);
    headers_go_both_ways(channel);
    failures_are_told(channel);
    answers_may_come_later(channel);
    events_arrive(channel, &service);
    streams_go_both_ways(channel, &service);
    streams_hold_back(channel, &service);
    calls_overlap(endpoint);
    a_loop_is_freed_with_calls_in_flight(endpoint);
    mistakes_are_refused(channel);
    gutis_are_allocated();
    corewire_channel_free(channel);
    /* Its caller has gone. */
    corewire_incoming *kept = atomic_exchange(&service.kept, NULL);
    CHECK(corewire_incoming_is_cancelled(kept));
    CHECK(corewire_reply(kept, COREWIRE_OK, NULL, NULL, 0, NULL, 0, NULL) == COREWIRE_CANCELLED);
    CHECK(corewire_server_drain(server, 2000000, NULL) == COREWIRE_OK);
    corewire_server_free(server);
    return 0;
}
