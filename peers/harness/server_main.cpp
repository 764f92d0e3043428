// corewire-peer-server: the one server program of the GUTI evaluation.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "harness/arguments.hpp"
#include "harness/catalog.hpp"
#include "harness/cpu_clock.hpp"
#include "harness/json.hpp"
#include "harness/result.hpp"
#include "harness/signals.hpp"

namespace {

using namespace peers;

constexpr const char* kHelp =
    R"(Serves the GUTI service through one adapter, for corewire-peer-client.

Usage: corewire-peer-server --adapter NAME [options]

  --adapter NAME       which adapter; --list shows all
  --listen HOST:PORT   where to listen (default 127.0.0.1:0; port 0 takes a free one)
  --tls off|server|mutual
                       TLS; mutual: clients must show a certificate too (default off)
  --tls-certificate F, --tls-key F
                       PEM files: this server's certificate and its key
  --tls-authorities F  PEM file: who issues the certificates of clients, for --tls mutual
  --cpus LIST          run on these CPUs only, for example 0 or 0,2-3
  --list               print all adapters as JSON lines, and whether this build has them
  --help               this text

Prints a JSON line with the address when it is ready, and one with the number of GUTIs handed
out when it ends. Runs until SIGTERM, SIGINT or the end of standard input, so that it does not
outlive the program that started it; to run it in the background of a shell, give it an input
that stays open: corewire-peer-server --adapter GRPC-S < <(sleep infinity) &
Exit status: 0, 1 for an error (an error line says which), 2 for options that make no sense.
)";

/// How long stopping may take; some libraries wait for clients that stay connected.
constexpr unsigned kStopSeconds = 2;

struct Options {
    const Adapter* adapter = nullptr;
    Endpoint listen{"127.0.0.1", 0, {}};
    std::string cpus;
    Tls tls{};
    bool help = false;
    bool list = false;
};

Options parse(int argc, char** argv) {
    Options options;
    for (Arguments arguments(argc, argv); arguments.next();) {
        if (arguments.is("--adapter")) {
            options.adapter = &find_adapter(arguments.value());
        } else if (arguments.is("--listen")) {
            try {
                options.listen = Endpoint::parse(arguments.value());
            } catch (const std::invalid_argument& error) {
                throw UsageError(std::string("--listen: ") + error.what());
            }
        } else if (arguments.is("--cpus")) {
            options.cpus = arguments.value();
        } else if (read_tls_option(arguments, options.tls)) {
            continue;
        } else if (arguments.is("--list")) {
            options.list = true;
        } else if (arguments.is("--help")) {
            options.help = true;
        } else {
            arguments.unknown();
        }
    }
    if (!options.help && !options.list && options.adapter == nullptr) {
        throw UsageError("--adapter is missing, see --help");
    }
    options.listen.tls = options.tls;
    if (options.adapter != nullptr) check_tls(options.tls, *options.adapter, true);
    return options;
}

/// Returns at a termination signal or at the end of standard input.
void wait_for_end(TerminationSignals& signals) {
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

int serve(const Options& options, TerminationSignals& signals) {
    Allocator allocator;
    auto server = options.adapter->implementation->serve(options.listen, allocator);
    emit(JsonObject()
             .add("event", "ready")
             .add("protocol", 1)
             .add("adapter", options.adapter->name)
             .add("address", server->address())
             .add("pid", getpid())
             .add("versions", versions_of(*options.adapter)));
    wait_for_end(signals);
    emit(JsonObject().add("event", "stopping").add("allocated", allocator.allocated()));
    std::signal(SIGALRM, [](int) { _exit(0); });
    alarm(kStopSeconds);
    server.reset();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        TerminationSignals signals;
        const Options options = parse(argc, argv);
        if (options.help) {
            std::fputs(kHelp, stdout);
            return 0;
        }
        if (options.list) {
            print_catalog();
            return 0;
        }
        if (!options.cpus.empty()) pin_to_cpus(options.cpus);
        return serve(options, signals);
    } catch (const UsageError& error) {
        std::fprintf(stderr, "corewire-peer-server: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        emit(JsonObject().add("event", "error").add("what", error.what()).add("where", "server"));
        return 1;
    }
}
