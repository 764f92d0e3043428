// TLS, mutual TLS and shared memory from C++20. The argument is the folder of the tests'
// certificates.
#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "check.h"
#include "corewire.hpp"

using namespace std::chrono_literals;

namespace {

std::string call(const std::string& endpoint, const corewire::ChannelOptions& options) {
    corewire::Channel channel(endpoint.c_str(), options);
    const corewire::Response response = channel.call(corewire::Operation("test.Service/Who"));
    response.expect_ok();
    return std::string(corewire::as_text(response.body()));
}

/// The handler's answer says whether the caller showed a certificate.
corewire::Handlers handlers() {
    corewire::Handlers handlers;
    handlers.on_call("test.Service/Who", [](corewire::Call call) {
        call.reply(call.request().peer_certificate().empty() ? "unknown" : "known");
    });
    return handlers;
}

void mutual_tls(const std::string& folder) {
    const auto identity = [&](const std::string& name) {
        return corewire::TlsFiles{folder + "/" + name + ".pem", folder + "/" + name + ".key",
                                  folder + "/authority.pem"};
    };
    std::mutex mutex;
    std::string why;
    corewire::ServerOptions options;
    options.loops = 1;
    options.tls = corewire::ServerTls{.files = identity("server")};
    options.on_fault = [&](std::string_view peer, std::string_view reason) {
        CHECK(!peer.empty());
        const std::lock_guard lock(mutex);
        why = reason;
        throw std::runtime_error("dropped");
    };
    corewire::Server server({"127.0.0.1:0"}, handlers(), options);
    const std::string endpoint = "native://" + server.address();

    corewire::ChannelOptions known;
    known.tls = corewire::ClientTls{.files = identity("client")};
    CHECK(call(endpoint, known) == "known");
    corewire::Loop loop;
    corewire::AsyncChannel channel = loop.connect(endpoint.c_str(), known);
    bool ended = false;
    channel.call(corewire::Operation("test.Service/Who"), {}, [&ended](corewire::Outcome outcome) {
        CHECK(corewire::as_text(outcome.response().body()) == "known");
        ended = true;
    });
    for (int i = 0; i < 1000 && !ended; ++i) loop.run_once(100ms);
    CHECK(ended);

    corewire::ChannelOptions unknown;
    unknown.tls = corewire::ClientTls{.files = {{}, {}, folder + "/authority.pem"}};
    try {
        call(endpoint, unknown);
        CHECK(!"let in");
    } catch (const corewire::Error& error) {
        CHECK(std::string(error.what()).find("requires a certificate") != std::string::npos);
        CHECK(error.kind() == COREWIRE_ERROR_NOT_SENT);
        CHECK(!error.may_have_executed());
    }
    for (int i = 0; i < 1000; ++i) {
        {
            const std::lock_guard lock(mutex);
            if (!why.empty()) break;
        }
        std::this_thread::sleep_for(5ms);
    }
    const std::lock_guard lock(mutex);
    CHECK(why.find("certificate") != std::string::npos);

    // TLS that is asked for without files is refused, not left out.
    for (const bool at_server : {false, true}) {
        try {
            if (at_server) {
                corewire::ServerOptions empty;
                empty.tls = corewire::ServerTls{};
                corewire::Server({"127.0.0.1:0"}, handlers(), empty);
            } else {
                corewire::ChannelOptions empty;
                empty.tls = corewire::ClientTls{};
                call(endpoint, empty);
            }
            CHECK(!"clear text");
        } catch (const corewire::Error& error) {
            CHECK(error.code() == COREWIRE_INVALID_ARGUMENT);
        }
    }
}

void shared_memory() {
    corewire::ServerOptions options;
    options.loops = 1;
    options.patience = 100us;
    corewire::Server server({"127.0.0.1:0"}, handlers(), options);
    CHECK(call("shm://" + server.address(), {}) == "unknown");
    corewire::ChannelOptions wanted;
    wanted.shared_memory = true;
    wanted.patience = 0us;
    CHECK(call("native://" + server.address(), wanted) == "unknown");
}

}  // namespace

int main(int count, char** arguments) {
    CHECK(count == 2);
    mutual_tls(arguments[1]);
    shared_memory();
    return 0;
}
