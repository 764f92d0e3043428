// "host:port" as the programs take and print it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/tls.hpp"

namespace peers {

/// Where a server listens, and how it is spoken to there. Port 0 asks the system for a free one.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
    /// Not part of the text.
    Tls tls{};
    /// Other servers of the same service, as "host:port"; for adapters that balance. Not part of
    /// the text.
    std::vector<std::string> others{};

    /// Reads "127.0.0.1:5000", "localhost:0" or "[::1]:5000". Throws std::invalid_argument.
    static Endpoint parse(std::string_view text);

    /// The inverse of `parse`.
    [[nodiscard]] std::string to_string() const;
};

}  // namespace peers
