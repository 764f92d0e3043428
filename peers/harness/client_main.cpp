// corewire-peer-client: the one client program of the GUTI evaluation.
#include <cstdio>
#include <exception>

#include "harness/arguments.hpp"
#include "harness/catalog.hpp"
#include "harness/client_options.hpp"
#include "harness/cpu_clock.hpp"
#include "harness/json.hpp"
#include "harness/run.hpp"

int main(int argc, char** argv) {
    using namespace peers;
    try {
        TerminationSignals signals;
        const ClientOptions options = parse_client_options(argc, argv);
        if (options.help) {
            std::fputs(kClientHelp, stdout);
            return 0;
        }
        if (options.list) {
            print_catalog();
            return 0;
        }
        if (!options.cpus.empty()) pin_to_cpus(options.cpus);
        return run_client(options, signals);
    } catch (const UsageError& error) {
        std::fprintf(stderr, "corewire-peer-client: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        emit(JsonObject().add("event", "error").add("what", error.what()).add("where", "client"));
        return 1;
    }
}
