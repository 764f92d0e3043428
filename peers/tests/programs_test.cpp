// Both programs as the lab runs them. Arguments: the folder of the programs, a test, an adapter.
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "tests/check.hpp"
#include "tests/process.hpp"

using namespace peers::test;
using peers::now_ns;

namespace {

std::string folder;

using Words = std::vector<std::string>;

struct RunningServer {
    explicit RunningServer(const std::string& adapter)
        : process({folder + "/corewire-peer-server", "--adapter", adapter}) {
        const std::string ready = process.line_with("\"ready\"", 20);
        CHECK_EQUAL(text_in(ready, "adapter"), adapter);
        CHECK_EQUAL(number_in(ready, "pid"), process.pid());
        address = text_in(ready, "address");
    }
    Process process;
    std::string address;
};

Words client_words(const std::string& adapter, const std::string& address, const Words& more) {
    Words words = {folder + "/corewire-peer-client", "--adapter", adapter, "--connect", address};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

bool is_rpc(const std::string& adapter) { return adapter != "BASELINE-TCP"; }

/// Every size and number of clients; the server's count equals the client's.
void matrix(const std::string& adapter) {
    RunningServer server(adapter);
    double sent = 0;
    double server_cpu = 0;
    for (const char* clients : {"1", "4"}) {
        for (const char* payload : {"0", "10000", "100000"}) {
            Process client(client_words(
                adapter, server.address,
                {"--clients", clients, "--payload", payload, "--requests", "402", "--warmup",
                 "0.05", "--server-pid", std::to_string(server.process.pid())}));
            client.line_with("\"connected\"", 20);
            client.line_with("\"measuring\"", 20);
            const std::string result = client.line_with("\"result\"", 60);
            CHECK_EQUAL(client.exit_status(20), 0);
            CHECK_EQUAL(text_in(result, "error_sample"), "");
            CHECK_EQUAL(number_in(result, "errors"), 0);
            CHECK_EQUAL(number_in(result, "requests"), 402);
            CHECK_EQUAL(number_in(result, "clients"), std::stod(clients));
            CHECK(result.find("\"partial\":false") != std::string::npos);
            const double bytes = is_rpc(adapter) ? std::stod(payload) : 1;
            CHECK_EQUAL(number_in(result, "payload_bytes"), bytes);
            CHECK_EQUAL(number_in(result, "request_bytes_total"), 402 * 2 * bytes);
            CHECK(number_in(result, "min") > 0);
            CHECK(number_in(result, "max") >= number_in(result, "mean"));
            CHECK(number_in(result, "duration_s") > 0);
            // The kernel accounts for a thread that runs at its next tick only, and some adapters
            // are through with these requests before that.
            CHECK(number_in(result, "server_cpu_ns") >= 0);
            server_cpu += number_in(result, "server_cpu_ns");
            CHECK(number_in(result, "client_cpu_ns") > 0);
            CHECK(number_in(result, "server_threads") >= 1);
            sent += 402 + number_in(result, "warmup_requests");
        }
    }
    CHECK(server_cpu > 0);
    server.process.signal(SIGTERM);
    const std::string stopping = server.process.line_with("\"stopping\"", 20);
    CHECK_EQUAL(number_in(stopping, "allocated"), is_rpc(adapter) ? sent : 0);
    CHECK_EQUAL(server.process.exit_status(20), 0);
}

void expect_usage_error(const Words& words, const std::string& part) {
    Process process(words, true);
    const std::string output = process.rest(20);
    CHECK_EQUAL(process.exit_status(20), 2);
    CHECK(output.find(part) != std::string::npos);
    CHECK_EQUAL(output.find('\n'), output.size() - 1);
}

bool is_on_a_loop(const std::string& adapter) { return adapter.ends_with("-EL"); }

/// A connection for each request.
void connections(const std::string& adapter) {
    if (is_on_a_loop(adapter)) {
        expect_usage_error(
            client_words(adapter, "127.0.0.1:1", {"--requests", "1", "--connections", "each"}),
            "keeps its connections");
        return;
    }
    RunningServer server(adapter);
    Process client(client_words(
        adapter, server.address,
        {"--clients", "2", "--requests", "40", "--warmup", "0.1", "--connections", "each"}));
    const std::string result = client.line_with("\"result\"", 60);
    CHECK_EQUAL(client.exit_status(20), 0);
    CHECK_EQUAL(text_in(result, "error_sample"), "");
    CHECK_EQUAL(number_in(result, "requests"), 40);
}

void rate(const std::string& adapter) {
    RunningServer server(adapter);
    Process client(client_words(adapter, server.address,
                                {"--clients", "2", "--mode", "rate", "--rate", "200", "--duration",
                                 "1.5", "--warmup", "0.1"}));
    client.line_with("\"progress\"", 20);
    const std::string result = client.line_with("\"result\"", 20);
    CHECK_EQUAL(client.exit_status(20), 0);
    CHECK_EQUAL(number_in(result, "errors"), 0);
    // Of 300 requests, those of the last moments may be late on a busy machine, never lost.
    CHECK_EQUAL(number_in(result, "requests") + number_in(result, "unsent"), 300);
    CHECK(number_in(result, "requests") >= 150);
    CHECK(result.find("\"lag_ns\":{\"mean\":") != std::string::npos);
}

void server_killed(const std::string& adapter) {
    RunningServer server(adapter);
    Process client(client_words(adapter, server.address,
                                {"--clients", "2", "--duration", "60", "--warmup", "0.1"}));
    client.line_with("\"progress\"", 20);
    server.process.signal(SIGKILL);
    const std::string result = client.line_with("\"result\"", 45);
    CHECK_EQUAL(client.exit_status(20), 0);
    CHECK(number_in(result, "requests") > 0);
    CHECK(number_in(result, "errors") > 0);
    CHECK(!text_in(result, "error_sample").empty());
    CHECK_EQUAL(number_in(result, "clients_gave_up"), 2);
    CHECK(result.find("\"partial\":true") != std::string::npos);
}

/// The server stands still but its connections stay open.
void server_hangs(const std::string& adapter) {
    RunningServer server(adapter);
    Process client(client_words(adapter, server.address, {"--duration", "3", "--warmup", "0.1"}));
    client.line_with("\"progress\"", 20);
    server.process.signal(SIGSTOP);
    const auto begin = now_ns();
    const std::string result = client.line_with("\"result\"", 30);
    CHECK(now_ns() - begin < 20 * peers::kSecond);
    CHECK(number_in(result, "errors") > 0);
    // Libraries may wait for a peer that is silent; an end of the connection frees them.
    server.process.signal(SIGKILL);
    CHECK_EQUAL(client.exit_status(20), 0);
}

void interrupted_client(const std::string& adapter) {
    RunningServer server(adapter);
    Process client(client_words(adapter, server.address, {"--clients", "3", "--duration", "60"}));
    client.line_with("\"measuring\"", 20);
    client.line_with("\"progress\"", 20);
    client.signal(SIGINT);
    const std::string result = client.line_with("\"result\"", 20);
    CHECK_EQUAL(client.exit_status(20), 0);
    CHECK(result.find("\"partial\":true") != std::string::npos);
    CHECK_EQUAL(number_in(result, "errors"), 0);
    CHECK(number_in(result, "requests") > 0);
    CHECK(number_in(result, "duration_s") < 30);
}

void server_ends(const std::string& adapter) {
    RunningServer by_input(adapter);
    by_input.process.close_input();
    CHECK_EQUAL(by_input.process.exit_status(20), 0);

    RunningServer by_signal(adapter);
    Process other(
        {folder + "/corewire-peer-server", "--adapter", adapter, "--listen", by_signal.address});
    const std::string error = other.line_with("\"error\"", 20);
    CHECK(text_in(error, "what").find("Address already in use") != std::string::npos);
    CHECK_EQUAL(other.exit_status(20), 1);
    // With a client connected and busy.
    Process client(client_words(adapter, by_signal.address, {"--duration", "60"}));
    client.line_with("\"progress\"", 20);
    by_signal.process.signal(SIGTERM);
    by_signal.process.line_with("\"stopping\"", 20);
    CHECK_EQUAL(by_signal.process.exit_status(20), 0);
    client.line_with("\"result\"", 60);

    Process nobody(client_words(adapter, by_signal.address, {"--duration", "1"}));
    const std::string refused = nobody.line_with("\"error\"", 30);
    CHECK(text_in(refused, "what").find("cannot connect to") != std::string::npos);
    CHECK_EQUAL(nobody.exit_status(20), 1);
}

void usage() {
    const std::string client = folder + "/corewire-peer-client";
    const std::string server = folder + "/corewire-peer-server";
    expect_usage_error({client}, "--adapter is missing");
    expect_usage_error({server}, "--adapter is missing");
    expect_usage_error({client, "--adapter", "NONE"}, "there is no adapter 'NONE'");
    expect_usage_error({server, "--adapter", "TCP-AS", "--listen", "here"}, "is not an address");
    expect_usage_error({server, "--adapter", "TCP-AS", "--payload", "1"}, "unknown option");
    expect_usage_error(
        {client, "--adapter", "TCP-AS", "--connect", "127.0.0.1:1", "--requests", "many"},
        "--requests must be a whole number");
    expect_usage_error({server, "--adapter", "TCP-AS", "--tls", "perhaps"},
                       "off, server or mutual");
    expect_usage_error({server, "--adapter", "TCP-AS", "--tls", "server"}, "TCP-AS has no TLS");
    for (const std::string& program : {client, server}) {
        Process help({program, "--help"});
        CHECK(help.rest(20).find("Usage: ") != std::string::npos);
        CHECK_EQUAL(help.exit_status(20), 0);
        Process list({program, "--list"});
        CHECK(list.rest(20).find("{\"adapter\":\"TCP-AS\",\"built\":true,") != std::string::npos);
        CHECK_EQUAL(list.exit_status(20), 0);
    }
}

/// Thrift's size limit counts all messages of a connection together unless told otherwise; no
/// adapter may lose its connection over 2 GiB.
void large_volume(const std::string& adapter) {
    RunningServer server(adapter);
    Process client(client_words(adapter, server.address,
                                {"--payload", "1000000", "--requests", "2300", "--warmup", "0"}));
    const std::string result = client.line_with("\"result\"", 120);
    CHECK_EQUAL(text_in(result, "error_sample"), "");
    CHECK_EQUAL(number_in(result, "requests"), 2300);
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 3 || argc == 4);
    folder = argv[1];
    const std::string test = argv[2];
    const std::string adapter = argc == 4 ? argv[3] : "";
    if (test == "usage") {
        usage();
    } else if (test == "matrix") {
        matrix(adapter);
        connections(adapter);
    } else if (test == "rate") {
        rate(adapter);
    } else if (test == "server-killed") {
        server_killed(adapter);
    } else if (test == "server-hangs") {
        server_hangs(adapter);
    } else if (test == "interrupted") {
        interrupted_client(adapter);
    } else if (test == "server-ends") {
        server_ends(adapter);
    } else if (test == "large-volume") {
        large_volume(adapter);
    } else {
        std::cerr << "no test " << test << '\n';
        return 1;
    }
}
