/* The GUTI service from C, over Corewire's native protocol: corewire.h, with the messages of
 * corewire_guti.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corewire.h"
#include "corewire_guti.h"

static corewire_channel *channel;

static void stop(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* Ends the program with the error's own sentence, if there is one. */
static void check(corewire_error *error) {
    if (error == NULL) return;
    fprintf(stderr, "%s: %s\n", corewire_code_name(corewire_error_code(error)),
            corewire_error_message(error));
    exit(1);
}

static corewire_operation *operation(const char *name) {
    corewire_operation *operation = NULL;
    corewire_error *error = NULL;
    corewire_operation_new(name, &operation, &error);
    check(error);
    return operation;
}

static int is_well_formed(const cw_guti *guti) {
    const int most = guti->mnc_digits == 2 ? 99 : 999;
    return guti->mcc <= 999 && (guti->mnc_digits == 2 || guti->mnc_digits == 3) &&
           guti->mnc <= most && guti->amf_set <= 1023 && guti->amf_pointer <= 63 &&
           guti->tmsi != 0xffffffff;
}

static cw_guti allocate(const corewire_operation *allocate, size_t number) {
    char sent[40];
    const size_t length = (size_t)snprintf(sent, sizeof sent, "registration %zu", number);
    uint8_t head[CW_GUTI_REQUEST_HEAD_MAX];
    const size_t head_length = cw_guti_encode_allocate_request_head(length, head);
    const corewire_slice request[] = {{head, head_length}, {sent, length}};

    corewire_response *response = NULL;
    corewire_error *error = NULL;
    const corewire_code code =
        corewire_call(channel, allocate, request, 2, NULL, &response, &error);
    check(error);
    if (code != COREWIRE_OK) stop(corewire_code_name(code));

    const corewire_slice body = corewire_response_body(response);
    cw_guti guti;
    const uint8_t *payload;
    size_t payload_length;
    if (cw_guti_decode_allocate_response(body.data, body.length, &guti, &payload,
                                         &payload_length) != CW_GUTI_OK)
        stop("the answer is no AllocateResponse");
    if (payload_length != length || memcmp(payload, sent, length) != 0)
        stop("another payload came back");
    if (!is_well_formed(&guti)) stop("the answer holds no GUTI");
    corewire_response_free(response);
    return guti;
}

/* What the service says of it; `message` receives its sentence. */
static corewire_code deallocate(const corewire_operation *deallocate, const cw_guti *guti,
                                char *message, size_t size) {
    uint8_t octets[CW_GUTI_DEALLOCATE_MAX];
    const corewire_slice request = {octets, cw_guti_encode_deallocate_request(guti, octets)};
    corewire_response *response = NULL;
    corewire_error *error = NULL;
    const corewire_code code =
        corewire_call(channel, deallocate, &request, 1, NULL, &response, &error);
    check(error);
    const corewire_slice text = corewire_response_message(response);
    snprintf(message, size, "%.*s", (int)text.length, (const char *)text.data);
    corewire_response_free(response);
    return code;
}

static int by_value(const void *a, const void *b) {
    const cw_guti *left = a, *right = b;
    return (left->tmsi > right->tmsi) - (left->tmsi < right->tmsi);
}

int main(int argc, char **argv) {
    const size_t count = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (argc > 4 || count == 0) stop("usage: guti HOST:PORT COUNT [CERTIFICATES]");

    char endpoint[300];
    snprintf(endpoint, sizeof endpoint, "native://%s", argv[1]);
    corewire_channel_options options;
    corewire_channel_options_init(&options, sizeof options);
    if (argc == 4) { /* Mutual TLS. */
        static char authority[600], certificate[600], key[600];
        snprintf(authority, sizeof authority, "%s/authority.pem", argv[3]);
        snprintf(certificate, sizeof certificate, "%s/client.pem", argv[3]);
        snprintf(key, sizeof key, "%s/client.key", argv[3]);
        options.tls_authorities = authority;
        options.tls_certificate = certificate;
        options.tls_key = key;
    }
    corewire_error *error = NULL;
    corewire_channel_connect(endpoint, &options, &channel, &error);
    check(error);

    corewire_operation *take = operation("guti.v1.GutiService/Allocate");
    corewire_operation *give = operation("guti.v1.GutiService/Deallocate");
    corewire_operation *each = operation("guti.v1.GutiService/AllocateStream");

    cw_guti *gutis = calloc(count, sizeof *gutis);
    if (gutis == NULL) stop("no memory for so many GUTIs");
    for (size_t i = 0; i < count; i++) gutis[i] = allocate(take, i);
    /* All are of one AMF, so that they differ in their TMSI. */
    qsort(gutis, count, sizeof *gutis, by_value);
    for (size_t i = 1; i < count; i++)
        if (gutis[i - 1].tmsi == gutis[i].tmsi) stop("a GUTI was allocated twice");
    printf("allocated %zu GUTIs, all different; the smallest TMSI is %08x\n", count,
           (unsigned)gutis[0].tmsi);

    char message[200];
    for (size_t i = 0; i < count; i++)
        if (deallocate(give, &gutis[i], message, sizeof message) != COREWIRE_OK) stop(message);
    printf("deallocated %zu GUTIs\n", count);

    const corewire_code code = deallocate(give, &gutis[0], message, sizeof message);
    if (code != COREWIRE_NOT_FOUND) stop("a GUTI was deallocated twice");
    printf("unknown GUTI: %s: %s\n", corewire_code_name(code), message);

    /* A stream that nothing is sent on: the deadline is what ends it. */
    corewire_call_options short_lived;
    corewire_call_options_init(&short_lived, sizeof short_lived);
    short_lived.timeout_us = 200 * 1000;
    corewire_stream *stream = NULL;
    corewire_stream_open(channel, each, NULL, 0, &short_lived, &stream, &error);
    check(error);
    corewire_slice answer;
    if (corewire_stream_receive(stream, &answer, &error) != COREWIRE_DEADLINE_EXCEEDED)
        stop("the stream outlived its deadline");
    printf("deadline of 200 ms: %s: %s\n", corewire_code_name(corewire_error_code(error)),
           corewire_error_message(error));

    corewire_error_free(error);
    corewire_stream_free(stream);
    free(gutis);
    corewire_operation_free(each);
    corewire_operation_free(give);
    corewire_operation_free(take);
    corewire_channel_free(channel);
    return 0;
}
