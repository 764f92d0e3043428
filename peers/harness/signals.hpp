// Termination signals and worker notices as file descriptors, so that the main thread can wait
// for all of them in one poll().
#pragma once

#include <cstdint>

namespace peers {

/// Blocks SIGINT and SIGTERM in this thread and all that it starts later, and ignores SIGPIPE.
/// Call before the first thread starts.
class TerminationSignals {
  public:
    TerminationSignals();
    ~TerminationSignals();
    TerminationSignals(const TerminationSignals&) = delete;
    TerminationSignals& operator=(const TerminationSignals&) = delete;

    /// Readable once a signal is pending.
    [[nodiscard]] int fd() const noexcept { return fd_; }
    /// Consumes one pending signal; false when there is none.
    bool take() noexcept;

  private:
    int fd_;
};

/// Counts events of other threads. `add` may be called from any thread.
class Tally {
  public:
    Tally();
    ~Tally();
    Tally(const Tally&) = delete;
    Tally& operator=(const Tally&) = delete;

    /// Readable when something was added since the last `take`.
    [[nodiscard]] int fd() const noexcept { return fd_; }
    void add() noexcept;
    /// What was added since the last call.
    std::uint64_t take() noexcept;

  private:
    int fd_;
};

}  // namespace peers
