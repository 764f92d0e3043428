/* TLS, mutual TLS and shared memory from C11. The argument is the folder of the tests'
 * certificates. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "corewire.h"

static const char *folder;

/* A file of the folder; alive until the program ends. */
static const char *file(const char *name) {
    static char paths[16][512];
    static int used;
    CHECK(used < 16);
    snprintf(paths[used], sizeof paths[used], "%s/%s", folder, name);
    return paths[used++];
}

static corewire_slice text(const char *text) {
    corewire_slice slice = {text, strlen(text)};
    return slice;
}

static bool contains(const char *text, const char *part) {
    if (strstr(text, part) != NULL) return true;
    fprintf(stderr, "\"%s\" does not say \"%s\"\n", text, part);
    return false;
}

struct service {
    /* Whether the last call came with a certificate. */
    atomic_bool known;
    atomic_int faults;
    pthread_mutex_t mutex;
    char why[512];
};

static void on_call(void *user, corewire_incoming *call) {
    struct service *service = user;
    atomic_store(&service->known, corewire_incoming_peer_certificate(call).length > 100);
    const corewire_slice body = corewire_incoming_body(call);
    CHECK(corewire_reply(call, COREWIRE_OK, NULL, &body, 1, NULL, 0, NULL) == COREWIRE_OK);
}

static void on_fault(void *user, const char *peer, const char *why) {
    struct service *service = user;
    CHECK(corewire_in_callback());
    CHECK(strlen(peer) > 0);
    pthread_mutex_lock(&service->mutex);
    snprintf(service->why, sizeof service->why, "%s", why);
    pthread_mutex_unlock(&service->mutex);
    atomic_fetch_add(&service->faults, 1);
}

static corewire_server_options server_options(struct service *service) {
    corewire_server_options options;
    corewire_server_options_init(&options, sizeof options);
    options.loops = 1;
    options.on_fault = on_fault;
    options.on_fault_user = service;
    return options;
}

static corewire_server *start(struct service *service, const corewire_server_options *options) {
    const corewire_handler handler = {.size = sizeof handler, .user = service, .on_call = on_call};
    const char *const address = "127.0.0.1:0";
    corewire_server *server = NULL;
    corewire_error *error = NULL;
    if (corewire_server_start(&address, 1, options, &handler, 1, &server, &error) != COREWIRE_OK) {
        fprintf(stderr, "%s\n", corewire_error_message(error));
        exit(1);
    }
    return server;
}

static corewire_code try_to_start(const corewire_server_options *options, const char *says) {
    const corewire_handler handler = {.size = sizeof handler, .on_call = on_call};
    const char *const address = "127.0.0.1:0";
    corewire_server *server = NULL;
    corewire_error *error = NULL;
    const corewire_code code =
        corewire_server_start(&address, 1, options, &handler, 1, &server, &error);
    CHECK(server == NULL && error != NULL);
    CHECK(contains(corewire_error_message(error), says));
    corewire_error_free(error);
    return code;
}

static corewire_channel_options channel_options(const char *certificate, const char *key) {
    corewire_channel_options options;
    corewire_channel_options_init(&options, sizeof options);
    CHECK(options.tls_authorities == NULL && options.shared_memory == 0);
    CHECK(options.patience_us > 0);
    options.tls_authorities = file("authority.pem");
    options.tls_certificate = certificate;
    options.tls_key = key;
    return options;
}

/* Connects and calls once. NULL when it went well, else the error, owned by the caller. */
static corewire_error *call(const char *endpoint, const corewire_channel_options *options) {
    corewire_operation *echo = NULL;
    CHECK(corewire_operation_new("test.Service/Echo", &echo, NULL) == COREWIRE_OK);
    corewire_channel *channel = NULL;
    corewire_error *error = NULL;
    const corewire_slice body = text("hello");
    corewire_response *response = NULL;
    if (corewire_channel_connect(endpoint, options, &channel, &error) == COREWIRE_OK &&
        corewire_call(channel, echo, &body, 1, NULL, &response, &error) == COREWIRE_OK) {
        const corewire_slice answer = corewire_response_body(response);
        CHECK(answer.length == 5 && memcmp(answer.data, "hello", 5) == 0);
    }
    corewire_response_free(response);
    corewire_channel_free(channel);
    corewire_operation_free(echo);
    return error;
}

static void refused(const char *endpoint, const corewire_channel_options *options,
                    const char *says) {
    corewire_error *error = call(endpoint, options);
    CHECK(error != NULL);
    CHECK(contains(corewire_error_message(error), says));
    CHECK(corewire_error_code(error) == COREWIRE_UNAVAILABLE);
    CHECK(corewire_error_kind_of(error) == COREWIRE_ERROR_NOT_SENT);
    CHECK(!corewire_error_may_have_executed(error));
    corewire_error_free(error);
}

static void misused(const char *endpoint, const corewire_channel_options *options,
                    const char *says) {
    corewire_error *error = call(endpoint, options);
    CHECK(error != NULL);
    CHECK(contains(corewire_error_message(error), says));
    CHECK(corewire_error_kind_of(error) == COREWIRE_ERROR_MISUSE);
    corewire_error_free(error);
}

static void mutual_tls(void) {
    struct service service = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    corewire_server_options options = server_options(&service);
    options.tls_certificate = file("server.pem");
    options.tls_key = file("server.key");
    options.tls_authorities = file("authority.pem");
    corewire_server *server = start(&service, &options);
    const corewire_channel_options known = channel_options(file("client.pem"), file("client.key"));
    const corewire_channel_options unknown = channel_options(NULL, NULL);
    const char *const protocols[] = {"native", "grpc", "rest"};
    char endpoint[128];
    for (int i = 0; i < 3; ++i) {
        snprintf(endpoint, sizeof endpoint, "%s://%s", protocols[i],
                 corewire_server_address(server, 0));
        atomic_store(&service.known, false);
        CHECK(call(endpoint, &known) == NULL);
        CHECK(atomic_load(&service.known));
        refused(endpoint, &unknown, "requires a certificate");
    }
    for (int i = 0; i < 6000 && atomic_load(&service.faults) < 3; ++i) usleep(5000);
    CHECK(atomic_load(&service.faults) >= 3);
    pthread_mutex_lock(&service.mutex);
    CHECK(contains(service.why, "certificate"));
    pthread_mutex_unlock(&service.mutex);

    corewire_channel_options wrong = known;
    wrong.tls_server_name = "elsewhere.local";
    refused(endpoint, &wrong, "for another name");
    wrong.tls_server_name = "amf.local";
    CHECK(call(endpoint, &wrong) == NULL);
    wrong.tls_server_name = "not a name";
    misused(endpoint, &wrong, "not a name");
    wrong = known;
    wrong.tls_authorities = file("stranger.pem");
    corewire_error *error = call(endpoint, &wrong);
    CHECK(error != NULL && corewire_error_code(error) == COREWIRE_UNAVAILABLE);
    corewire_error_free(error);
    wrong = known;
    wrong.tls_key = NULL;
    misused(endpoint, &wrong, "tls_certificate has no tls_key");
    wrong = known;
    wrong.tls_authorities = NULL;
    misused(endpoint, &wrong, "tls_authorities is NULL");
    wrong.tls_authorities = file("missing.pem");
    misused(endpoint, &wrong, "missing.pem");
    /* Shared settings: the second channel goes on from the first one's session, known as before. */
    corewire_channel_options shared = known;
    shared.tls_shared = 1;
    for (int i = 0; i < 3; ++i) {
        atomic_store(&service.known, false);
        CHECK(call(endpoint, &shared) == NULL);
        CHECK(atomic_load(&service.known));
    }
    shared.tls_authorities = file("missing.pem");
    misused(endpoint, &shared, "missing.pem");
    /* A client that was built with the first version's header speaks clear text. */
    corewire_channel_options older;
    corewire_channel_options_init(&older, 4 * sizeof(uint64_t));
    CHECK(older.size == 4 * sizeof(uint64_t));
    error = call(endpoint, &older);
    CHECK(error != NULL);
    corewire_error_free(error);
    corewire_server_free(server);

    options.tls_allow_clear_text = 1;
    options.tls_client_certificates = COREWIRE_CLIENT_CERTIFICATES_OPTIONAL;
    server = start(&service, &options);
    snprintf(endpoint, sizeof endpoint, "native://%s", corewire_server_address(server, 0));
    CHECK(call(endpoint, &older) == NULL);
    CHECK(call(endpoint, &unknown) == NULL);
    CHECK(!atomic_load(&service.known));
    corewire_server_free(server);

    options.tls_client_certificates = 4;
    CHECK(try_to_start(&options, "COREWIRE_CLIENT_CERTIFICATES") == COREWIRE_INVALID_ARGUMENT);
    options.tls_client_certificates = COREWIRE_CLIENT_CERTIFICATES_REQUIRED;
    options.tls_key = file("client.key");
    CHECK(try_to_start(&options, "server.pem") == COREWIRE_INVALID_ARGUMENT);
    options.tls_certificate = NULL;
    options.tls_key = NULL;
    CHECK(try_to_start(&options, "tls_certificate is NULL") == COREWIRE_INVALID_ARGUMENT);
}

static void shared_memory(void) {
    struct service service = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    corewire_server_options options = server_options(&service);
    CHECK(options.shared_memory == 1);
    corewire_server *server = start(&service, &options);
    char endpoint[128];
    snprintf(endpoint, sizeof endpoint, "shm://%s", corewire_server_address(server, 0));
    CHECK(call(endpoint, NULL) == NULL);
    corewire_channel_options wanted;
    corewire_channel_options_init(&wanted, sizeof wanted);
    wanted.shared_memory = 1;
    wanted.patience_us = 0;
    snprintf(endpoint, sizeof endpoint, "native://%s", corewire_server_address(server, 0));
    CHECK(call(endpoint, &wanted) == NULL);
    corewire_server_free(server);

    /* Not offered: by name it is an error, otherwise the socket is taken. */
    options.shared_memory = 0;
    server = start(&service, &options);
    snprintf(endpoint, sizeof endpoint, "native://%s", corewire_server_address(server, 0));
    CHECK(call(endpoint, &wanted) == NULL);
    snprintf(endpoint, sizeof endpoint, "shm://%s", corewire_server_address(server, 0));
    refused(endpoint, NULL, "shm://");
    corewire_server_free(server);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    folder = arguments[1];
    mutual_tls();
    shared_memory();
    return 0;
}
