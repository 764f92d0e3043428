// What rmr_init returns: the receptors and their ring, the endpoints, the route table.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "rmr-grpc/endpoint.hpp"
#include "rmr-grpc/message.hpp"
#include "rmr-grpc/ring.hpp"
#include "rmr-grpc/route_table.hpp"

namespace peers::rmr_grpc {

class Server;

class Context final : public Surroundings {
  public:
    /// Listens on `port` ("4560", "host:4560" or "tcp:4560"). Throws std::runtime_error.
    Context(const std::string& port, int payload, bool name_only);
    ~Context() override;

    [[nodiscard]] bool is_ready();
    void close();

    MessagePtr make_message(int payload, std::optional<std::size_t> trace) const;
    void set_trace_size(std::size_t size) { trace_size_ = size; }
    void set_patience(int loops);

    /// These take the message that the application gave and leave in it what the application gets
    /// back; `state` and errno say how it went.
    void send(rmr_mbuf_t& message, std::optional<int> loops);
    void return_to_sender(rmr_mbuf_t& message);
    /// Null when there was no answer in time (errno ETIMEDOUT), and then the message is gone.
    MessagePtr call(MessagePtr message, int call_id, int milliseconds, Endpoint* endpoint);
    void send_to(rmr_mbuf_t& message, Endpoint& endpoint);

    /// Waits `milliseconds`, for ever when negative.
    MessagePtr receive(MessagePtr& old, int milliseconds);

    /// Wormholes are known by their index.
    int open_wormhole(const std::string& target);
    Endpoint* wormhole(int id);
    void close_wormhole(int id);
    [[nodiscard]] bool has_wormholes();

    /// Called by the receptors.
    MessagePtr deliver(std::string_view octets, MessagePtr spare);

    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
    [[nodiscard]] std::uint64_t queued() const { return ring_.count_of_puts(); }
    void reset_counts();
    [[nodiscard]] std::uint64_t dropped();

    Endpoint& endpoint(std::string_view name) override;
    [[nodiscard]] bool is_us(std::string_view name) const override;

  private:
    /// Where the answer to a call is waited for.
    struct Slot {
        std::condition_variable answered;
        std::array<unsigned char, RMR_MAX_XID> expected{};
        MessagePtr answer;
        bool waiting = false;
    };

    void load_table();
    void look_after_endpoints();
    std::vector<Endpoint*> all_endpoints();
    Endpoint::Outcome send_once(rmr_mbuf_t& message, Endpoint& endpoint,
                                std::chrono::microseconds patience);
    void route(rmr_mbuf_t& message, std::chrono::microseconds patience);
    void conclude(rmr_mbuf_t& message, Endpoint::Outcome outcome) const;

    Source source_;
    std::set<std::string, std::less<>> our_names_;
    const std::size_t payload_;
    std::atomic<std::size_t> trace_size_{0};
    std::atomic<std::int64_t> patience_us_;
    const bool buffer_hint_;
    const bool stamp_;

    std::mutex table_mutex_;
    std::string table_text_;
    std::chrono::steady_clock::time_point next_load_{};
    std::unique_ptr<RouteTable> owned_table_;
    std::atomic<RouteTable*> table_{nullptr};

    std::mutex endpoints_mutex_;
    std::map<std::string, std::unique_ptr<Endpoint>, std::less<>> endpoints_;
    std::vector<Endpoint*> wormholes_;

    std::mutex calls_mutex_;
    std::array<Slot, 256> slots_;

    MessageRing ring_;
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint64_t> lost_copies_{0};  ///< other groups got the message

    std::mutex keeper_mutex_;
    std::condition_variable keeper_wakes_;
    std::atomic<bool> keeper_rests_{false};
    bool closing_ = false;
    std::thread keeper_;
    std::unique_ptr<Server> server_;
};

}  // namespace peers::rmr_grpc
