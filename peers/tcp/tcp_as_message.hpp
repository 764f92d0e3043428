// What TCP-AS puts on the wire: a fixed-length header {type, tag, length} and a body. Header and
// GUTI travel as the memory of their C structs, so both ends must be the same build: one of the
// adapter's known shortcomings.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "corewire_guti.h"
#include "tcp/socket.hpp"

namespace peers::tcp_as {

enum class Type : std::uint32_t {
    allocate_request = 1,     // body: payload
    allocate_response = 2,    // body: cw_guti, payload
    deallocate_request = 3,   // body: cw_guti
    deallocate_response = 4,  // body: empty
    failure = 5,              // body: std::int32_t, a status of the allocator or kNotUnderstood
};

#ifdef PEERS_NEXT
/// A later version, which has one field more to tell.
struct GutiOnWire : cw_guti {
    std::uint32_t served_by = 0;
};
#else
using GutiOnWire = cw_guti;
#endif

inline constexpr std::int32_t kNotUnderstood = -1;
/// A longer message is taken for nonsense and ends the connection.
inline constexpr std::uint32_t kLongestBody = 256U << 20;

struct Header {
    Type type;
    /// Bytes of the body.
    std::uint32_t length;
    /// Chosen by the client, returned by the server.
    std::uint64_t tag;
};

/// Marshals a message into a fresh byte array: header, then `first`, then `second`.
inline std::vector<std::uint8_t> marshal(Type type, std::uint64_t tag, std::string_view first,
                                         std::string_view second = {}) {
    const Header header{type, static_cast<std::uint32_t>(first.size() + second.size()), tag};
    std::vector<std::uint8_t> message(sizeof header + header.length);
    std::memcpy(message.data(), &header, sizeof header);
    if (!first.empty()) std::memcpy(message.data() + sizeof header, first.data(), first.size());
    if (!second.empty()) {
        std::memcpy(message.data() + sizeof header + first.size(), second.data(), second.size());
    }
    return message;
}

/// The bytes of a C struct.
template <typename Struct>
std::string_view bytes_of(const Struct& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Reads a C struct from the start of a body; false when the body is too short.
template <typename Struct>
bool read_struct(const std::vector<std::uint8_t>& body, Struct& out) {
    if (body.size() < sizeof out) return false;
    std::memcpy(&out, body.data(), sizeof out);
    return true;
}

/// Receives one message into a fresh byte array. False at the end of the stream; throws
/// std::runtime_error (of which std::system_error is one) when the connection is of no more use.
inline bool receive(const Socket& socket, Header& header, std::vector<std::uint8_t>& body) {
    if (!socket.receive_all(&header, sizeof header)) return false;
    if (header.length > kLongestBody) throw std::runtime_error("the message is too long");
    body = std::vector<std::uint8_t>(header.length);
    if (header.length > 0 && !socket.receive_all(body.data(), body.size())) {
        throw std::runtime_error("the connection ended in the middle of a message");
    }
    return true;
}

}  // namespace peers::tcp_as
