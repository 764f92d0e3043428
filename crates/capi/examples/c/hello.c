/* A server and a call to it, with corewire.h. */
#include <stdio.h>
#include <string.h>

#include "corewire.h"

/* Runs on the server's event loop; must not block. */
static void on_greet(void *user, corewire_incoming *call) {
    (void)user;
    const corewire_slice pieces[] = {{"hello, ", 7}, corewire_incoming_body(call)};
    /* The name is sent from where it was received. This frees the call. */
    corewire_reply(call, COREWIRE_OK, NULL, pieces, 2, NULL, 0, NULL);
}

static int fail(corewire_error *error) {
    fprintf(stderr, "%s\n", corewire_error_message(error));
    corewire_error_free(error);
    return 1;
}

int main(void) {
    const char *const addresses[] = {"127.0.0.1:0"};
    const corewire_handler handler = {
        .size = sizeof handler, .operation = "greeter.v1.Greeter/Greet", .on_call = on_greet};
    corewire_server *server = NULL;
    corewire_error *error = NULL;
    if (corewire_server_start(addresses, 1, NULL, &handler, 1, &server, &error)) return fail(error);

    char endpoint[128];
    snprintf(endpoint, sizeof endpoint, "native://%s", corewire_server_address(server, 0));
    corewire_channel *channel = NULL;
    if (corewire_channel_connect(endpoint, NULL, &channel, &error)) return fail(error);
    corewire_operation *greet = NULL;
    if (corewire_operation_new("greeter.v1.Greeter/Greet", &greet, &error)) return fail(error);

    const corewire_slice name = {"AMF", 3};
    corewire_response *response = NULL;
    if (corewire_call(channel, greet, &name, 1, NULL, &response, &error)) return fail(error);
    const corewire_slice body = corewire_response_body(response);
    printf("%.*s\n", (int)body.length, (const char *)body.data);

    corewire_response_free(response);
    corewire_operation_free(greet);
    corewire_channel_free(channel);
    corewire_server_free(server);
    return 0;
}
