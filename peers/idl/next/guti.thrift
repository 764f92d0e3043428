// As guti.proto beside it: the service as a later version might have it, for Thrift.
namespace cpp guti.thrift
namespace py guti_thrift

// 5G-GUTI, 3GPP TS 23.003 clause 2.10.
struct Guti {
  1: i16 mcc,
  2: i16 mnc,
  // 2 or 3: 01 and 001 are different networks.
  3: i8 mnc_digits,
  // Thrift has no unsigned integers: the bits of an unsigned 8-bit number.
  4: i8 amf_region,
  5: i16 amf_set,
  // The bits of an unsigned 32-bit number.
  7: i32 tmsi,
}

struct AllocateRequest {
  // Any bytes; they come back in the response.
  1: binary payload,
  15: string requester,
}

struct AllocateResponse {
  1: Guti guti,
  2: binary payload,
  15: string served_by,
}

struct DeallocateRequest {
  1: Guti guti,
}

struct DeallocateResponse {
}

exception GutiError {
  // The allocator's status: 1 exhausted, 2 unknown GUTI.
  1: i32 status,
  2: string message,
}

service GutiService {
  AllocateResponse Allocate(1: AllocateRequest request) throws (1: GutiError error),
  DeallocateResponse Deallocate(1: DeallocateRequest request) throws (1: GutiError error),
}
