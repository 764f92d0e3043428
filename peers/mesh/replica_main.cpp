// corewire-mesh-replica: the SMF-PDU-Session replica of the mesh experiment in C++.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>

#include "harness/arguments.hpp"
#include "harness/json.hpp"
#include "harness/signals.hpp"
#include "mesh/grpc_replica.hpp"
#include "mesh/options.hpp"
#ifdef MESH_WITH_NGHTTP2
#include "mesh/h2_replica.hpp"
#endif

namespace {

/// How long stopping may take; gRPC waits for clients that stay connected.
constexpr unsigned kStopSeconds = 1;

/// Returns at a termination signal or at the end of standard input.
void wait_for_end(peers::TerminationSignals& signals) {
    for (;;) {
        pollfd fds[] = {{signals.fd(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
        if (signals.take()) return;
        if (fds[1].revents != 0) {
            char scratch[256];
            if (read(STDIN_FILENO, scratch, sizeof scratch) <= 0) return;
        }
    }
}

std::unique_ptr<mesh::Replica> serve(const mesh::ReplicaOptions& options) {
    if (options.kind != mesh::Kind::nghttp2) return mesh::serve_grpc(options);
#ifdef MESH_WITH_NGHTTP2
    return mesh::serve_h2(options.ports);
#else
    throw std::runtime_error("nghttp2 is not built in: install libnghttp2-dev, make peers");
#endif
}

}  // namespace

int main(int argc, char** argv) {
    using peers::JsonObject;
    try {
        peers::TerminationSignals signals;
        const mesh::ReplicaOptions options = mesh::parse_replica_options(argc, argv);
        if (options.help) {
            std::fputs(mesh::kReplicaHelp, stdout);
            return 0;
        }
        auto replica = serve(options);
        std::string addresses;
        for (const auto& address : replica->addresses()) {
            addresses += (addresses.empty() ? "[" : ",") + peers::json_quote(address);
        }
        JsonObject versions;
        for (const auto& [name, version] : replica->versions()) versions.add(name, version);
        peers::emit(JsonObject()
                        .add("event", "ready")
                        .add("protocol", 1)
                        .add("address", replica->addresses().front())
                        .add_raw("addresses", addresses + "]")
                        .add("pid", getpid())
                        .add("versions", versions));
        wait_for_end(signals);
        std::signal(SIGALRM, [](int) { _exit(0); });
        alarm(kStopSeconds);
        replica.reset();
        return 0;
    } catch (const peers::UsageError& error) {
        std::fprintf(stderr, "corewire-mesh-replica: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        peers::emit(
            JsonObject().add("event", "error").add("what", error.what()).add("where", "replica"));
        return 1;
    }
}
