#include "rmr-grpc/ring.hpp"

#include <utility>

namespace peers::rmr_grpc {

namespace {

/// Buffers beyond this size go back to the allocator.
constexpr int kLargestSpare = 64 * 1024;
constexpr std::size_t kSpares = 256;

}  // namespace

MessagePtr MessageRing::put(MessagePtr message) {
    const auto size = static_cast<std::size_t>(message->alloc_len);
    std::unique_lock lock(mutex_);
    while (!closed_ && (used_ == kSlots || (used_ > 0 && octets_ + size > kOctets))) {
        ++putters_waiting_;
        emptied_.wait(lock);
        --putters_waiting_;
    }
    if (closed_) {
        return message;
    }
    slots_[(first_ + used_) % kSlots] = std::move(message);
    ++used_;
    ++puts_;
    octets_ += size;
    MessagePtr spare;
    if (!spares_.empty()) {
        spare = std::move(spares_.back());
        spares_.pop_back();
    }
    const bool wake = takers_waiting_ > 0;
    lock.unlock();
    if (wake) {
        filled_.notify_one();
    }
    return spare;
}

MessagePtr MessageRing::take(MessagePtr& old,
                             std::optional<std::chrono::steady_clock::time_point> deadline) {
    std::unique_lock lock(mutex_);
    while (used_ == 0) {
        if (closed_) {
            return nullptr;
        }
        ++takers_waiting_;
        bool late = false;
        if (deadline) {
            late = filled_.wait_until(lock, *deadline) == std::cv_status::timeout;
        } else {
            filled_.wait(lock);
        }
        --takers_waiting_;
        if (late && used_ == 0) {
            return nullptr;
        }
    }
    MessagePtr message = std::move(slots_[first_]);
    first_ = (first_ + 1) % kSlots;
    --used_;
    octets_ -= static_cast<std::size_t>(message->alloc_len);
    if (old && old->alloc_len <= kLargestSpare && spares_.size() < kSpares) {
        spares_.push_back(std::move(old));
    }
    // A receptor that waits does so for all of a full ring: it goes on when some of it is free.
    const bool wake = putters_waiting_ > 0 && (used_ <= kSlots / 2 || octets_ <= kOctets / 2);
    lock.unlock();
    if (wake) {
        emptied_.notify_all();
    }
    old.reset();
    return message;
}

void MessageRing::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    filled_.notify_all();
    emptied_.notify_all();
}

std::uint64_t MessageRing::count_of_puts() const {
    const std::lock_guard lock(mutex_);
    return puts_;
}

void MessageRing::reset_count() {
    const std::lock_guard lock(mutex_);
    puts_ = 0;
}

}  // namespace peers::rmr_grpc
