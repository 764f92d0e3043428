// The result line of the client program.
#pragma once

#include <optional>

#include "harness/client_options.hpp"
#include "harness/json.hpp"
#include "harness/worker.hpp"

namespace peers {

struct Result {
    explicit Result(const ClientOptions& asked) : options(asked) {}

    /// Adds what one thread measured.
    void merge(const Measured& measured);
    [[nodiscard]] JsonObject to_json() const;

    const ClientOptions& options;
    Measured total;
    /// Clients that gave up.
    unsigned gave_up = 0;
    bool interrupted = false;
    std::size_t payload_bytes = 0;
    double duration_s = 0;
    std::optional<Nanoseconds> server_cpu_ns;
    std::optional<Nanoseconds> client_cpu_ns;
    std::optional<unsigned> server_threads;
};

/// The versions of an adapter's libraries and of the compiler, as an object.
JsonObject versions_of(const Adapter& adapter);

}  // namespace peers
