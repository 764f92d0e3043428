// TCP-AS, client half.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "harness/adapter.hpp"
#include "tcp/socket.hpp"
#include "tcp/tcp_as_message.hpp"

namespace peers::tcp_as {

/// A received message.
struct Message {
    Header header;
    std::vector<std::uint8_t> body;
};

/// One TCP connection and the thread that reads its responses. Several threads may call.
class Connection {
  public:
    explicit Connection(const Endpoint& server);
    ~Connection();

    /// Sends a request and waits for the response whose promise its tag names. Throws CallError.
    Message call(Type type, std::string_view body);

  private:
    void read_responses();
    std::future<Message> expect(std::uint64_t& tag);
    void fulfil(Message message);
    void fail_all(const std::string& why);

    Socket socket_;
    std::mutex send_mutex_;
    std::mutex pending_mutex_;
    /// Few requests are outstanding at a time, hence no map.
    std::vector<std::pair<std::uint64_t, std::promise<Message>>> pending_;
    std::uint64_t next_tag_ = 0;
    /// Why the connection is of no more use; empty while it is.
    std::string broken_;
    std::thread reader_;
};

class TcpAsClient final : public Client {
  public:
    explicit TcpAsClient(std::shared_ptr<Connection> connection)
        : connection_(std::move(connection)) {}

    Response allocate(std::string_view payload) override;
    void deallocate(const cw_guti& guti) override;

  private:
    std::shared_ptr<Connection> connection_;
    Message last_;
};

}  // namespace peers::tcp_as
