// The messages of guti.proto, written and read in place: no payload is copied here.
#pragma once

#include <algorithm>
#include <array>
#include <corewire.hpp>
#include <cstdint>
#include <string_view>

#include "harness/adapter.hpp"

namespace peers::corewire_adapters {

inline constexpr const char* kAllocate = "guti.v1.GutiService/Allocate";
inline constexpr const char* kDeallocate = "guti.v1.GutiService/Deallocate";
inline constexpr const char* kAllocateStream = "guti.v1.GutiService/AllocateStream";

/// The octets of a message that come before its payload.
template <std::size_t Most>
class Head {
  public:
    [[nodiscard]] corewire_slice piece() const noexcept { return {octets_.data(), size_}; }

  protected:
    std::array<std::uint8_t, Most> octets_;
    std::size_t size_ = 0;
};

#ifdef PEERS_NEXT
/// What a later version says in its field 15, as the string "next".
inline constexpr std::array<std::uint8_t, 6> kLater{0x7a, 4, 'n', 'e', 'x', 't'};
#else
inline constexpr std::array<std::uint8_t, 0> kLater{};
#endif

class AllocateRequestHead : public Head<CW_GUTI_REQUEST_HEAD_MAX + kLater.size()> {
  public:
    explicit AllocateRequestHead(std::size_t payload) noexcept {
        std::copy(kLater.begin(), kLater.end(), octets_.begin());
        size_ = kLater.size();
        size_ += cw_guti_encode_allocate_request_head(payload, octets_.data() + size_);
    }
};

class AllocateResponseHead : public Head<CW_GUTI_RESPONSE_HEAD_MAX + kLater.size()> {
  public:
    AllocateResponseHead(const cw_guti& guti, std::size_t payload) noexcept {
        std::copy(kLater.begin(), kLater.end(), octets_.begin());
        size_ = kLater.size();
        size_ += cw_guti_encode_allocate_response_head(&guti, payload, octets_.data() + size_);
    }
};

/// A DeallocateRequest is its GUTI as field 1: an AllocateResponse without a payload.
class DeallocateRequest : public AllocateResponseHead {
  public:
    explicit DeallocateRequest(const cw_guti& guti) noexcept : AllocateResponseHead(guti, 0) {}
};

/// GUTI and payload of an AllocateResponse; the payload is borrowed from it. Throws CallError.
inline Response read_allocate_response(corewire::Bytes message) {
    cw_guti guti{};
    const std::uint8_t* payload = nullptr;
    std::size_t size = 0;
    if (cw_guti_decode_allocate_response(reinterpret_cast<const std::uint8_t*>(message.data()),
                                         message.size(), &guti, &payload, &size) != CW_GUTI_OK) {
        throw CallError("the answer is no AllocateResponse");
    }
    return {guti, {reinterpret_cast<const char*>(payload), size}};
}

/// The payload of an AllocateRequest, borrowed from it; false when it is none.
inline bool read_allocate_request(corewire::Bytes message, corewire_slice& payload) noexcept {
    const std::uint8_t* start = nullptr;
    std::size_t size = 0;
    if (cw_guti_decode_allocate_request(reinterpret_cast<const std::uint8_t*>(message.data()),
                                        message.size(), &start, &size) != CW_GUTI_OK) {
        return false;
    }
    payload = corewire::piece(start, size);
    return true;
}

/// The GUTI of a DeallocateRequest; false when it is none. See there.
inline bool read_deallocate_request(corewire::Bytes message, cw_guti& guti) noexcept {
    const std::uint8_t* payload = nullptr;
    std::size_t size = 0;
    return cw_guti_decode_allocate_response(reinterpret_cast<const std::uint8_t*>(message.data()),
                                            message.size(), &guti, &payload, &size) == CW_GUTI_OK;
}

}  // namespace peers::corewire_adapters
