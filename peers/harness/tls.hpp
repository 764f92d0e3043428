// How the connections of a run are secured, as both programs take it.
#pragma once

#include <string>
#include <string_view>

namespace peers {

class Arguments;
struct Adapter;

struct Tls {
    enum class Mode {
        /// Clear text.
        off,
        /// The server shows a certificate.
        server,
        /// Both do.
        mutual,
    };
    Mode mode = Mode::off;
    /// PEM files: this end's certificate and its key, and who issues those of the other end.
    std::string certificate{};
    std::string key{};
    std::string authorities{};
    /// Connections go on from earlier ones' sessions.
    bool resume = false;

    [[nodiscard]] bool on() const noexcept { return mode != Mode::off; }
    [[nodiscard]] bool mutual() const noexcept { return mode == Mode::mutual; }
};

/// Reads the option that `arguments` stands at, if it is one of TLS's; false when it is not.
/// Throws UsageError.
bool read_tls_option(Arguments& arguments, Tls& tls);

/// Throws UsageError when the adapter has no TLS, or a file that this end needs was not named.
void check_tls(const Tls& tls, const Adapter& adapter, bool is_server);

/// The text of a PEM file. Throws std::runtime_error that names it.
std::string read_pem(const std::string& path);

}  // namespace peers
