#include "mesh/h2_session.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "mesh/messages.hpp"

namespace mesh {

namespace {

constexpr std::int32_t kStreamWindow = 1 << 20;
constexpr std::int32_t kConnectionWindow = 16 << 20;
constexpr std::uint32_t kMaxStreams = 4096;

std::uint8_t* octets(std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

nghttp2_nv field(std::string_view name, std::string_view value) {
    // Both outlive the call that copies them.
    return {octets(name), octets(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* into, std::size_t room,
                  std::uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& stream = *static_cast<H2Stream*>(source->ptr);
    const std::size_t count = std::min(room, stream.body->size() - stream.offset);
    std::memcpy(into, stream.body->data() + stream.offset, count);
    stream.offset += count;
    if (stream.offset == stream.body->size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
}

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in parse(const std::string& address) {
    const auto colon = address.rfind(':');
    sockaddr_in parsed{};
    parsed.sin_family = AF_INET;
    const auto port = read_number(address.substr(colon + 1));
    const bool whole = colon != std::string::npos && port && *port <= 65535 &&
                       inet_pton(AF_INET, address.substr(0, colon).c_str(), &parsed.sin_addr) == 1;
    if (!whole) throw std::runtime_error("'" + address + "' is not an IPv4 address and a port");
    parsed.sin_port = htons(static_cast<std::uint16_t>(*port));
    return parsed;
}

void set_no_delay(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

H2Session::H2Session(int fd, bool is_client, std::string authority, H2Handler& handler)
    : fd_(fd), is_client_(is_client), authority_(std::move(authority)), handler_(handler) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (is_client) {
        nghttp2_session_client_new(&session_, callbacks, this);
    } else {
        nghttp2_session_server_new(&session_, callbacks, this);
    }
    nghttp2_session_callbacks_del(callbacks);
    const std::array<nghttp2_settings_entry, 2> settings = {{
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
    }};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

H2Session::~H2Session() {
    nghttp2_session_del(session_);
    close(fd_);
}

H2Stream* H2Session::place() {
    if (free_.empty()) return &streams_.emplace_back();
    H2Stream* const stream = free_.back();
    free_.pop_back();
    *stream = H2Stream();
    return stream;
}

H2Stream* H2Session::stream_of(std::int32_t id) {
    return static_cast<H2Stream*>(nghttp2_session_get_stream_user_data(session_, id));
}

void H2Session::request(const std::string& body, std::uint64_t number, peers::Nanoseconds due,
                        peers::Nanoseconds sent) {
    H2Stream* const stream = place();
    stream->due = due;
    stream->sent = sent;
    stream->body = &body;
    const std::string who = correlation(number);
    const std::string when = std::to_string(sent);
    const std::array<nghttp2_nv, 8> fields = {field(":method", "POST"),
                                              field(":scheme", "http"),
                                              field(":authority", authority_),
                                              field(":path", kPath),
                                              field("content-type", "application/json"),
                                              field(kCorrelation, who),
                                              field("3gpp-sbi-max-rsp-time", "10000"),
                                              field(kSent, when)};
    nghttp2_data_provider provider{};
    provider.source.ptr = stream;
    provider.read_callback = read_body;
    nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), &provider, stream);
}

void H2Session::respond(std::int32_t id, H2Stream& stream) {
    std::string one_way;
    stream.body = &handler_.answer(stream, one_way);
    const std::array<nghttp2_nv, 3> fields = {field(":status", stream.is_create ? "200" : "404"),
                                              field("content-type", "application/json"),
                                              field(kOneWay, one_way)};
    nghttp2_data_provider provider{};
    provider.source.ptr = &stream;
    provider.read_callback = read_body;
    nghttp2_submit_response(session_, id, fields.data(), fields.size(), &provider);
}

bool H2Session::read() {
    static thread_local std::array<std::uint8_t, 1 << 16> buffer;
    for (;;) {
        const ssize_t count = recv(fd_, buffer.data(), buffer.size(), 0);
        if (count < 0) return errno == EAGAIN || errno == EINTR;
        if (count == 0) return false;
        const auto length = static_cast<std::size_t>(count);
        if (nghttp2_session_mem_recv(session_, buffer.data(), length) != count) return false;
        if (length < buffer.size()) return true;
    }
}

bool H2Session::flush() {
    for (;;) {
        const std::uint8_t* data = nullptr;
        const ssize_t count = nghttp2_session_mem_send(session_, &data);
        if (count < 0) return false;
        if (count == 0) break;
        out_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(count));
    }
    if (out_.empty()) return true;
    const ssize_t written = send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (written < 0) return errno == EAGAIN || errno == EINTR;
    if (static_cast<std::size_t>(written) == out_.size()) {
        out_.clear();
    } else {
        out_.erase(0, static_cast<std::size_t>(written));
    }
    return true;
}

int H2Session::on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    auto& self = *static_cast<H2Session*>(user);
    if (!self.is_client_ && frame->hd.type == NGHTTP2_HEADERS &&
        frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, self.place());
    }
    return 0;
}

int H2Session::on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                         std::size_t name_length, const std::uint8_t* value,
                         std::size_t value_length, std::uint8_t, void* user) {
    auto& self = *static_cast<H2Session*>(user);
    H2Stream* const stream = self.stream_of(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    const std::string_view key(reinterpret_cast<const char*>(name), name_length);
    const std::string_view text(reinterpret_cast<const char*>(value), value_length);
    if (key == (self.is_client_ ? kOneWay : kSent)) {
        stream->stamp = text;
    } else if (key == ":path") {
        stream->is_create = text == kPath;
    } else if (key == ":status") {
        stream->status = static_cast<unsigned>(read_number(text).value_or(0));
    }
    return 0;
}

int H2Session::on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t*,
                       std::size_t length, void* user) {
    auto& self = *static_cast<H2Session*>(user);
    if (H2Stream* const stream = self.stream_of(id)) stream->received += length;
    return 0;
}

int H2Session::on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& self = *static_cast<H2Session*>(user);
    if (self.is_client_ || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    if (H2Stream* const stream = self.stream_of(frame->hd.stream_id)) {
        self.respond(frame->hd.stream_id, *stream);
    }
    return 0;
}

int H2Session::on_close(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
    auto& self = *static_cast<H2Session*>(user);
    H2Stream* const stream = self.stream_of(id);
    if (stream == nullptr) return 0;
    if (self.is_client_) self.handler_.ended(*stream, error);
    self.give_back(stream);
    return 0;
}

int h2_connect(const std::string& address) {
    const sockaddr_in peer = parse(address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("socket");
    if (connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
        const int error = errno;
        close(fd);
        errno = error;
        fail(address);
    }
    set_no_delay(fd);
    // Connecting may block, since there is nothing to do before; nothing after it may.
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
    return fd;
}

int h2_listen(std::uint16_t& port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) fail("socket");
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof own;
    if (bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 || listen(fd, 128) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) != 0) {
        fail("cannot listen at 127.0.0.1");
    }
    port = ntohs(own.sin_port);
    return fd;
}

int h2_accept(int listener) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) set_no_delay(fd);
    return fd;
}

}  // namespace mesh
