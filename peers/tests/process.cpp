#include "tests/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "harness/clock.hpp"
#include "tests/check.hpp"

namespace peers::test {

namespace {

long long now_ms() { return now_ns() / 1'000'000; }

[[noreturn]] void fail(const std::string& what) {
    std::cerr << what << '\n';
    std::exit(1);
}

}  // namespace

Process::Process(const std::vector<std::string>& words, bool with_errors) {
    int input[2];
    int output[2];
    CHECK_EQUAL(pipe2(input, O_CLOEXEC), 0);
    CHECK_EQUAL(pipe2(output, O_CLOEXEC), 0);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        if (with_errors) dup2(output[1], STDERR_FILENO);
        execv(argv[0], argv.data());
        _exit(127);
    }
    close(input[0]);
    close(output[1]);
    input_ = input[1];
    output_ = output[0];
}

Process::~Process() {
    if (status_ < 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    close_input();
    close(output_);
}

void Process::close_input() {
    if (input_ >= 0) close(input_);
    input_ = -1;
}

bool Process::read_more(long long deadline_ms) {
    const long long left = deadline_ms - now_ms();
    pollfd fd{output_, POLLIN, 0};
    if (left <= 0 || poll(&fd, 1, static_cast<int>(left)) <= 0) {
        fail("no output in time; so far: " + buffer_);
    }
    char chunk[65536];
    const ssize_t got = read(output_, chunk, sizeof chunk);
    if (got > 0) buffer_.append(chunk, static_cast<std::size_t>(got));
    return got > 0;
}

std::string Process::line_with(const std::string& part, int seconds) {
    const long long deadline = now_ms() + seconds * 1000LL;
    std::string passed;
    for (;;) {
        const auto end = buffer_.find('\n');
        if (end == std::string::npos) {
            if (!read_more(deadline)) fail("the output ended without " + part + ": " + passed);
            continue;
        }
        const std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        if (line.find(part) != std::string::npos) return line;
        passed += line + "\n";
    }
}

std::string Process::rest(int seconds) {
    const long long deadline = now_ms() + seconds * 1000LL;
    while (read_more(deadline)) {
    }
    return std::exchange(buffer_, {});
}

int Process::exit_status(int seconds) {
    const long long deadline = now_ms() + seconds * 1000LL;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
        if (now_ms() > deadline) fail("the process has not ended in time");
        usleep(5000);
    }
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return status_;
}

double number_in(const std::string& json, const std::string& key) {
    const std::string quoted = "\"" + key + "\":";
    const auto at = json.find(quoted);
    if (at == std::string::npos) fail("no " + key + " in " + json);
    return std::stod(json.substr(at + quoted.size(), 40));
}

std::string text_in(const std::string& json, const std::string& key) {
    const std::string quoted = "\"" + key + "\":\"";
    const auto at = json.find(quoted);
    if (at == std::string::npos) fail("no " + key + " in " + json);
    const auto begin = at + quoted.size();
    return json.substr(begin, json.find('"', begin) - begin);
}

}  // namespace peers::test
