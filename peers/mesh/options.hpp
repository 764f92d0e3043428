// The options of both programs, the same as those of `corewire nf smf-gateway` and
// `smf-pdu-session` as far as the lab uses them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/clock.hpp"

namespace mesh {

/// What speaks.
enum class Kind { grpc, shim, nghttp2 };

/// PEM files; empty: none, and without authorities or certificate clear text is spoken.
struct Certificates {
    std::string certificate;
    std::string key;
    std::string authorities;
};

struct GatewayOptions {
    Kind kind = Kind::grpc;
    /// "host:port,host:port,..." or "xds:///SERVICE".
    std::string target;
    /// Requests a second; nothing: closed loop.
    std::optional<double> rate = 1500;
    unsigned in_flight = 60;
    std::size_t payload = 1024;
    double duration = 5;
    double warmup = 1;
    double patience = 10;
    /// Requests before the warm-up, so that every replica is connected.
    unsigned connect = 1;
    /// To replicas that are listed; by name, the control plane and the bootstrap say.
    Certificates tls;
    bool help = false;
    peers::Nanoseconds started = 0;
};

struct ReplicaOptions {
    Kind kind = Kind::grpc;
    /// So many free ports of 127.0.0.1.
    unsigned ports = 1;
    Certificates tls;
    bool help = false;
};

/// Both throw peers::UsageError.
GatewayOptions parse_gateway_options(int argc, const char* const* argv);
ReplicaOptions parse_replica_options(int argc, const char* const* argv);

/// The addresses of a target that is a list.
std::vector<std::string> addresses_of(const std::string& target);

extern const char* const kGatewayHelp;
extern const char* const kReplicaHelp;

}  // namespace mesh
