#include "harness/client_options.hpp"

#include "harness/arguments.hpp"
#include "harness/catalog.hpp"

namespace peers {

const char* const kClientHelp =
    R"(Measures one adapter of the GUTI evaluation against a running corewire-peer-server.

Usage: corewire-peer-client --adapter NAME --connect HOST:PORT [options]

  --adapter NAME        which adapter; --list shows all
  --connect HOST:PORT   the address that the server printed
  --also HOST:PORT      another server of the same service, for adapters whose framework balances
                        over several; repeat for more
  --clients N           threads, each with a connection of its own (default 1); CW-EL and
                        FLOOR-EL have one thread for all their connections
  --payload BYTES       size of the payload in each request and each response (default 0)
  --mode no-rate|rate   no-rate: the next request leaves when the answer is here (default)
                        rate: requests leave on a schedule, and latency counts from the time
                        at which the request was meant to leave
  --rate R              requests a second of all clients together, for --mode rate
  --requests N          end after N requests of all clients together
  --duration SECONDS    end after this time; with --requests, whichever comes first
  --warmup SECONDS      unmeasured no-rate traffic before the measurement (default 1)
  --server-pid P        also measure the CPU time and count the threads of this process
  --connections own|shared|each
                        shared: all clients use one connection (default own)
  --tls off|server|mutual
                        TLS; mutual: this end shows a certificate too (default off)
  --tls-authorities F   PEM file: who issued the server's certificate
  --tls-certificate F, --tls-key F
                        PEM files: this end's certificate and its key, for --tls mutual
  --tls-resume          connections go on from the sessions of earlier ones (adapters CW-* only)
  --cpus LIST           run on these CPUs only, for example 1 or 0,2-3
  --list                print all adapters as JSON lines, and whether this build has them
  --help                this text

Prints JSON lines: connected, measuring, progress (each second), result. SIGINT ends the
measurement early; its result is marked partial. Exit status: 0 with a result, 1 when there
could be none (an error line says why), 2 for options that make no sense.

Example, with a server in another terminal (corewire-peer-server --adapter TCP-AS
--listen 127.0.0.1:5000):
  corewire-peer-client --adapter TCP-AS --connect 127.0.0.1:5000 --clients 4 --duration 5
)";

namespace {

/// PID_MAX_LIMIT of 64-bit Linux. Larger numbers would overflow the id of a CPU clock.
constexpr std::uint64_t kHighestPid = 4'194'304;

void read_option(Arguments& arguments, ClientOptions& options) {
    if (arguments.is("--adapter")) {
        options.adapter = &find_adapter(arguments.value());
    } else if (arguments.is("--connect")) {
        try {
            options.server = Endpoint::parse(arguments.value());
        } catch (const std::invalid_argument& error) {
            throw UsageError(std::string("--connect: ") + error.what());
        }
    } else if (arguments.is("--also")) {
        try {
            options.others.push_back(Endpoint::parse(arguments.value()).to_string());
        } catch (const std::invalid_argument& error) {
            throw UsageError(std::string("--also: ") + error.what());
        }
    } else if (arguments.is("--clients")) {
        options.clients = static_cast<unsigned>(arguments.whole_number(1, 4096));
    } else if (arguments.is("--payload")) {
        options.payload_bytes = arguments.whole_number(0, 64'000'000);
    } else if (arguments.is("--mode")) {
        const std::string mode = arguments.value();
        if (mode != "no-rate" && mode != "rate") {
            throw UsageError("--mode must be no-rate or rate, not '" + mode + "'");
        }
        options.mode = mode == "rate" ? Mode::rate : Mode::no_rate;
    } else if (arguments.is("--rate")) {
        options.rate = arguments.positive_number(false);
    } else if (arguments.is("--requests")) {
        options.requests = arguments.whole_number(1, UINT64_MAX);
    } else if (arguments.is("--duration")) {
        options.duration_s = arguments.positive_number(false);
    } else if (arguments.is("--warmup")) {
        options.warmup_s = arguments.positive_number(true);
    } else if (arguments.is("--server-pid")) {
        options.server_pid = static_cast<pid_t>(arguments.whole_number(1, kHighestPid));
    } else if (arguments.is("--connections")) {
        const std::string connections = arguments.value();
        if (connections == "own") {
            options.connections = Connections::own;
        } else if (connections == "shared") {
            options.connections = Connections::shared;
        } else if (connections == "each") {
            options.connections = Connections::each;
        } else {
            throw UsageError("--connections must be own, shared or each, not '" + connections +
                             "'");
        }
    } else if (arguments.is("--cpus")) {
        options.cpus = arguments.value();
    } else if (read_tls_option(arguments, options.tls)) {
        return;
    } else if (arguments.is("--list")) {
        options.list = true;
    } else if (arguments.is("--help")) {
        options.help = true;
    } else {
        arguments.unknown();
    }
}

void check(const ClientOptions& options) {
    // The clocks count in nanoseconds in 64 bits; a year is far within.
    constexpr double kYear = 365.0 * 24 * 3600;
    if (options.adapter == nullptr) throw UsageError("--adapter is missing, see --help");
    check_tls(options.tls, *options.adapter, false);
    if (options.server.port == 0)
        throw UsageError("--connect is missing or has port 0, see --help");
    if (!options.requests && !options.duration_s) {
        throw UsageError("say when to end: --requests or --duration, see --help");
    }
    if (options.duration_s.value_or(0) > kYear || options.warmup_s > kYear) {
        throw UsageError("--duration and --warmup must be below a year");
    }
    if (options.mode == Mode::rate && options.rate == 0) {
        throw UsageError("--mode rate needs --rate");
    }
    if (options.mode == Mode::no_rate && options.rate != 0) {
        throw UsageError("--rate needs --mode rate");
    }
    if (options.rate != 0 && (options.rate > 1e9 || options.rate < 1e-3)) {
        throw UsageError("--rate must be from 0.001 to 1000000000");
    }
    if (!options.others.empty() && !options.adapter->balances) {
        throw UsageError(std::string(options.adapter->name) + " takes one server");
    }
    const auto& implementation = options.adapter->implementation;
    if (options.connections == Connections::each && implementation && implementation->loop) {
        throw UsageError(std::string(options.adapter->name) +
                         " keeps its connections: its clients have one thread together");
    }
    if (options.connections == Connections::shared && !options.adapter->can_share) {
        throw UsageError(std::string(options.adapter->name) +
                         " cannot share a connection between clients");
    }
}

}  // namespace

ClientOptions parse_client_options(int argc, char** argv) {
    ClientOptions options;
    for (Arguments arguments(argc, argv); arguments.next();) read_option(arguments, options);
    options.server.tls = options.tls;
    options.server.others = options.others;
    if (!options.help && !options.list) check(options);
    return options;
}

}  // namespace peers
