// corewire-mesh-gateway: the SMF gateway of the mesh experiment in C++.
#include <cstdio>
#include <exception>

#include "harness/arguments.hpp"
#include "harness/json.hpp"
#include "harness/signals.hpp"
#include "mesh/grpc_gateway.hpp"
#include "mesh/options.hpp"
#ifdef MESH_WITH_NGHTTP2
#include "mesh/h2_gateway.hpp"
#endif

int main(int argc, char** argv) {
    const peers::Nanoseconds started = peers::now_ns();
    try {
        peers::TerminationSignals signals;
        mesh::GatewayOptions options = mesh::parse_gateway_options(argc, argv);
        options.started = started;
        if (options.help) {
            std::fputs(mesh::kGatewayHelp, stdout);
            return 0;
        }
        if (options.kind != mesh::Kind::nghttp2) return mesh::run_grpc_gateway(options, signals);
#ifdef MESH_WITH_NGHTTP2
        return mesh::run_h2_gateway(options, signals);
#else
        throw std::runtime_error("nghttp2 is not built in: install libnghttp2-dev, make peers");
#endif
    } catch (const peers::UsageError& error) {
        std::fprintf(stderr, "corewire-mesh-gateway: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        peers::emit(peers::JsonObject()
                        .add("event", "error")
                        .add("what", error.what())
                        .add("where", "gateway"));
        return 1;
    }
}
