// corewire.hpp - corewire.h for C++20: handles that free themselves, spans, callables.
//
// Header only. Errors are exceptions: a function that cannot do what it was asked throws
// corewire::Error. An answer is no exception, not even one with a failure: look at its code, or let
// expect_ok throw. Handles are move-only; an empty (moved-from) one may only be destroyed or
// assigned to. Destructors never throw. A call through Channel or Stream allocates nothing here.
//
// Which thread may call what, and what is borrowed for how long, stands in corewire.h.
#ifndef COREWIRE_HPP
#define COREWIRE_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "corewire.h"

namespace corewire {

using Bytes = std::span<const std::byte>;
using Microseconds = std::chrono::microseconds;

/// For timeouts: none.
inline constexpr Microseconds no_timeout = Microseconds::max();

inline Bytes as_bytes(corewire_slice slice) noexcept {
    return {static_cast<const std::byte*>(slice.data), slice.length};
}
inline std::string_view as_text(corewire_slice slice) noexcept {
    return {static_cast<const char*>(slice.data), slice.length};
}
inline std::string_view as_text(Bytes bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A piece of a body, or a header's name or value: borrowed.
inline corewire_slice piece(Bytes bytes) noexcept { return {bytes.data(), bytes.size()}; }
inline corewire_slice piece(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline corewire_slice piece(const void* data, std::size_t length) noexcept {
    return {data, length};
}

/// A body to send: "text", bytes, nothing, up to four pieces as in {piece(head), piece(payload)},
/// or a span of any number. Borrows what it is made from; meant for arguments only.
class Body {
  public:
    Body() noexcept = default;
    template <std::same_as<corewire_slice>... Pieces>
    requires(sizeof...(Pieces) >= 1 && sizeof...(Pieces) <= 4) Body(Pieces... pieces)
    noexcept : own_{pieces...}, first_(own_.data()), count_(sizeof...(pieces)) {}
    Body(std::span<const corewire_slice> pieces) noexcept
        : first_(pieces.data()), count_(pieces.size()) {}
    Body(Bytes bytes) noexcept : Body(piece(bytes)) {}
    template <std::convertible_to<std::string_view> Text>
    Body(const Text& text) noexcept : Body(piece(std::string_view(text))) {}
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;

    [[nodiscard]] const corewire_slice* data() const noexcept { return first_; }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

  private:
    std::array<corewire_slice, 4> own_;
    const corewire_slice* first_ = nullptr;
    std::size_t count_ = 0;
};

/// Why something was not done, or a call not answered.
class Error : public std::runtime_error {
  public:
    Error(corewire_code code, const std::string& message,
          corewire_error_kind kind = COREWIRE_ERROR_ANSWERED, bool may_have_executed = true)
        : std::runtime_error(message),
          code_(code),
          kind_(kind),
          may_have_executed_(may_have_executed) {}

    [[nodiscard]] corewire_code code() const noexcept { return code_; }
    [[nodiscard]] corewire_error_kind kind() const noexcept { return kind_; }
    /// If false, any call may be tried again.
    [[nodiscard]] bool may_have_executed() const noexcept { return may_have_executed_; }

  private:
    corewire_code code_;
    corewire_error_kind kind_;
    bool may_have_executed_;
};

namespace detail {

template <auto Free>
struct Freeing {
    template <typename T>
    void operator()(T* handle) const noexcept {
        Free(handle);
    }
};
template <typename T, auto Free>
using Handle = std::unique_ptr<T, Freeing<Free>>;

using ErrorHandle = Handle<corewire_error, corewire_error_free>;

[[noreturn]] inline void raise(ErrorHandle error) {
    throw Error(corewire_error_code(error.get()), corewire_error_message(error.get()),
                corewire_error_kind_of(error.get()), corewire_error_may_have_executed(error.get()));
}

/// Throws what `function`, given a place for an error, puts there.
template <typename Function>
void check(const Function& function) {
    corewire_error* error = nullptr;
    function(&error);
    if (error != nullptr) raise(ErrorHandle(error));
}

inline std::uint64_t micros(Microseconds time) noexcept {
    if (time == no_timeout) return COREWIRE_NO_TIMEOUT;
    return time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0;
}

}  // namespace detail

/// PEM files: this end's certificate and its key, and the authorities that it believes. They are
/// read again when they change. An empty path: none.
struct TlsFiles {
    std::string certificate{};
    std::string key{};
    std::string authorities{};
};

/// TLS at a client. `files.authorities` is needed; an identity is presented to who asks for it.
struct ClientTls {
    TlsFiles files;
    /// The name that the service's certificate must be for; empty: the endpoint's host.
    std::string server_name{};
    /// Channels of this process with the same files share what was read of them and their sessions:
    /// a new channel's connection goes on from an earlier one's.
    bool shared = false;
};

/// What a server asks of its clients.
enum class ClientCertificates : std::uint32_t {
    /// Required if there are authorities, else not asked for.
    by_authorities = COREWIRE_CLIENT_CERTIFICATES_DEFAULT,
    not_asked = COREWIRE_CLIENT_CERTIFICATES_NOT_ASKED,
    optional = COREWIRE_CLIENT_CERTIFICATES_OPTIONAL,
    required = COREWIRE_CLIENT_CERTIFICATES_REQUIRED,
};

/// TLS at a server. `files.certificate` and `files.key` are needed.
struct ServerTls {
    TlsFiles files;
    ClientCertificates clients = ClientCertificates::by_authorities;
    /// Clients may speak clear text on the same ports.
    bool allow_clear_text = false;
};

namespace detail {

inline const char* text_or_null(const std::string& text) noexcept {
    return text.empty() ? nullptr : text.c_str();
}

}  // namespace detail

/// Settings of a channel.
struct ChannelOptions {
    Microseconds connect_timeout = std::chrono::seconds(5);
    Microseconds call_timeout = std::chrono::seconds(10);
    Microseconds busy_poll{0};
    /// How long a caller that waits, also in Loop::run_once, asks again before it sleeps, while
    /// that pays; it lets other threads run between. Empty: the library's default.
    std::optional<Microseconds> patience;
    /// For a "native://" endpoint of this host: shared memory where the service offers it.
    bool shared_memory = false;
    /// Empty: clear text.
    std::optional<ClientTls> tls;

    /// Borrows the texts of `tls`.
    [[nodiscard]] corewire_channel_options to_c() const noexcept {
        corewire_channel_options options;
        corewire_channel_options_init(&options, sizeof options);
        options.connect_timeout_us = detail::micros(connect_timeout);
        options.call_timeout_us = detail::micros(call_timeout);
        options.busy_poll_us = detail::micros(busy_poll);
        if (patience) options.patience_us = detail::micros(*patience);
        options.shared_memory = shared_memory ? 1 : 0;
        if (tls) {
            // Not NULL even when it is empty: without authorities TLS is refused, not left out.
            options.tls_authorities = tls->files.authorities.c_str();
            options.tls_certificate = detail::text_or_null(tls->files.certificate);
            options.tls_key = detail::text_or_null(tls->files.key);
            options.tls_server_name = detail::text_or_null(tls->server_name);
            options.tls_shared = tls->shared ? 1 : 0;
        }
        return options;
    }
};

/// Settings of one call, built once for any number of them. Borrows the headers.
class CallOptions {
  public:
    CallOptions() noexcept { corewire_call_options_init(&options_, sizeof options_); }

    CallOptions& timeout(Microseconds timeout) noexcept {
        // Zero would mean the channel's default; what has passed already is as short as can be.
        options_.timeout_us = std::max<std::uint64_t>(detail::micros(timeout), 1);
        return *this;
    }
    /// 0 is the most urgent, 31 the least.
    CallOptions& priority(std::uint32_t priority) noexcept {
        options_.priority = priority;
        return *this;
    }
    CallOptions& headers(std::span<const corewire_header> headers) noexcept {
        options_.headers = headers.data();
        options_.header_count = headers.size();
        return *this;
    }
    [[nodiscard]] const corewire_call_options* get() const noexcept { return &options_; }

  private:
    corewire_call_options options_;
};

inline corewire_header header(std::string_view name, std::string_view value) noexcept {
    return {piece(name), piece(value)};
}

/// What a message asks for: "service/method". Made once, used by any number of threads.
class Operation {
  public:
    explicit Operation(const char* name) {
        corewire_operation* operation = nullptr;
        detail::check([&](corewire_error** e) { corewire_operation_new(name, &operation, e); });
        handle_.reset(operation);
    }
    [[nodiscard]] const corewire_operation* get() const noexcept { return handle_.get(); }

  private:
    detail::Handle<corewire_operation, corewire_operation_free> handle_;
};

/// Received headers; borrowed from what they came with.
class Headers {
  public:
    explicit Headers(const corewire_headers* headers) noexcept : headers_(headers) {}

    [[nodiscard]] std::size_t size() const noexcept { return corewire_headers_count(headers_); }
    /// The first value of this name. `name` ends with NUL.
    [[nodiscard]] std::optional<std::string_view> find(const char* name) const noexcept {
        corewire_slice value;
        if (!corewire_headers_find(headers_, name, &value)) return std::nullopt;
        return as_text(value);
    }
    /// Calls `visit(name, value)` for each, in order.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        corewire_header header;
        for (std::size_t i = 0; corewire_headers_at(headers_, i, &header); ++i) {
            visit(as_text(header.name), as_text(header.value));
        }
    }

  private:
    const corewire_headers* headers_;
};

/// The answer to a call. What its members return is borrowed from it.
class Response {
  public:
    /// An empty one, to be assigned to.
    Response() noexcept = default;
    explicit Response(corewire_response* owned) noexcept : handle_(owned) {}

    [[nodiscard]] corewire_code code() const noexcept {
        return corewire_response_code(handle_.get());
    }
    [[nodiscard]] bool ok() const noexcept { return code() == COREWIRE_OK; }
    [[nodiscard]] std::string_view message() const noexcept {
        return as_text(corewire_response_message(handle_.get()));
    }
    [[nodiscard]] Bytes body() const noexcept {
        return as_bytes(corewire_response_body(handle_.get()));
    }
    [[nodiscard]] Headers headers() const noexcept {
        return Headers(corewire_response_headers(handle_.get()));
    }
    /// Throws Error, with the service's sentence, unless the code is COREWIRE_OK.
    void expect_ok() const {
        if (!ok()) throw Error(code(), std::string(message()));
    }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

  private:
    detail::Handle<corewire_response, corewire_response_free> handle_;
};

/// A stream as its caller holds it; for one thread at a time.
class Stream {
  public:
    /// An empty one, to be assigned to.
    Stream() noexcept = default;
    explicit Stream(corewire_stream* owned) noexcept : handle_(owned) {}

    void send(const Body& body) {
        detail::check([&](corewire_error** e) {
            corewire_stream_send(handle_.get(), body.data(), body.size(), e);
        });
    }
    /// The next message, borrowed until the next receive; nothing at the good end of the stream.
    std::optional<Bytes> receive() {
        corewire_slice message;
        detail::check(
            [&](corewire_error** e) { corewire_stream_receive(handle_.get(), &message, e); });
        if (message.data == nullptr) return std::nullopt;
        return as_bytes(message);
    }
    void finish() {
        detail::check([&](corewire_error** e) { corewire_stream_finish(handle_.get(), e); });
    }
    void cancel(corewire_code code = COREWIRE_CANCELLED) {
        detail::check([&](corewire_error** e) { corewire_stream_cancel(handle_.get(), code, e); });
    }
    /// The headers that came after the last message.
    [[nodiscard]] Headers trailers() const noexcept {
        return Headers(corewire_stream_trailers(handle_.get()));
    }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

  private:
    detail::Handle<corewire_stream, corewire_stream_free> handle_;
};

/// A connection to one service, for threads that wait. Any number of threads may use it at once.
class Channel {
  public:
    explicit Channel(const char* endpoint, const ChannelOptions& options = {}) {
        const corewire_channel_options settings = options.to_c();
        corewire_channel* channel = nullptr;
        detail::check([&](corewire_error** e) {
            corewire_channel_connect(endpoint, &settings, &channel, e);
        });
        handle_.reset(channel);
    }

    /// Calls and waits. Throws Error when no answer came.
    Response call(const Operation& operation, const Body& body = {}) {
        return call(operation, body, nullptr);
    }
    Response call(const Operation& operation, const Body& body, const CallOptions& options) {
        return call(operation, body, options.get());
    }
    void send_event(const Operation& operation, const Body& body,
                    const CallOptions& options = CallOptions()) {
        detail::check([&](corewire_error** e) {
            corewire_send_event(handle_.get(), operation.get(), body.data(), body.size(),
                                options.get(), e);
        });
    }
    Stream open(const Operation& operation, const CallOptions& options = CallOptions()) {
        corewire_stream* stream = nullptr;
        detail::check([&](corewire_error** e) {
            corewire_stream_open(handle_.get(), operation.get(), nullptr, 0, options.get(), &stream,
                                 e);
        });
        return Stream(stream);
    }

  private:
    Response call(const Operation& operation, const Body& body,
                  const corewire_call_options* options) {
        corewire_response* response = nullptr;
        detail::check([&](corewire_error** e) {
            corewire_call(handle_.get(), operation.get(), body.data(), body.size(), options,
                          &response, e);
        });
        return Response(response);
    }

    detail::Handle<corewire_channel, corewire_channel_free> handle_;
};

/// How an asynchronous call ended.
class Outcome {
  public:
    Outcome() noexcept = default;
    Outcome(corewire_response* response, corewire_error* error) noexcept
        : response_(response), error_(error) {}

    /// Whether an answer came, well or with a failure.
    [[nodiscard]] bool answered() const noexcept { return static_cast<bool>(response_); }
    /// The answer; throws Error when none came. Once.
    Response response() {
        if (error_ != nullptr) detail::raise(std::move(error_));
        return std::move(response_);
    }

  private:
    Response response_;
    detail::ErrorHandle error_;
};

/// An asynchronous connection to one service, driven by a Loop.
class AsyncChannel {
  public:
    explicit AsyncChannel(corewire_async_channel* owned) noexcept : handle_(owned) {}

    /// Calls; `on_end(Outcome)` is called once, on the thread that runs the loop. It must not
    /// throw: that ends the program. A callable no larger than a pointer, such as a lambda that
    /// captures `this`, costs no allocation.
    template <std::invocable<Outcome> OnEnd>
    void call(const Operation& operation, const Body& body, OnEnd on_end) {
        call(operation, body, nullptr, std::move(on_end));
    }
    template <std::invocable<Outcome> OnEnd>
    void call(const Operation& operation, const Body& body, const CallOptions& options,
              OnEnd on_end) {
        call(operation, body, options.get(), std::move(on_end));
    }

  private:
    template <typename OnEnd>
    void call(const Operation& operation, const Body& body, const corewire_call_options* options,
              OnEnd on_end) {
        if constexpr (sizeof(OnEnd) <= sizeof(void*) && std::is_trivially_copyable_v<OnEnd>) {
            void* user = nullptr;
            std::memcpy(&user, &on_end, sizeof on_end);
            start(operation, body, options, user,
                  [](void* stored, corewire_response* response, corewire_error* error) noexcept {
                      alignas(OnEnd) std::byte place[sizeof(OnEnd)];
                      std::memcpy(place, &stored, sizeof place);
                      (*std::launder(reinterpret_cast<OnEnd*>(place)))(Outcome(response, error));
                  });
        } else {
            auto stored = std::make_unique<OnEnd>(std::move(on_end));
            start(operation, body, options, stored.get(),
                  [](void* user, corewire_response* response, corewire_error* error) noexcept {
                      const std::unique_ptr<OnEnd> owned(static_cast<OnEnd*>(user));
                      (*owned)(Outcome(response, error));
                  });
            // The callback owns it now.
            static_cast<void>(stored.release());
        }
    }

    void start(const Operation& operation, const Body& body, const corewire_call_options* options,
               void* user, corewire_call_callback callback) {
        detail::check([&](corewire_error** e) {
            corewire_call_async(handle_.get(), operation.get(), body.data(), body.size(), options,
                                callback, user, e);
        });
    }

    detail::Handle<corewire_async_channel, corewire_async_channel_free> handle_;
};

/// An event loop that the program drives; by one thread at a time.
class Loop {
  public:
    Loop() {
        corewire_loop* loop = nullptr;
        detail::check([&](corewire_error** e) { corewire_loop_new(&loop, e); });
        handle_.reset(loop);
    }

    /// Connects at the first call.
    AsyncChannel connect(const char* endpoint, const ChannelOptions& options = {}) {
        const corewire_channel_options settings = options.to_c();
        corewire_async_channel* channel = nullptr;
        detail::check([&](corewire_error** e) {
            corewire_loop_connect(handle_.get(), endpoint, &settings, &channel, e);
        });
        return AsyncChannel(channel);
    }
    void set_busy_poll(Microseconds busy_poll) {
        detail::check([&](corewire_error** e) {
            corewire_loop_set_busy_poll(handle_.get(), detail::micros(busy_poll), e);
        });
    }
    /// Until stop.
    void run() {
        detail::check([&](corewire_error** e) { corewire_loop_run(handle_.get(), e); });
    }
    /// One turn, which waits at most `timeout`. Throws Error once the loop was stopped.
    void run_once(Microseconds timeout = no_timeout) {
        detail::check([&](corewire_error** e) {
            corewire_loop_run_once(handle_.get(), detail::micros(timeout), e);
        });
    }
    /// Any thread.
    void stop() noexcept { corewire_loop_stop(handle_.get()); }

  private:
    detail::Handle<corewire_loop, corewire_loop_free> handle_;
};

/// A message that came in, borrowed. What its members return is borrowed from it.
class Message {
  public:
    explicit Message(const corewire_incoming* message) noexcept : message_(message) {}

    [[nodiscard]] std::string_view operation() const noexcept {
        return as_text(corewire_incoming_operation(message_));
    }
    [[nodiscard]] std::string_view service() const noexcept {
        return as_text(corewire_incoming_service(message_));
    }
    [[nodiscard]] std::string_view method() const noexcept {
        return as_text(corewire_incoming_method(message_));
    }
    [[nodiscard]] Bytes body() const noexcept { return as_bytes(corewire_incoming_body(message_)); }
    [[nodiscard]] Headers headers() const noexcept {
        return Headers(corewire_incoming_headers(message_));
    }
    /// How long its caller still waits.
    [[nodiscard]] Microseconds timeout() const noexcept {
        const std::uint64_t left = corewire_incoming_timeout_us(message_);
        return left == COREWIRE_NO_TIMEOUT ? no_timeout
                                           : Microseconds(static_cast<Microseconds::rep>(left));
    }
    [[nodiscard]] std::uint32_t priority() const noexcept {
        return corewire_incoming_priority(message_);
    }
    [[nodiscard]] std::string_view peer() const noexcept {
        return as_text(corewire_incoming_peer(message_));
    }
    /// The certificate (DER) that the sender proved to have the key of; empty without mutual TLS.
    [[nodiscard]] Bytes peer_certificate() const noexcept {
        return as_bytes(corewire_incoming_peer_certificate(message_));
    }
    [[nodiscard]] std::string_view protocol() const noexcept {
        return as_text(corewire_incoming_protocol(message_));
    }
    [[nodiscard]] bool is_cancelled() const noexcept {
        return corewire_incoming_is_cancelled(message_);
    }

  private:
    const corewire_incoming* message_;
};

/// A call to be answered once, inside the handler or later and from any thread. Destroyed without
/// an answer, its caller is told COREWIRE_INTERNAL.
class Call {
  public:
    explicit Call(corewire_incoming* owned) noexcept : handle_(owned) {}

    [[nodiscard]] Message request() const noexcept { return Message(handle_.get()); }
    [[nodiscard]] Bytes body() const noexcept { return request().body(); }

    /// Answers well; false when nobody waits any more. A last piece that lies within the request's
    /// body is shared with it, not copied. Throws Error for headers that cannot be sent.
    bool reply(const Body& body = {}, std::span<const corewire_header> headers = {}) {
        return answer(COREWIRE_OK, nullptr, body, headers);
    }
    /// Answers with a failure and a sentence for people, which ends with NUL.
    bool fail(corewire_code code, const char* message, const Body& detail = {},
              std::span<const corewire_header> headers = {}) {
        return answer(code, message, detail, headers);
    }

  private:
    bool answer(corewire_code code, const char* message, const Body& body,
                std::span<const corewire_header> headers) {
        corewire_error* error = nullptr;
        const corewire_code result =
            corewire_reply(handle_.release(), code, message, body.data(), body.size(),
                           headers.data(), headers.size(), &error);
        detail::ErrorHandle owned(error);
        if (result == COREWIRE_OK) return true;
        if (result == COREWIRE_CANCELLED) return false;
        detail::raise(std::move(owned));
    }

    detail::Handle<corewire_incoming, corewire_incoming_free> handle_;
};

/// A stream at its service, borrowed: valid until it is finished.
class StreamView {
  public:
    explicit StreamView(corewire_server_stream* stream) noexcept : stream_(stream) {}

    [[nodiscard]] Message request() const noexcept {
        return Message(corewire_server_stream_request(stream_));
    }
    /// COREWIRE_OK; COREWIRE_RESOURCE_EXHAUSTED when the caller does not keep up (not taken: send
    /// it again when on_room was called); COREWIRE_CANCELLED when the call is over. Any thread.
    corewire_code send(const Body& body) noexcept {
        return corewire_server_stream_send(stream_, body.data(), body.size(), nullptr);
    }
    /// Ends the stream before its caller has: for `on_message` and `on_room`, as their last act.
    /// The handler is told nothing more of it.
    void finish(corewire_code code, const char* message = nullptr) noexcept {
        corewire_server_stream_finish(stream_, code, message, nullptr, 0, nullptr);
    }
    /// A pointer of the program that stays with the stream.
    [[nodiscard]] void* user() const noexcept { return corewire_server_stream_user(stream_); }
    void set_user(void* user) noexcept { corewire_server_stream_set_user(stream_, user); }

  private:
    corewire_server_stream* stream_;
};

/// A stream that its service owns, to be ended once. Destroyed without an end, its caller is told
/// COREWIRE_INTERNAL.
class ServerStream {
  public:
    explicit ServerStream(corewire_server_stream* owned) noexcept : handle_(owned) {}

    [[nodiscard]] StreamView view() const noexcept { return StreamView(handle_.get()); }
    /// False when the call was over already.
    bool finish(corewire_code code = COREWIRE_OK, const char* message = nullptr,
                std::span<const corewire_header> headers = {}) noexcept {
        return corewire_server_stream_finish(handle_.release(), code, message, headers.data(),
                                             headers.size(), nullptr) == COREWIRE_OK;
    }

  private:
    detail::Handle<corewire_server_stream, corewire_server_stream_free> handle_;
};

/// Who serves a stream. All run on the event loop of the connection and must not block.
struct StreamHandler {
    std::function<void(StreamView, Bytes)> on_message;
    /// Told once that no more messages come: COREWIRE_OK when the caller has ended its side,
    /// otherwise the call has failed.
    std::function<void(ServerStream, corewire_code)> on_end;
    /// There is room again after a message was refused. May be empty.
    std::function<void(StreamView)> on_room;
};

/// Who answers which operation. Handlers run on the event loop of the connection, on all loops at
/// once, and must not block. An exception that leaves one of them fails that call, and no other.
class Handlers {
  public:
    /// Answers calls of `operation`, "service/method"; with an empty name, of those that no other
    /// handler names.
    Handlers& on_call(std::string operation, std::function<void(Call)> handler) {
        Entry& entry = add(std::move(operation));
        entry.call = std::move(handler);
        return *this;
    }
    Handlers& on_event(std::string operation, std::function<void(Message)> handler) {
        Entry& entry = add(std::move(operation));
        entry.event = std::move(handler);
        return *this;
    }
    Handlers& on_stream(std::string operation, StreamHandler handler) {
        Entry& entry = add(std::move(operation));
        entry.stream = std::move(handler);
        return *this;
    }

  private:
    friend class Server;

    struct Entry {
        std::string operation;
        std::function<void(Call)> call;
        std::function<void(Message)> event;
        StreamHandler stream;
    };

    // Where C's `user` points must not move.
    std::vector<std::unique_ptr<Entry>> entries_;

    Entry& add(std::string operation) {
        entries_.push_back(std::make_unique<Entry>());
        entries_.back()->operation = std::move(operation);
        return *entries_.back();
    }

    static Entry& entry(void* user) noexcept { return *static_cast<Entry*>(user); }

    /// Runs a handler; an exception ends here. What the handler owned is freed by then, which tells
    /// the caller.
    template <typename Run>
    static void guard(Run&& run) noexcept {
        try {
            run();
        } catch (...) {
        }
    }

    [[nodiscard]] std::vector<corewire_handler> to_c() const {
        std::vector<corewire_handler> handlers;
        for (const auto& entry : entries_) handlers.push_back(to_c(*entry));
        return handlers;
    }

    static corewire_handler to_c(Entry& of) noexcept {
        corewire_handler handler{};
        handler.size = sizeof handler;
        handler.operation = of.operation.empty() ? nullptr : of.operation.c_str();
        handler.user = &of;
        if (of.call) {
            handler.on_call = [](void* user, corewire_incoming* call) noexcept {
                guard([&] { entry(user).call(Call(call)); });
            };
        }
        if (of.event) {
            handler.on_event = [](void* user, const corewire_incoming* event) noexcept {
                guard([&] { entry(user).event(Message(event)); });
            };
        }
        if (of.stream.on_message) {
            handler.on_message = [](void* user, corewire_server_stream* stream,
                                    corewire_slice message) noexcept {
                guard(
                    [&] { entry(user).stream.on_message(StreamView(stream), as_bytes(message)); });
            };
        }
        if (of.stream.on_end) {
            handler.on_end = [](void* user, corewire_server_stream* stream,
                                corewire_code code) noexcept {
                guard([&] { entry(user).stream.on_end(ServerStream(stream), code); });
            };
        }
        if (of.stream.on_room) {
            handler.on_room = [](void* user, corewire_server_stream* stream) noexcept {
                guard([&] { entry(user).stream.on_room(StreamView(stream)); });
            };
        }
        return handler;
    }
};

/// Settings of a server.
struct ServerOptions {
    /// Event loops, one thread each. 0: one for each core this process may run on.
    std::uint32_t loops = 0;
    std::uint32_t protocols =
        COREWIRE_PROTOCOL_NATIVE | COREWIRE_PROTOCOL_GRPC | COREWIRE_PROTOCOL_REST;
    Microseconds busy_poll{0};
    /// How long an event loop looks at shared memory again before it sleeps, while that pays; at
    /// sockets for 5 us of it. Empty: the library's default.
    std::optional<Microseconds> patience;
    /// Offer shared memory to processes of this host and user; never with TLS.
    bool shared_memory = true;
    /// Empty: clear text.
    std::optional<ServerTls> tls;
    /// Told of a peer that broke the protocol or was refused by TLS, and why. Runs on the event
    /// loops, must not block; what it throws is dropped.
    std::function<void(std::string_view peer, std::string_view why)> on_fault;
};

/// A running server. Its destructor cuts what is in flight and waits for its threads.
class Server {
  public:
    Server(const std::vector<std::string>& addresses, Handlers handlers,
           const ServerOptions& options = {})
        : handlers_(std::move(handlers)),
          on_fault_(options.on_fault ? std::make_unique<OnFault>(options.on_fault) : nullptr) {
        corewire_server_options settings;
        corewire_server_options_init(&settings, sizeof settings);
        settings.loops = options.loops;
        settings.protocols = options.protocols;
        settings.busy_poll_us = detail::micros(options.busy_poll);
        if (options.patience) settings.patience_us = detail::micros(*options.patience);
        settings.shared_memory = options.shared_memory ? 1 : 0;
        if (options.tls) {
            const ServerTls& tls = *options.tls;
            // Not NULL even when they are empty: without an identity TLS is refused, not left out.
            settings.tls_certificate = tls.files.certificate.c_str();
            settings.tls_key = tls.files.key.c_str();
            settings.tls_authorities = detail::text_or_null(tls.files.authorities);
            settings.tls_client_certificates = static_cast<std::uint32_t>(tls.clients);
            settings.tls_allow_clear_text = tls.allow_clear_text ? 1 : 0;
        }
        if (on_fault_) {
            settings.on_fault_user = on_fault_.get();
            settings.on_fault = [](void* user, const char* peer, const char* why) noexcept {
                try {
                    (*static_cast<OnFault*>(user))(peer, why);
                } catch (...) {
                }
            };
        }
        std::vector<const char*> texts;
        for (const std::string& address : addresses) texts.push_back(address.c_str());
        const std::vector<corewire_handler> table = handlers_.to_c();
        corewire_server* server = nullptr;
        detail::check([&](corewire_error** e) {
            corewire_server_start(texts.data(), texts.size(), &settings, table.data(), table.size(),
                                  &server, e);
        });
        handle_.reset(server);
    }

    /// Where it listens, with the port; empty when there is no such index.
    [[nodiscard]] std::string address(std::size_t index = 0) const {
        const char* address = corewire_server_address(handle_.get(), index);
        return address == nullptr ? std::string() : std::string(address);
    }
    /// Finishes what is in flight, at most for `timeout`, and ends.
    void drain(Microseconds timeout) {
        detail::check([&](corewire_error** e) {
            corewire_server_drain(handle_.get(), detail::micros(timeout), e);
        });
    }

  private:
    using OnFault = std::function<void(std::string_view, std::string_view)>;

    // Destroyed last: callbacks use them until the server has ended.
    Handlers handlers_;
    // Where C's `on_fault_user` points must not move.
    std::unique_ptr<OnFault> on_fault_;
    detail::Handle<corewire_server, corewire_server_free> handle_;
};

}  // namespace corewire

#endif  // COREWIRE_HPP
