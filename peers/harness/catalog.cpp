#include "harness/catalog.hpp"

#include <string>

#include "floor/adapters.hpp"
#include "harness/arguments.hpp"
#include "harness/json.hpp"
#include "tcp/adapters.hpp"
#ifdef PEERS_WITH_CAPNP
#include "capnp/adapters.hpp"
#endif
#ifdef PEERS_WITH_COREWIRE
#include "corewire/adapters.hpp"
#endif
#ifdef PEERS_WITH_GRPC
#include "grpc/adapters.hpp"
#endif
#ifdef PEERS_WITH_NNG
#include "nng/adapters.hpp"
#endif
#ifdef PEERS_WITH_THRIFT
#include "thrift/adapters.hpp"
#endif

namespace peers {

namespace {

constexpr std::string_view kGrpc =
    "libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc";
constexpr std::string_view kThrift = "libthrift-dev thrift-compiler libevent-dev libboost-dev";
constexpr std::string_view kCapnp = "capnproto libcapnp-dev";
constexpr std::string_view kNng = "libnng-dev";
constexpr std::string_view kNoTls = "the floor is bare";
constexpr std::string_view kCorewire = "libcorewire (crates/capi)";

// A function that makes the implementation, or nothing when the library was absent.
#ifdef PEERS_WITH_GRPC
#define GRPC_ADAPTER(function) function()
#else
#define GRPC_ADAPTER(function) std::nullopt
#endif
#ifdef PEERS_WITH_THRIFT
#define THRIFT_ADAPTER(function) function()
#else
#define THRIFT_ADAPTER(function) std::nullopt
#endif
#ifdef PEERS_WITH_NNG
#define NNG_ADAPTER(function) function()
#else
#define NNG_ADAPTER(function) std::nullopt
#endif
#ifdef PEERS_WITH_CAPNP
#define CAPNP_ADAPTER(function) function()
#else
#define CAPNP_ADAPTER(function) std::nullopt
#endif
#ifdef PEERS_WITH_COREWIRE
#define COREWIRE_ADAPTER(function) function()
#else
#define COREWIRE_ADAPTER(function) std::nullopt
#endif

// Of a later version of the service (peers/idl/next) there is one adapter a framework: enough to
// see who understands whom.
#ifdef PEERS_NEXT
#define TODAY(adapter) std::nullopt
#else
#define TODAY(adapter) adapter
#endif

std::vector<Adapter> make_catalog() {
    return {
        {"BASELINE-TCP", "none", "nothing",
         "Network baseline: one byte each way over blocking TCP, as netperf's TCP_RR; no GUTI",
         false, false, make_baseline_tcp(), "it is the network alone"},
        {"TCP-AS", "none", "nothing",
         "Asynchronous client (reader thread, promise and future), blocking pool of 32 workers",
         true, true, make_tcp_as(), "the hand-written protocol has none"},
        {"GRPC-S",
         "gRPC",
         kGrpc,
         "Synchronous unary gRPC",
         true,
         true,
         GRPC_ADAPTER(make_grpc_s),
         {},
         true},
        {"GRPC-AS", "gRPC", kGrpc,
         "Asynchronous unary gRPC: completion queue, a finite state machine a call", true, true,
         TODAY(GRPC_ADAPTER(make_grpc_as))},
        {"GRPC-BI", "gRPC", kGrpc, "Synchronous bidirectional gRPC stream", true, true,
         TODAY(GRPC_ADAPTER(make_grpc_bi))},
        {"GRPC-ASBI", "gRPC", kGrpc,
         "Asynchronous bidirectional gRPC stream: completion queue whose tags are callbacks", true,
         true, TODAY(GRPC_ADAPTER(make_grpc_asbi))},
        {"GRPC-CB", "gRPC", kGrpc, "Unary gRPC through gRPC's own callback API", true, true,
         TODAY(GRPC_ADAPTER(make_grpc_cb))},
        {"THRIFT-S", "Thrift", kThrift, "TThreadedServer, framed binary protocol", true, false,
         THRIFT_ADAPTER(make_thrift_s)},
        {"THRIFT-NB", "Thrift", kThrift,
         "TNonblockingServer with one IO thread, framed binary protocol", true, false,
         TODAY(THRIFT_ADAPTER(make_thrift_nb))},
        {"THRIFT-AS", "Thrift", kThrift,
         "TEvhttpServer and TEvhttpClientChannel: binary protocol over HTTP, promise and future",
         true, false, TODAY(THRIFT_ADAPTER(make_thrift_as)),
         "Thrift's TEvhttpClientChannel makes its own connections, in clear text"},
        {"NNG", "NNG", kNng, "REQ/REP over TCP, contexts and callbacks in the server", true, false,
         NNG_ADAPTER(make_nng), "the adapter was written without"},
        {"CAPNP", "Cap'n Proto", kCapnp,
         "Cap'n Proto RPC: KJ's event loop in the server's one thread and in each caller's", true,
         false, CAPNP_ADAPTER(make_capnp), "the adapter was written without"},
        {"CW-S", "Corewire", kCorewire, "Blocking native call", true, true,
         COREWIRE_ADAPTER(make_cw_s)},
        {"CW-AS", "Corewire", kCorewire, "Asynchronous native call", true, true,
         TODAY(COREWIRE_ADAPTER(make_cw_as))},
        {"CW-BI", "Corewire", kCorewire, "Bidirectional native stream", true, true,
         TODAY(COREWIRE_ADAPTER(make_cw_bi))},
        {"CW-EL", "Corewire", kCorewire,
         "Asynchronous native calls: all clients on one thread and one event loop", true, true,
         TODAY(COREWIRE_ADAPTER(make_cw_el))},
        {"CW-SHM", "Corewire", kCorewire,
         "Blocking native call through shared memory: the same host only, no TCP", true, true,
         TODAY(COREWIRE_ADAPTER(make_cw_shm)), "memory of one host, between processes of one user"},
        {"CW-REST", "Corewire", kCorewire, "REST over HTTP/2", true, true,
         TODAY(COREWIRE_ADAPTER(make_cw_rest))},
        {"CW-GRPC", "Corewire", kCorewire, "gRPC over Corewire's HTTP/2", true, true,
         TODAY(COREWIRE_ADAPTER(make_cw_grpc))},
        {"FLOOR-TCP", "floor", "nothing", "Bare sockets: a thread a connection, blocking calls",
         true, false, TODAY(make_floor_tcp()), kNoTls},
        {"FLOOR-EPOLL", "floor", "nothing",
         "Bare sockets: one server thread with epoll, blocking clients", true, false,
         TODAY(make_floor_epoll()), kNoTls},
        {"FLOOR-EL", "floor", "nothing",
         "Bare sockets: one server thread with epoll, all clients on one thread with epoll", true,
         false, TODAY(make_floor_el()), kNoTls},
        {"FLOOR-SPIN", "floor", "nothing", "Bare sockets: both sides ask without sleeping", true,
         false, TODAY(make_floor_spin()), kNoTls},
        {"FLOOR-PIPE-64", "floor", "nothing",
         "Bare sockets: 64 requests outstanding on a connection; its latencies mean nothing", true,
         false, TODAY(make_floor_pipe_64()), kNoTls},
        {"FLOOR-SHM-SPIN", "floor", "nothing", "Bare shared memory: both sides spin", true, false,
         TODAY(make_floor_shm_spin()), kNoTls},
        {"FLOOR-SHM-FUTEX", "floor", "nothing", "Bare shared memory: both sides sleep on a futex",
         true, false, TODAY(make_floor_shm_futex()), kNoTls},
    };
}

}  // namespace

const std::vector<Adapter>& catalog() {
    static const std::vector<Adapter> adapters = make_catalog();
    return adapters;
}

const Adapter& find_adapter(std::string_view name) {
    for (const Adapter& adapter : catalog()) {
        if (adapter.name != name) continue;
        if (!adapter.implementation) {
            throw UsageError(std::string(name) + " is not part of this build: it needs " +
                             std::string(adapter.needs));
        }
        return adapter;
    }
    throw UsageError("there is no adapter '" + std::string(name) + "', see --list");
}

void print_catalog() {
    for (const Adapter& adapter : catalog()) {
        emit(JsonObject()
                 .add("adapter", adapter.name)
                 .add("built", adapter.implementation.has_value())
                 .add("needs", adapter.needs)
                 .add("framework", adapter.framework)
                 .add("description", adapter.description)
                 .add("rpc", adapter.is_rpc)
                 .add("connections", adapter.can_share ? "own,shared" : "own")
                 .add("no_tls", adapter.no_tls)
                 .add("balances", adapter.balances));
    }
}

}  // namespace peers
