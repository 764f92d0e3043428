// The message ring: every receptor puts in, the application takes out, in the order of arrival.
//
// A full ring makes the receptor wait, and gRPC's flow control makes its sender wait. (RMR itself
// drops the message; a peer that keeps it loses no comparison by that.)
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "rmr-grpc/message.hpp"

namespace peers::rmr_grpc {

class MessageRing {
  public:
    static constexpr std::size_t kSlots = 4096;
    /// Large messages fill the ring before its slots do.
    static constexpr std::size_t kOctets = std::size_t{64} << 20;

    /// Waits for room. Returns a buffer for the receptor's next message when one is at hand;
    /// nothing is put in once the ring is closed.
    MessagePtr put(MessagePtr message);
    /// Waits for a message until `deadline`, or for ever without one. `old` is kept for a receptor
    /// when there is a message and given back (in `old`) when there is none.
    MessagePtr take(MessagePtr& old, std::optional<std::chrono::steady_clock::time_point> deadline);
    /// Nobody waits any longer.
    void close();
    [[nodiscard]] std::uint64_t count_of_puts() const;
    void reset_count();

  private:
    mutable std::mutex mutex_;
    std::condition_variable filled_;
    std::condition_variable emptied_;
    std::vector<MessagePtr> slots_{kSlots};
    std::vector<MessagePtr> spares_;
    std::size_t first_ = 0;
    std::size_t used_ = 0;
    std::size_t octets_ = 0;
    std::size_t takers_waiting_ = 0;
    std::size_t putters_waiting_ = 0;
    std::uint64_t puts_ = 0;
    bool closed_ = false;
};

}  // namespace peers::rmr_grpc
