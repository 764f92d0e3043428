// One HTTP/2 connection on nghttp2 as a sans-IO session: octets in, octets out, one write a turn.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/clock.hpp"

namespace mesh {

/// What one stream gathers. Places are used again.
struct H2Stream {
    peers::Nanoseconds due = 0;
    peers::Nanoseconds sent = 0;
    /// The timestamp header of a request, the one-way header of an answer.
    std::string stamp;
    bool is_create = false;
    unsigned status = 0;
    std::size_t received = 0;
    /// What is sent, and how far.
    const std::string* body = nullptr;
    std::size_t offset = 0;
};

/// Which end the session is, and whom it tells.
class H2Handler {
  public:
    virtual ~H2Handler() = default;
    /// Of a client: the stream has ended; `error` is zero when the answer is whole.
    virtual void ended(H2Stream& stream, std::uint32_t error) = 0;
    /// Of a server: a request is there in full; its answer's body and headers.
    virtual const std::string& answer(H2Stream& stream, std::string& one_way) = 0;
};

class H2Session {
  public:
    /// Takes the connected, non-blocking socket over.
    H2Session(int fd, bool is_client, std::string authority, H2Handler& handler);
    ~H2Session();
    H2Session(const H2Session&) = delete;
    H2Session& operator=(const H2Session&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; }

    /// Sends a request at the next `flush`.
    void request(const std::string& body, std::uint64_t number, peers::Nanoseconds due,
                 peers::Nanoseconds sent);
    /// Reads what is there. False when the connection is gone.
    bool read();
    /// Writes what waits, in one write. False when the connection is gone.
    bool flush();
    /// Whether the socket took less than what waits.
    [[nodiscard]] bool wants_write() const noexcept { return !out_.empty(); }

    bool dirty = false;

  private:
    H2Stream* place();
    void give_back(H2Stream* stream) { free_.push_back(stream); }
    H2Stream* stream_of(std::int32_t id);
    void respond(std::int32_t id, H2Stream& stream);

    static int on_begin_headers(nghttp2_session*, const nghttp2_frame*, void*);
    static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t*, std::size_t,
                         const std::uint8_t*, std::size_t, std::uint8_t, void*);
    static int on_data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t*,
                       std::size_t, void*);
    static int on_frame(nghttp2_session*, const nghttp2_frame*, void*);
    static int on_close(nghttp2_session*, std::int32_t, std::uint32_t, void*);

    int fd_;
    bool is_client_;
    std::string authority_;
    H2Handler& handler_;
    nghttp2_session* session_ = nullptr;
    std::string out_;
    std::deque<H2Stream> streams_;
    std::vector<H2Stream*> free_;
};

/// Connects to "host:port" and makes the socket ready. Throws std::runtime_error.
int h2_connect(const std::string& address);
/// Listens at a free port of 127.0.0.1; gives the socket, and the port in `port`.
int h2_listen(std::uint16_t& port);
/// Accepts one connection; -1 when there is none.
int h2_accept(int listener);

}  // namespace mesh
