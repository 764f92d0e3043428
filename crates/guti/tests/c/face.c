/* Uses every function of corewire_guti.h as a C11 program would. Prints the line of what fails. */
#include <stdio.h>
#include <string.h>

#include "corewire_guti.h"

static int failures = 0;

#define CHECK(condition)                                            \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            failures++;                                             \
        }                                                           \
    } while (0)

static void allocator(void) {
    cw_guti_allocator *allocator = cw_guti_allocator_new();
    CHECK(allocator != NULL);
    cw_guti a, b;
    CHECK(cw_guti_allocate(allocator, &a) == CW_GUTI_OK);
    CHECK(cw_guti_allocate(allocator, &b) == CW_GUTI_OK);
    CHECK(a.mcc == 1 && a.mnc == 1 && a.mnc_digits == 2);
    CHECK(a.amf_region == 2 && a.amf_set == 1 && a.amf_pointer == 0);
    CHECK(a.tmsi != b.tmsi);

    CHECK(cw_guti_deallocate(allocator, &a) == CW_GUTI_OK);
    CHECK(cw_guti_deallocate(allocator, &a) == CW_GUTI_UNKNOWN);
    cw_guti other_amf = b;
    other_amf.amf_pointer = 1;
    CHECK(cw_guti_deallocate(allocator, &other_amf) == CW_GUTI_UNKNOWN);
    cw_guti no_guti = b;
    no_guti.amf_pointer = 64;
    CHECK(cw_guti_deallocate(allocator, &no_guti) == CW_GUTI_INVALID);
    no_guti = b;
    no_guti.tmsi = 0xffffffff;
    CHECK(cw_guti_deallocate(allocator, &no_guti) == CW_GUTI_INVALID);
    CHECK(cw_guti_deallocate(allocator, &b) == CW_GUTI_OK);

    CHECK(cw_guti_allocate(NULL, &a) == CW_GUTI_INVALID);
    CHECK(cw_guti_allocate(allocator, NULL) == CW_GUTI_INVALID);
    CHECK(cw_guti_deallocate(NULL, &a) == CW_GUTI_INVALID);
    CHECK(cw_guti_deallocate(allocator, NULL) == CW_GUTI_INVALID);
    cw_guti_allocator_free(allocator);
    cw_guti_allocator_free(NULL);
}

static void request(void) {
    uint8_t message[CW_GUTI_REQUEST_HEAD_MAX + 300];
    size_t head = cw_guti_encode_allocate_request_head(300, message);
    static const uint8_t expected[] = {0x0a, 0xac, 0x02};
    CHECK(head == sizeof expected && memcmp(message, expected, head) == 0);
    memset(message + head, 'x', 300);

    const uint8_t *payload = NULL;
    size_t len = 0;
    CHECK(cw_guti_decode_allocate_request(message, head + 300, &payload, &len) == CW_GUTI_OK);
    CHECK(payload == message + head && len == 300);
    CHECK(cw_guti_decode_allocate_request(message, head + 299, &payload, &len) ==
          CW_GUTI_MALFORMED);
    CHECK(payload == message + head && len == 300); /* untouched by the failure */

    CHECK(cw_guti_encode_allocate_request_head(0, message) == 0);
    CHECK(cw_guti_decode_allocate_request(NULL, 0, &payload, &len) == CW_GUTI_OK && len == 0);
    CHECK(cw_guti_decode_allocate_request(NULL, 1, &payload, &len) == CW_GUTI_INVALID);
    CHECK(cw_guti_decode_allocate_request(message, 0, NULL, &len) == CW_GUTI_INVALID);
    CHECK(cw_guti_encode_allocate_request_head(0, NULL) == 0);
    CHECK(cw_guti_encode_allocate_request_head(SIZE_MAX, message) == 11);
}

static void response(void) {
    const cw_guti guti = {.mcc = 310,
                          .mnc = 410,
                          .mnc_digits = 3,
                          .amf_region = 0xca,
                          .amf_set = 1016,
                          .amf_pointer = 63,
                          .tmsi = 0xdeadbeef};
    uint8_t message[CW_GUTI_RESPONSE_HEAD_MAX + 2];
    size_t head = cw_guti_encode_allocate_response_head(&guti, 2, message);
    CHECK(head > 0 && head <= 34);
    message[head] = 'h';
    message[head + 1] = 'i';

    cw_guti back;
    const uint8_t *payload = NULL;
    size_t len = 0;
    CHECK(cw_guti_decode_allocate_response(message, head + 2, &back, &payload, &len) == CW_GUTI_OK);
    CHECK(payload == message + head && len == 2);
    CHECK(back.mcc == 310 && back.mnc == 410 && back.mnc_digits == 3);
    CHECK(back.amf_region == 0xca && back.amf_set == 1016 && back.amf_pointer == 63);
    CHECK(back.tmsi == 0xdeadbeef);

    /* No GUTI in it. */
    CHECK(cw_guti_decode_allocate_response(message, 0, &back, &payload, &len) == CW_GUTI_MALFORMED);
    CHECK(cw_guti_decode_allocate_response(NULL, 2, &back, &payload, &len) == CW_GUTI_INVALID);
    cw_guti no_guti = guti;
    no_guti.mnc_digits = 4;
    CHECK(cw_guti_encode_allocate_response_head(&no_guti, 2, message) == 0);
    CHECK(cw_guti_encode_allocate_response_head(NULL, 2, message) == 0);
}

static void deallocate(void) {
    cw_guti guti = {.mcc = 1, .mnc = 1, .mnc_digits = 2, .amf_set = 1, .tmsi = 0x01020304};
    uint8_t message[CW_GUTI_DEALLOCATE_MAX];
    /* Field 1: a GUTI, whose fields of value zero are left out. */
    static const uint8_t expected[] = {0x0a, 13, 0x08, 1, 0x10, 1, 0x18, 2,
                                       0x28, 1,  0x3d, 4, 3,    2, 1};
    size_t len = cw_guti_encode_deallocate_request(&guti, message);
    CHECK(len == sizeof expected && memcmp(message, expected, len) == 0);
    const cw_guti longest = {999, 999, 3, 255, 1023, 63, 0xfffffffe};
    CHECK(cw_guti_encode_deallocate_request(&longest, message) == 23);

    CHECK(cw_guti_encode_deallocate_request(NULL, message) == 0);
    CHECK(cw_guti_encode_deallocate_request(&guti, NULL) == 0);
    guti.mnc = 100;
    CHECK(cw_guti_encode_deallocate_request(&guti, message) == 0);
}

int main(void) {
    allocator();
    request();
    response();
    deallocate();
    return failures != 0;
}
