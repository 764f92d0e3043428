// Gateway and replica as the lab runs them. Arguments: the folder of the programs, a kind, a test.
#include <csignal>
#include <string>
#include <vector>

#include "tests/check.hpp"
#include "tests/process.hpp"

using namespace peers::test;

namespace {

std::string folder;
std::string kind;

using Words = std::vector<std::string>;

/// The addresses of a ready line, as a target.
std::string target_of(const std::string& ready) {
    const auto begin = ready.find("\"addresses\":[") + 13;
    std::string list = ready.substr(begin, ready.find(']', begin) - begin);
    std::erase(list, '"');
    return list;
}

Words gateway(const std::string& target, const Words& more) {
    Words words = {folder + "/corewire-mesh-gateway", "--kind", kind, "--target", target};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

void measure(const Words& more, double least, double most) {
    Process replica({folder + "/corewire-mesh-replica", "--kind", kind, "--ports", "3"});
    const std::string ready = replica.line_with("\"ready\"", 20);
    CHECK_EQUAL(number_in(ready, "pid"), replica.pid());
    Process process(gateway(target_of(ready), more));
    process.line_with("\"connected\"", 20);
    process.line_with("\"measuring\"", 20);
    const std::string result = process.line_with("\"result\"", 30);
    CHECK_EQUAL(text_in(result, "error_sample"), "");
    CHECK_EQUAL(number_in(result, "errors"), 0);
    CHECK(result.find("\"partial\":false") != std::string::npos);
    CHECK(number_in(result, "requests") >= least);
    CHECK(number_in(result, "requests") <= most);
    CHECK(number_in(result, "min") > 0);
    CHECK(number_in(result, "first_answer_ns") > 0);
    CHECK(number_in(result, "client_cpu_ns") > 0);
    CHECK(result.find("\"one_way\":[{\"ns\"") != std::string::npos);
    CHECK_EQUAL(process.exit_status(20), 0);
    replica.close_input();
    CHECK_EQUAL(replica.exit_status(20), 0);
}

void interrupted() {
    Process replica({folder + "/corewire-mesh-replica", "--kind", kind});
    const std::string ready = replica.line_with("\"ready\"", 20);
    Process process(
        gateway(target_of(ready), {"--rate", "500", "--warmup", "0", "--duration", "600"}));
    process.line_with("\"measuring\"", 20);
    process.signal(SIGINT);
    const std::string result = process.line_with("\"result\"", 20);
    CHECK(result.find("\"partial\":true") != std::string::npos);
    CHECK_EQUAL(process.exit_status(20), 0);
}

void nobody() {
    Process process(gateway("127.0.0.1:1", {"--patience", "0.3"}));
    const std::string error = process.line_with("\"error\"", 20);
    CHECK(text_in(error, "what").find("no replica answers") != std::string::npos);
    CHECK_EQUAL(process.exit_status(20), 1);
}

void usage() {
    Process unknown({folder + "/corewire-mesh-gateway", "--target", "x", "--fast"}, true);
    unknown.line_with("unknown option --fast", 20);
    CHECK_EQUAL(unknown.exit_status(20), 2);
    Process none({folder + "/corewire-mesh-gateway"}, true);
    none.line_with("--target is missing", 20);
    CHECK_EQUAL(none.exit_status(20), 2);
    Process wrong({folder + "/corewire-mesh-replica", "--kind", "soap"}, true);
    wrong.line_with("--kind is grpc, shim or nghttp2", 20);
    CHECK_EQUAL(wrong.exit_status(20), 2);
}

}  // namespace

int main(int argc, char** argv) {
    CHECK_EQUAL(argc, 4);
    folder = argv[1];
    kind = argv[2];
    const std::string test = argv[3];
    if (test == "rate") {
        measure({"--rate", "1000", "--warmup", "0.1", "--duration", "0.3", "--connect", "3"}, 1,
                300);
    } else if (test == "max") {
        measure({"--rate", "max", "--in-flight", "9", "--warmup", "0.1", "--duration", "0.3"}, 50,
                1e7);
    } else if (test == "interrupted") {
        interrupted();
    } else if (test == "nobody") {
        nobody();
    } else if (test == "usage") {
        usage();
    } else {
        CHECK(false);
    }
    return 0;
}
