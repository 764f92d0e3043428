// One destination: a connection of its own and the one stream on it. Whoever sends holds the lock,
// so a stream has one writer at a time, and drives the connection in its own thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "bob.grpc.pb.h"

namespace peers::rmr_grpc {

namespace pb = ::rmr::v1;

class Endpoint {
  public:
    enum class Outcome {
        kSent,         ///< gRPC has it
        kBusy,         ///< the peer does not take more at present
        kUnreachable,  ///< there is no connection and none could be made
    };

    /// With `buffer_hint` gRPC gathers messages, and `look_after` must be called while
    /// `needs_care`.
    Endpoint(std::string name, bool buffer_hint);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    /// Sends one message; waits up to `patience` while the peer takes nothing, and up to three
    /// seconds for a connection.
    Outcome send(std::string_view octets, std::chrono::microseconds patience);
    /// Connects unless it is connected.
    bool open();
    [[nodiscard]] bool is_open();
    /// Waits until what was sent is written and the peer has read it, or `patience` is over; then
    /// disconnects.
    void close(std::chrono::milliseconds patience);

    /// A message is on its way that only another call would push on.
    [[nodiscard]] bool needs_care() const noexcept {
        return needs_care_.load(std::memory_order_relaxed);
    }
    /// Pushes on what lingers and notices when the peer has gone.
    void look_after();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Messages that were accepted and then lost with their connection.
    [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

  private:
    using Clock = std::chrono::system_clock;

    bool connect();
    void write(std::string_view octets, bool gather);
    /// Takes one completion; false when there is none by `deadline`.
    bool take_completion(Clock::time_point deadline);
    bool await(const bool& outstanding, Clock::time_point deadline);
    /// Ends the stream, broken or not; the next send makes a new one.
    void end_stream();
    void count_lost();

    const std::string name_;
    const bool buffer_hint_;
    std::atomic<bool> needs_care_{false};
    std::atomic<std::uint64_t> dropped_{0};

    std::mutex mutex_;
    grpc::CompletionQueue queue_;
    std::shared_ptr<grpc::Channel> channel_;
    std::unique_ptr<pb::Receptor::Stub> stub_;
    std::unique_ptr<grpc::ClientContext> context_;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<pb::Bob, pb::Bob>> stream_;
    grpc::Status status_;
    pb::Bob out_;  ///< kept: its string keeps its memory
    pb::Bob in_;
    bool starting_ = false;
    bool writing_ = false;
    bool reading_ = false;
    bool finishing_ = false;
    bool broken_ = false;
    bool gathered_ = false;    ///< gRPC holds a message back
    bool lost_ = false;        ///< the last message ended with its connection
    bool is_message_ = false;  ///< what is being written is one, and no push
    Clock::time_point no_attempt_before_{};
};

}  // namespace peers::rmr_grpc
