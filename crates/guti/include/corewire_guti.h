/*
 * corewire_guti.h - the GUTI allocator and the messages of the GUTI service, for C and C++.
 *
 * Link with libcorewire_guti.a (cargo build --release -p corewire-guti) and, on Linux,
 * with -lpthread -ldl -lm. Programs that link libcorewire.a find the same functions in there and
 * do not link libcorewire_guti.a as well.
 *
 * All functions may be called from any thread. None calls back, none blocks, none throws.
 * The layout of the messages is that of guti.proto (package guti.v1).
 */
#ifndef COREWIRE_GUTI_H
#define COREWIRE_GUTI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions that return int return. */
enum {
    CW_GUTI_OK = 0,
    /* Every GUTI is allocated; the call succeeds again once one is given back. */
    CW_GUTI_EXHAUSTED = 1,
    /* Not allocated here: never, no longer, or by another AMF. */
    CW_GUTI_UNKNOWN = 2,
    /* A null pointer, or numbers that make no GUTI: a fault of the caller. */
    CW_GUTI_INVALID = 3,
    /* The octets are no such message: a fault of the peer. */
    CW_GUTI_MALFORMED = 4,
    /* A defect of this library, caught. Nothing was written to the outputs. */
    CW_GUTI_INTERNAL = 5
};

/* Sizes of the buffers for message heads. */
#define CW_GUTI_REQUEST_HEAD_MAX 16
#define CW_GUTI_RESPONSE_HEAD_MAX 64
/* Size of the buffer for a whole DeallocateRequest. */
#define CW_GUTI_DEALLOCATE_MAX 32

/* A 5G-GUTI (TS 23.003 clause 2.10). */
typedef struct cw_guti {
    uint16_t mcc;        /* mobile country code, 0 to 999 */
    uint16_t mnc;        /* mobile network code, 0 to 99 or 999 */
    uint8_t mnc_digits;  /* digits of the network code: 2 or 3 */
    uint8_t amf_region;  /* AMF region ID */
    uint16_t amf_set;    /* AMF set ID, 0 to 1023 */
    uint8_t amf_pointer; /* AMF pointer, 0 to 63 */
    uint32_t tmsi;       /* 5G-TMSI, any but 0xffffffff */
} cw_guti;

/* Allocates the GUTIs of one AMF: unique while allocated, and not to be guessed. */
typedef struct cw_guti_allocator cw_guti_allocator;

/*
 * A new allocator for 64 Mi GUTIs of PLMN 001/01, AMF region 2, set 1, pointer 0, with a random
 * key. Owned by the caller, who gives it to cw_guti_allocator_free. NULL when the system has no
 * randomness to give.
 */
cw_guti_allocator *cw_guti_allocator_new(void);

/* Frees an allocator, which no thread may use any more. NULL is allowed and does nothing. */
void cw_guti_allocator_free(cw_guti_allocator *allocator);

/* Allocates a GUTI into *out. CW_GUTI_OK, CW_GUTI_EXHAUSTED or CW_GUTI_INVALID (null pointer). */
int cw_guti_allocate(cw_guti_allocator *allocator, cw_guti *out);

/*
 * Gives a GUTI back. CW_GUTI_OK, CW_GUTI_UNKNOWN (not allocated here, nothing was changed), or
 * CW_GUTI_INVALID (null pointer, or numbers that make no GUTI).
 */
int cw_guti_deallocate(cw_guti_allocator *allocator, const cw_guti *guti);

/*
 * Writes the octets that come before the payload in an AllocateRequest, and returns how many (at
 * most 11; 0 for an empty payload, whose request is empty). The message is these, then the
 * payload as it is: it need not be copied.
 */
size_t cw_guti_encode_allocate_request_head(size_t payload_len,
                                            uint8_t out[CW_GUTI_REQUEST_HEAD_MAX]);

/*
 * Writes the octets that come before the payload in an AllocateResponse, and returns how many (at
 * most 34). 0 for a null pointer or numbers that make no GUTI.
 */
size_t cw_guti_encode_allocate_response_head(const cw_guti *guti, size_t payload_len,
                                             uint8_t out[CW_GUTI_RESPONSE_HEAD_MAX]);

/*
 * Writes a DeallocateRequest, and returns its length (at most 23). 0 for a null pointer or numbers
 * that make no GUTI.
 */
size_t cw_guti_encode_deallocate_request(const cw_guti *guti, uint8_t out[CW_GUTI_DEALLOCATE_MAX]);

/*
 * Finds the payload of an AllocateRequest. *payload points into the message (also when *payload_len
 * is 0) and lives as long as it. CW_GUTI_OK, CW_GUTI_MALFORMED or CW_GUTI_INVALID (null pointer;
 * a null message of length 0 is allowed and has an empty payload). Outputs change on success only.
 */
int cw_guti_decode_allocate_request(const uint8_t *message, size_t len, const uint8_t **payload,
                                    size_t *payload_len);

/* Finds GUTI and payload of an AllocateResponse, as cw_guti_decode_allocate_request does. */
int cw_guti_decode_allocate_response(const uint8_t *message, size_t len, cw_guti *guti,
                                     const uint8_t **payload, size_t *payload_len);

#ifdef __cplusplus
}
#endif

#endif /* COREWIRE_GUTI_H */
