#include "rmr-grpc/message.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace peers::rmr_grpc {

namespace {

/// Marks a buffer that was not freed.
constexpr int kCookie = 0x5242;

/// Where the parts of a message are, once its header is in place.
void point_into(rmr_mbuf_t& message) noexcept {
    Header& head = header(message);
    message.payload = static_cast<unsigned char*>(message.header) + payload_offset(head);
    message.xaction = head.transaction;
}

MessagePtr allocate(std::size_t capacity) {
    MessagePtr message(static_cast<rmr_mbuf_t*>(std::calloc(1, sizeof(rmr_mbuf_t))));
    if (!message) {
        throw std::bad_alloc();
    }
    message->cookie = kCookie;
    message->rts_fd = -1;
    message->header = std::malloc(capacity);
    if (message->header == nullptr) {
        throw std::bad_alloc();
    }
    message->tp_buf = message->header;
    message->alloc_len = static_cast<int>(capacity);
    return message;
}

void fill(unsigned char* field, std::size_t size, std::string_view value) noexcept {
    const std::size_t used = std::min(size - 1, value.size());
    std::memcpy(field, value.data(), used);
    std::memset(field + used, 0, size - used);
}

void initialise(rmr_mbuf_t& message, std::size_t trace, const Source& source) noexcept {
    Header& head = header(message);
    std::memset(&head, 0, sizeof(Header) + trace + kD1Length);
    head.version = htonl(kHeaderVersion);
    head.header_length = htonl(sizeof(Header));
    head.trace_length = htonl(static_cast<std::uint32_t>(trace));
    head.d1_length = htonl(kD1Length);
    message.mtype = RMR_VOID_MSGTYPE;
    message.sub_id = RMR_VOID_SUBID;
    message.len = 0;
    message.state = RMR_OK;
    message.tp_state = 0;
    message.flags = 0;
    put_source(message, source);
    point_into(message);
}

}  // namespace

void FreeMessage::operator()(rmr_mbuf_t* message) const noexcept {
    if (message == nullptr || message->cookie != kCookie) {
        return;
    }
    message->cookie = 0;
    std::free(message->tp_buf);
    std::free(message);
}

std::size_t payload_offset(const Header& head) noexcept {
    return std::size_t{ntohl(head.header_length)} + ntohl(head.trace_length) +
           ntohl(head.d1_length) + ntohl(head.d2_length);
}

std::size_t trace_length(const rmr_mbuf_t& message) noexcept {
    return ntohl(header(message).trace_length);
}

unsigned char* trace(const rmr_mbuf_t& message) noexcept {
    return static_cast<unsigned char*>(message.header) + ntohl(header(message).header_length);
}

std::size_t payload_capacity(const rmr_mbuf_t& message) noexcept {
    return static_cast<std::size_t>(message.alloc_len) - payload_offset(header(message));
}

unsigned char* call_id(const rmr_mbuf_t& message) noexcept {
    return header(message).d1_length == 0 ? nullptr : trace(message) + trace_length(message);
}

std::string text(const unsigned char* field, std::size_t size) {
    const auto* begin = reinterpret_cast<const char*>(field);
    return {begin, strnlen(begin, size)};
}

void put_source(rmr_mbuf_t& message, const Source& source) noexcept {
    Header& head = header(message);
    fill(head.source, sizeof(head.source), source.name);
    fill(head.source_ip, sizeof(head.source_ip), source.ip);
    message.flags &= ~kNeedsSource;
}

MessagePtr make_message(std::size_t payload, std::size_t trace, const Source& source) {
    MessagePtr message = allocate(sizeof(Header) + trace + kD1Length + payload);
    initialise(*message, trace, source);
    return message;
}

void make_new(rmr_mbuf_t& message, const Source& source) noexcept {
    initialise(message, trace_length(message), source);
}

MessagePtr copy(const rmr_mbuf_t& message, std::size_t payload, std::size_t new_trace) {
    const Header& from = header(message);
    const std::size_t used =
        std::min(static_cast<std::size_t>(std::max(message.len, 0)), payload_capacity(message));
    const std::size_t old_trace = trace_length(message);
    const std::size_t fixed = payload_offset(from) - old_trace;
    MessagePtr made = allocate(fixed + new_trace + std::max(payload, used));

    auto* to = static_cast<unsigned char*>(made->header);
    const auto* source = static_cast<const unsigned char*>(message.header);
    const std::size_t before = ntohl(from.header_length);
    std::memcpy(to, source, before);
    const std::size_t same = std::min(old_trace, new_trace);
    std::memcpy(to + before, source + before, same);
    std::memset(to + before + same, 0, new_trace - same);
    std::memcpy(to + before + new_trace, source + before + old_trace, fixed - before);
    header(*made).trace_length = htonl(static_cast<std::uint32_t>(new_trace));
    point_into(*made);
    std::memcpy(made->payload, message.payload, used);
    made->mtype = message.mtype;
    made->sub_id = message.sub_id;
    made->len = message.len;
    made->state = message.state;
    made->flags = message.flags;
    return made;
}

std::string_view seal(rmr_mbuf_t& message) noexcept {
    Header& head = header(message);
    const std::size_t length =
        std::min(static_cast<std::size_t>(std::max(message.len, 0)), payload_capacity(message));
    head.mtype = htonl(static_cast<std::uint32_t>(message.mtype));
    head.sub_id = htonl(static_cast<std::uint32_t>(message.sub_id));
    head.payload_length = htonl(static_cast<std::uint32_t>(length));
    return {static_cast<const char*>(message.header), payload_offset(head) + length};
}

MessagePtr take(std::string_view octets, MessagePtr spare, std::size_t slack) {
    if (octets.size() < sizeof(Header)) {
        return nullptr;
    }
    Header head;
    std::memcpy(&head, octets.data(), sizeof(Header));
    const std::size_t offset = payload_offset(head);
    const std::size_t length = ntohl(head.payload_length);
    if (ntohl(head.header_length) != sizeof(Header) || offset > octets.size() ||
        length > octets.size() - offset) {
        return nullptr;
    }
    // Whatever areas it came with, it can become a message of ours.
    const std::size_t ours = sizeof(Header) + ntohl(head.trace_length) + kD1Length;
    const std::size_t needed = std::max(offset, ours) + std::max(length, slack);
    if (!spare || static_cast<std::size_t>(spare->alloc_len) < needed) {
        spare = allocate(needed);
    }
    std::memcpy(spare->header, octets.data(), offset + length);
    point_into(*spare);
    spare->mtype = static_cast<int>(ntohl(head.mtype));
    spare->sub_id = static_cast<int>(ntohl(head.sub_id));
    spare->len = static_cast<int>(length);
    spare->state = RMR_OK;
    spare->tp_state = 0;
    spare->flags = kNeedsSource;
    return spare;
}

}  // namespace peers::rmr_grpc
