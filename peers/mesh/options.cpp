#include "mesh/options.hpp"

#include "harness/arguments.hpp"

namespace mesh {

const char* const kGatewayHelp =
    R"(An SMF gateway in C++: sends SM-Context-Create requests and measures them.

Usage: corewire-mesh-gateway --target TARGET [options]

  --kind grpc|shim|nghttp2  what carries requests (default grpc). shim: gRPC under an HTTP/2-shaped
                            call, with SBI headers as metadata and the body copied as bytes
  --target TARGET           HOST:PORT,HOST:PORT,... in turn, or xds:///SERVICE (gRPC and shim)
  --rate RATE|max           requests a second, open loop (default 1500), or a closed loop
  --in-flight N             requests in flight with --rate max (default 60)
  --payload OCTETS          of a request (default 1024)
  --duration SECONDS        measured (default 5)
  --warmup SECONDS          before that (default 1)
  --patience SECONDS        for the service to be reached (default 10)
  --connect N               requests before the warm-up (default 1)
  --tls-certificate FILE, --tls-key FILE, --tls-authorities FILE
                            TLS to listed replicas: our certificate, whose are believed (gRPC and
                            shim). By name, the control plane and the bootstrap say
  --json                    accepted; the output is always JSON lines

Prints JSON events as corewire-peer-client does, with one_way and first_answer_ns besides.
)";

const char* const kReplicaHelp =
    R"(An SMF-PDU-Session replica in C++: answers SM-Context-Create.

Usage: corewire-mesh-replica [options]

  --kind grpc|shim|nghttp2  what it speaks (default grpc)
  --ports N                 listen at so many free ports, one thread for all (default 1)
  --tls-certificate FILE, --tls-key FILE, --tls-authorities FILE
                            mutual TLS (gRPC and shim)
  --json                    accepted; the output is always JSON lines

Prints a JSON line with its addresses. Runs until SIGTERM, SIGINT or the end of standard input.
)";

namespace {

using peers::Arguments;
using peers::UsageError;

Kind parse_kind(const std::string& name) {
    if (name == "grpc") return Kind::grpc;
    if (name == "shim") return Kind::shim;
    if (name == "nghttp2") return Kind::nghttp2;
    throw UsageError("--kind is grpc, shim or nghttp2, not '" + name + "'");
}

/// Whether it was one of these options.
bool parse_tls(Arguments& arguments, Certificates& tls) {
    if (arguments.is("--tls-certificate")) {
        tls.certificate = arguments.value();
    } else if (arguments.is("--tls-key")) {
        tls.key = arguments.value();
    } else if (arguments.is("--tls-authorities")) {
        tls.authorities = arguments.value();
    } else {
        return false;
    }
    return true;
}

/// All three, for gRPC, or none.
void check_tls(Kind kind, const Certificates& tls) {
    const bool any = !(tls.certificate + tls.key + tls.authorities).empty();
    const bool all = !tls.certificate.empty() && !tls.key.empty() && !tls.authorities.empty();
    if (any && !all) {
        throw UsageError("--tls-certificate, --tls-key and --tls-authorities belong together");
    }
    if (any && kind == Kind::nghttp2) throw UsageError("--kind nghttp2 speaks clear text only");
}

std::optional<double> parse_rate(const std::string& text) {
    if (text == "max") return {};
    try {
        std::size_t read = 0;
        const double rate = std::stod(text, &read);
        if (read == text.size() && rate > 0 && rate <= 1e7) return rate;
    } catch (const std::exception&) {
    }
    throw UsageError("--rate is max or requests a second, not '" + text + "'");
}

}  // namespace

GatewayOptions parse_gateway_options(int argc, const char* const* argv) {
    GatewayOptions options;
    for (Arguments arguments(argc, const_cast<char**>(argv)); arguments.next();) {
        if (arguments.is("--kind")) {
            options.kind = parse_kind(arguments.value());
        } else if (arguments.is("--target")) {
            options.target = arguments.value();
        } else if (arguments.is("--rate")) {
            options.rate = parse_rate(arguments.value());
        } else if (arguments.is("--in-flight")) {
            options.in_flight = static_cast<unsigned>(arguments.whole_number(1, 100'000));
        } else if (arguments.is("--payload")) {
            options.payload = arguments.whole_number(0, 1U << 26);
        } else if (arguments.is("--duration")) {
            options.duration = arguments.positive_number(false);
        } else if (arguments.is("--warmup")) {
            options.warmup = arguments.positive_number(true);
        } else if (arguments.is("--patience")) {
            options.patience = arguments.positive_number(false);
        } else if (arguments.is("--connect")) {
            options.connect = static_cast<unsigned>(arguments.whole_number(1, 100'000));
        } else if (arguments.is("--help")) {
            options.help = true;
        } else if (!parse_tls(arguments, options.tls) && !arguments.is("--json")) {
            arguments.unknown();
        }
    }
    check_tls(options.kind, options.tls);
    if (!options.help && options.target.empty()) {
        throw UsageError("--target is missing, see --help");
    }
    return options;
}

ReplicaOptions parse_replica_options(int argc, const char* const* argv) {
    ReplicaOptions options;
    for (Arguments arguments(argc, const_cast<char**>(argv)); arguments.next();) {
        if (arguments.is("--kind")) {
            options.kind = parse_kind(arguments.value());
        } else if (arguments.is("--ports")) {
            options.ports = static_cast<unsigned>(arguments.whole_number(1, 4096));
        } else if (arguments.is("--help")) {
            options.help = true;
        } else if (!parse_tls(arguments, options.tls) && !arguments.is("--json")) {
            arguments.unknown();
        }
    }
    check_tls(options.kind, options.tls);
    return options;
}

std::vector<std::string> addresses_of(const std::string& target) {
    std::vector<std::string> addresses;
    for (std::size_t from = 0; from <= target.size();) {
        const auto comma = std::min(target.find(',', from), target.size());
        addresses.push_back(target.substr(from, comma - from));
        from = comma + 1;
    }
    return addresses;
}

}  // namespace mesh
