// The parts of the harness that need no server: addresses, options, pacing, JSON, CPU clocks.
#include <unistd.h>

#include <string>
#include <vector>

#include "harness/arguments.hpp"
#include "harness/client_options.hpp"
#include "harness/cpu_clock.hpp"
#include "harness/json.hpp"
#include "harness/pacing.hpp"
#include "tests/check.hpp"

using namespace peers;

namespace {

ClientOptions parse(std::vector<std::string> words) {
    words.insert(words.begin(), "client");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    return parse_client_options(static_cast<int>(argv.size()), argv.data());
}

void addresses() {
    CHECK_EQUAL(Endpoint::parse("127.0.0.1:5000").port, 5000);
    CHECK_EQUAL(Endpoint::parse("[::1]:0").host, "::1");
    CHECK_EQUAL(Endpoint::parse("[::1]:7").to_string(), "[::1]:7");
    for (const char* text :
         {"", "host", ":1", "host:", "host:70000", "host:-1", "host:1x", "::1:5"}) {
        CHECK_THROWS(Endpoint::parse(text), std::invalid_argument, "is not an address");
    }
}

void options_are_read() {
    const auto options =
        parse({"--adapter", "TCP-AS", "--connect=127.0.0.1:9", "--clients", "4", "--payload=10",
               "--mode", "rate", "--rate", "12.5", "--duration", "0.5", "--connections", "shared"});
    CHECK_EQUAL(options.adapter->name, "TCP-AS");
    CHECK_EQUAL(options.server.port, 9);
    CHECK_EQUAL(options.clients, 4U);
    CHECK_EQUAL(options.payload_bytes, 10U);
    CHECK(options.mode == Mode::rate);
    CHECK_EQUAL(options.rate, 12.5);
    CHECK_EQUAL(*options.duration_s, 0.5);
    CHECK(options.connections == Connections::shared);
    const auto each = parse({"--adapter", "TCP-AS", "--connect=127.0.0.1:9", "--requests", "1",
                             "--connections", "each"});
    CHECK(each.connections == Connections::each);
}

void nonsense_is_refused() {
    const std::vector<std::string> good = {"--adapter",   "TCP-AS",     "--connect",
                                           "127.0.0.1:9", "--requests", "1"};
    parse(good);
    const auto with = [&](std::vector<std::string> more) {
        auto words = good;
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    CHECK_THROWS(parse({}), UsageError, "--adapter is missing");
    CHECK_THROWS(parse({"--adapter", "TCP-AS", "--requests", "1"}), UsageError, "--connect");
    CHECK_THROWS(parse({"--adapter", "TCP-AS", "--connect", "a:1"}), UsageError, "when to end");
    CHECK_THROWS(parse(with({"--adapter", "SMOKE-SIGNALS"})), UsageError, "SMOKE-SIGNALS");
    CHECK_THROWS(parse(with({"--clients", "0"})), UsageError, "--clients");
    CHECK_THROWS(parse(with({"--clients", "two"})), UsageError, "'two'");
    CHECK_THROWS(parse(with({"--payload", "-1"})), UsageError, "--payload");
    CHECK_THROWS(parse(with({"--mode", "fast"})), UsageError, "'fast'");
    CHECK_THROWS(parse(with({"--mode", "rate"})), UsageError, "needs --rate");
    CHECK_THROWS(parse(with({"--rate", "10"})), UsageError, "--mode rate");
    CHECK_THROWS(parse(with({"--duration", "nan"})), UsageError, "--duration");
    CHECK_THROWS(parse(with({"--duration", "0"})), UsageError, "--duration");
    CHECK_THROWS(parse(with({"--duration", "1e300"})), UsageError, "below a year");
    CHECK_THROWS(parse(with({"--warmup"})), UsageError, "needs a value");
    CHECK_THROWS(parse(with({"--help=yes"})), UsageError, "takes no value");
    CHECK_THROWS(parse(with({"stray"})), UsageError, "'stray'");
    CHECK_THROWS(parse(with({"--frobnicate"})), UsageError, "--frobnicate");
    CHECK_THROWS(parse(with({"--adapter", "BASELINE-TCP", "--connections", "shared"})), UsageError,
                 "cannot share");
}

void schedules_interleave() {
    const Schedule first(1000, 10.0, 2, 0);
    const Schedule second(1000, 10.0, 2, 1);
    CHECK_EQUAL(first.at(0), 1000);
    CHECK_EQUAL(second.at(0), 1000 + kSecond / 10);
    CHECK_EQUAL(first.at(1), 1000 + kSecond / 5);
    // Ten requests a second for 60 s are 600, whatever the number of clients.
    for (const unsigned clients : {1U, 3U, 7U}) {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < clients; ++i) {
            sum += Schedule(5, 10.0, clients, i).count_before(5 + 60 * kSecond);
        }
        CHECK_EQUAL(sum, 600U);
    }
    CHECK_EQUAL(second.count_before(1000), 0U);
}

void waiting_ends_in_time_and_on_request() {
    const Nanoseconds start = now_ns();
    wait_until(start + 2'000'000, [] { return false; });
    CHECK(now_ns() >= start + 2'000'000);
    wait_until(start + 60 * kSecond, [] { return true; });
    CHECK(now_ns() < start + 30 * kSecond);
}

void json_is_escaped() {
    CHECK_EQUAL(json_quote("a\"b\\c\nd\x01\xff"), "\"a\\\"b\\\\c\\nd??\"");
    CHECK_EQUAL(JsonObject().add("t", true).add("n", 3).add("s", "x").add_null("o").text(),
                R"({"t":true,"n":3,"s":"x","o":null})");
    CHECK_EQUAL(JsonObject().add("d", 0.5).add("bad", 0.0 / 0.0).text(), R"({"d":0.5,"bad":null})");
}

/// One more than the highest process id of Linux.
constexpr pid_t kNoProcess = 4'194'305;

void cpu_clocks_run() {
    const CpuClock by_pid(getpid());
    const CpuClock own;
    const Nanoseconds before = own.read().value();
    volatile unsigned sink = 0;
    while (own.read().value() < before + 5'000'000) sink = sink + 1;
    CHECK(by_pid.read().value() >= before + 5'000'000);
    CHECK_EQUAL(thread_count(getpid()).value(), 1U);
    CHECK_THROWS(CpuClock(kNoProcess), std::exception, "no CPU clock");
    CHECK(!thread_count(kNoProcess));
    CHECK_THROWS(pin_to_cpus("1,x"), std::invalid_argument, "not a list");
}

}  // namespace

int main() {
    addresses();
    options_are_read();
    nonsense_is_refused();
    schedules_interleave();
    waiting_ends_in_time_and_on_request();
    json_is_escaped();
    cpu_clocks_run();
}
