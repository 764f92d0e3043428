// What `corewire-peer-client` was asked to do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/adapter.hpp"

namespace peers {

enum class Mode {
    /// Each client sends its next request when it has the answer to the last.
    no_rate,
    /// Requests leave on a schedule.
    rate,
};

struct ClientOptions {
    const Adapter* adapter = nullptr;
    Endpoint server;
    /// Goes to `server.others` when all options are read.
    std::vector<std::string> others;
    unsigned clients = 1;
    std::size_t payload_bytes = 0;
    Mode mode = Mode::no_rate;
    /// Requests a second of all clients together; 0 in no-rate mode.
    double rate = 0;
    /// Ends the measurement, over all clients; whichever of the two comes first.
    std::optional<std::uint64_t> requests;
    std::optional<double> duration_s;
    double warmup_s = 1;
    std::optional<pid_t> server_pid;
    Connections connections = Connections::own;
    std::string cpus;
    /// Goes to `server.tls` when all options are read.
    Tls tls{};
    bool help = false;
    bool list = false;
};

/// Throws UsageError.
ClientOptions parse_client_options(int argc, char** argv);

extern const char* const kClientHelp;

}  // namespace peers
