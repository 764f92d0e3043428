// What the floor sends: a header of 40 bytes and the payload, the same both ways. The server writes
// the GUTI into the header in place and sends the same memory back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/adapter.hpp"

namespace peers::floor_programs {

struct Header {
    std::uint32_t length;
    std::int32_t status;
    cw_guti guti;
};
inline constexpr std::size_t kHeader = 40;
static_assert(sizeof(Header) <= kHeader);
/// A longer payload is taken for nonsense.
inline constexpr std::uint32_t kLongest = 16U << 20;

inline Header read_header(const char* from) {
    Header header;
    std::memcpy(&header, from, sizeof header);
    return header;
}

inline void write_header(char* to, const Header& header) {
    std::memcpy(to, &header, sizeof header);
}

/// Answers one request in place.
inline void answer(char* request, Allocator& allocator) {
    Header header = read_header(request);
    header.status = allocator.allocate(header.guti);
    write_header(request, header);
}

/// Octets received, of which whole messages are taken from the front.
class Buffer {
  public:
    Buffer() : octets_(256 << 10) {}

    /// Where to receive to. What was taken and not dropped may move.
    char* room() {
        if (space() < (64 << 10)) {
            std::memmove(octets_.data(), octets_.data() + start_, end_ - start_);
            end_ -= start_;
            next_ -= start_;
            start_ = 0;
            if (space() < (128 << 10)) octets_.resize(octets_.size() + (256 << 10));
        }
        return octets_.data() + end_;
    }
    [[nodiscard]] std::size_t space() const { return octets_.size() - end_; }
    void received(std::size_t count) { end_ += count; }

    /// The next whole message, header first, or null. Throws CallError at one that is too long.
    char* message() {
        if (end_ - next_ < kHeader) return nullptr;
        const std::uint32_t length = read_header(octets_.data() + next_).length;
        if (length > kLongest) throw CallError("the message is too long");
        if (end_ - next_ < kHeader + length) return nullptr;
        char* found = octets_.data() + next_;
        next_ += kHeader + length;
        return found;
    }

    /// The messages taken so far, in one piece, until `drop`.
    [[nodiscard]] const char* taken() const { return octets_.data() + start_; }
    [[nodiscard]] std::size_t taken_size() const { return next_ - start_; }
    void drop() {
        start_ = next_;
        if (start_ == end_) start_ = next_ = end_ = 0;
    }

  private:
    std::vector<char> octets_;
    /// Not dropped; not taken; not filled: in this order.
    std::size_t start_ = 0;
    std::size_t next_ = 0;
    std::size_t end_ = 0;
};

}  // namespace peers::floor_programs
