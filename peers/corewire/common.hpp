// What the Corewire clients share: their operations, their settings, and how errors are told.
#pragma once

#include <chrono>
#include <corewire.hpp>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "corewire/messages.hpp"
#include "harness/adapter.hpp"

namespace peers::corewire_adapters {

/// Made once: a call reads no name.
struct Operations {
    corewire::Operation allocate{kAllocate};
    corewire::Operation deallocate{kDeallocate};
};

/// How the ends wait, by COREWIRE_PEERS_WAITING: empty for the library's default.
enum class Waiting { by_default, sleeping, polling };

inline Waiting waiting() {
    const char* said = std::getenv("COREWIRE_PEERS_WAITING");
    const std::string_view word = said == nullptr ? "" : said;
    if (word.empty()) return Waiting::by_default;
    if (word == "sleep") return Waiting::sleeping;
    if (word == "poll") return Waiting::polling;
    throw std::runtime_error("COREWIRE_PEERS_WAITING is neither sleep nor poll");
}

/// Longer than any wait of a measurement: who polls does not sleep.
inline constexpr std::chrono::seconds kPolling{1};

inline corewire::ChannelOptions channel_options(const Endpoint& server) {
    corewire::ChannelOptions options;
    const Tls& tls = server.tls;
    if (tls.on()) {
        corewire::TlsFiles files{.authorities = tls.authorities};
        if (tls.mutual()) {
            files.certificate = tls.certificate;
            files.key = tls.key;
        }
        options.tls = corewire::ClientTls{.files = std::move(files), .shared = tls.resume};
    }
    options.call_timeout = std::chrono::seconds(kCallTimeoutSeconds);
    if (waiting() == Waiting::polling) options.busy_poll = kPolling;
    if (waiting() == Waiting::sleeping) options.patience = std::chrono::microseconds(0);
    return options;
}

inline std::string url(const char* protocol, const Endpoint& server) {
    return std::string(protocol) + "://" + server.to_string();
}

[[noreturn]] inline void cannot_connect(const Endpoint& server, const corewire::Error& error) {
    throw std::runtime_error("cannot connect to " + server.to_string() + ": " + error.what());
}

/// Runs a call; what Corewire throws becomes what the harness expects.
template <typename Run>
auto as_call(Run&& run) {
    try {
        return run();
    } catch (const corewire::Error& error) {
        throw CallError(std::string(corewire_code_name(error.code())) + ": " + error.what());
    }
}

}  // namespace peers::corewire_adapters
