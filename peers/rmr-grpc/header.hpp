// The header of an RMR message, version 3: 280 octets, integers in network order unless it says
// otherwise. The areas for trace, d1 (its first octet is the call id) and d2 follow, then the
// payload.
#pragma once

#include <arpa/inet.h>

#include <cstddef>
#include <cstdint>

namespace peers::rmr_grpc {

struct Header {
    std::uint32_t mtype;
    std::uint32_t payload_length;
    std::uint32_t version;
    unsigned char transaction[32];
    unsigned char sid[32];
    unsigned char source[64];
    unsigned char meid[32];
    unsigned char padding[4];
    unsigned char timestamp[16];
    std::uint32_t flags;  ///< in the sender's own order
    std::uint32_t header_length;
    std::uint32_t trace_length;
    std::uint32_t d1_length;
    std::uint32_t d2_length;
    std::uint32_t sub_id;
    unsigned char source_ip[64];
};
static_assert(sizeof(Header) == 280 && offsetof(Header, flags) == 192 &&
              offsetof(Header, source_ip) == 216);

constexpr std::uint32_t kHeaderVersion = 3;
/// The sender waits in rmr_call: deliver as a request, whatever the call id says.
constexpr std::uint32_t kFlagCall = 4;
constexpr std::size_t kD1Length = 4;

}  // namespace peers::rmr_grpc
