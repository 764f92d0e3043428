// What both halves of the adapter CAPNP share.
#pragma once

#include <kj/exception.h>

#include <memory>
#include <string>

#include "guti.capnp.h"
#include "harness/adapter.hpp"

namespace peers::capnp_adapter {

/// What a message holds besides its payload, in words of eight octets, so that it is made in one
/// segment.
inline constexpr std::uint64_t kOverhead = 24;

inline ::capnp::MessageSize size_of(std::size_t payload) {
    return {payload / sizeof(::capnp::word) + kOverhead, 0};
}

inline std::string text_of(const kj::Exception& error) {
    const kj::StringPtr description = error.getDescription();
    return {description.begin(), description.size()};
}

std::unique_ptr<Server> serve(const Endpoint& listen, Allocator& allocator);
std::unique_ptr<Connector> connector(const Endpoint& server, Connections connections);

}  // namespace peers::capnp_adapter
