// A child process whose output is read line by line, never without a time limit.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace peers::test {

class Process {
  public:
    /// Starts `words[0]` with a standard input that stays open. Standard error goes into the
    /// output when `with_errors`.
    explicit Process(const std::vector<std::string>& words, bool with_errors = false);
    /// Kills the process if it still runs.
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void signal(int number) const { kill(pid_, number); }
    void close_input();

    /// The next line that contains `part`; ends the test when none comes within `seconds`.
    std::string line_with(const std::string& part, int seconds);
    /// All the rest of the output, and the exit status (128 + n for signal n); ends the test
    /// when the process still runs after `seconds`.
    std::string rest(int seconds);
    int exit_status(int seconds);

  private:
    bool read_more(long long deadline_ms);

    pid_t pid_ = -1;
    int input_ = -1;
    int output_ = -1;
    std::string buffer_;
    int status_ = -1;
};

/// The number after "key": in a line of JSON.
double number_in(const std::string& json, const std::string& key);
/// The text after "key":" in a line of JSON.
std::string text_in(const std::string& json, const std::string& key);

}  // namespace peers::test
