// What the Corewire clients share: their operations, their settings, and how errors are told.
#pragma once

#include <corewire.hpp>
#include <string>

#include "corewire/messages.hpp"
#include "harness/adapter.hpp"

namespace peers::corewire_adapters {

/// Made once: a call reads no name.
struct Operations {
    corewire::Operation allocate{kAllocate};
    corewire::Operation deallocate{kDeallocate};
};

inline corewire::ChannelOptions channel_options(const Endpoint& server) {
    corewire::ChannelOptions options;
    const Tls& tls = server.tls;
    if (tls.on()) {
        corewire::TlsFiles files{.authorities = tls.authorities};
        if (tls.mutual()) {
            files.certificate = tls.certificate;
            files.key = tls.key;
        }
        options.tls = corewire::ClientTls{.files = std::move(files)};
    }
    options.call_timeout = std::chrono::seconds(kCallTimeoutSeconds);
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
