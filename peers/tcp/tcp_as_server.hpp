// TCP-AS, server half.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "harness/adapter.hpp"
#include "tcp/socket.hpp"

namespace peers::tcp_as {

/// A fixed pool of workers, each bound to one connection and blocking on it for as long as the
/// connection lives. With all workers taken, further connections wait.
class PoolServer final : public Server {
  public:
    static constexpr std::size_t kWorkers = 32;

    PoolServer(const Endpoint& listen, Allocator& allocator);
    ~PoolServer() override;

    [[nodiscard]] std::string address() const override { return address_of(listener_); }

  private:
    struct Worker {
        Socket connection;
        std::thread thread;
    };

    void accept_all();
    void work(Worker& worker);
    void serve(const Socket& connection);
    std::vector<std::uint8_t> answer(const struct Header& header,
                                     const std::vector<std::uint8_t>& body);

    Allocator& allocator_;
    Socket listener_;
    std::mutex mutex_;
    std::condition_variable changed_;
    /// At most one accepted connection waits here: the acceptor holds it until a worker is free.
    std::deque<Socket> waiting_;
    std::size_t idle_ = 0;
    bool stopping_ = false;
    std::array<Worker, kWorkers> workers_;
    std::thread acceptor_;
};

}  // namespace peers::tcp_as
