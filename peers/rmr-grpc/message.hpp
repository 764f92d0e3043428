// Message buffers: the public rmr_mbuf_t and the block of memory that it points into.
#pragma once

#include <rmr/rmr.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rmr-grpc/header.hpp"

namespace peers::rmr_grpc {

/// What a message says about who sent it.
struct Source {
    std::string name;  ///< host:port, where replies are sent to
    std::string ip;    ///< ip:port, for when the name cannot be resolved
};

struct FreeMessage {
    void operator()(rmr_mbuf_t* message) const noexcept;
};
using MessagePtr = std::unique_ptr<rmr_mbuf_t, FreeMessage>;

/// In rmr_mbuf_t::flags: the header names another as its source; put ours in when it is sent.
constexpr int kNeedsSource = 1;

inline Header& header(const rmr_mbuf_t& message) noexcept {
    return *static_cast<Header*>(message.header);
}
/// Octets before the payload: header, trace, d1 and d2.
std::size_t payload_offset(const Header& header) noexcept;
std::size_t trace_length(const rmr_mbuf_t& message) noexcept;
unsigned char* trace(const rmr_mbuf_t& message) noexcept;
std::size_t payload_capacity(const rmr_mbuf_t& message) noexcept;
/// Null when the header has no d1 area.
unsigned char* call_id(const rmr_mbuf_t& message) noexcept;
/// Fields of the header hold text that need not end in a zero octet.
std::string text(const unsigned char* field, std::size_t size);
void put_source(rmr_mbuf_t& message, const Source& source) noexcept;

/// A message to be sent. Throws std::bad_alloc.
MessagePtr make_message(std::size_t payload, std::size_t trace, const Source& source);
/// Makes a message that was sent into a new one of the same capacity and trace size.
void make_new(rmr_mbuf_t& message, const Source& source) noexcept;
/// A copy, header and used payload and all, with room for `payload` octets and `trace` octets of
/// trace data.
MessagePtr copy(const rmr_mbuf_t& message, std::size_t payload, std::size_t trace);
/// Writes what the application put into the public fields into the header; the octets to be sent.
/// A length that the buffer does not have is cut to what it has.
std::string_view seal(rmr_mbuf_t& message) noexcept;
/// Takes a message that arrived into `spare`, or into a new one when `spare` is null or too small.
/// Null when the octets are no RMR message. `slack` is capacity beyond the payload.
MessagePtr take(std::string_view octets, MessagePtr spare, std::size_t slack);

}  // namespace peers::rmr_grpc
