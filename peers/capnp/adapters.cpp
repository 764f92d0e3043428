// Cap'n Proto: its RPC system over TCP, two parties a connection.
#include "capnp/adapters.hpp"

#include <capnp/common.h>

#include <string>

#include "capnp/common.hpp"

namespace peers {

Implementation make_capnp() {
    return {capnp_adapter::serve, capnp_adapter::connector, [] {
                const std::string version = std::to_string(CAPNP_VERSION_MAJOR) + "." +
                                            std::to_string(CAPNP_VERSION_MINOR) + "." +
                                            std::to_string(CAPNP_VERSION_MICRO);
                return Versions{{"capnproto", version}};
            }};
}

}  // namespace peers
