// librmr_nngraw.so: NNG push/pull behind the few functions of the RMR API that the lab's programs
// use, so that the same programs measure it. Nothing of RMR is on the wire or in the way: no
// header, no routing by type, no message ring; the payload is NNG's own message, and who receives
// asks NNG.
//
// The endpoints are those of the route table's first record, which take turns.
#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/supplemental/util/platform.h>
#include <rmr/rmr.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kDefaultPayload = 1024;
/// How long a send waits for a peer that takes nothing before it answers RMR_ERR_RETRY.
constexpr nng_duration kSendTime = 100;
/// Messages that NNG holds ready for the application.
constexpr int kReceiveBuffer = 4096;

void say(std::string_view what, int fault) {
    std::cerr << "nng-raw: " << what << ": " << nng_strerror(fault) << '\n';
}

class Socket {
  public:
    Socket() = default;
    ~Socket() {
        if (nng_socket_id(socket_) > 0) {
            nng_close(socket_);
        }
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    nng_socket* address() noexcept { return &socket_; }
    [[nodiscard]] nng_socket get() const noexcept { return socket_; }

  private:
    nng_socket socket_ = NNG_SOCKET_INITIALIZER;
};

/// A push socket that is connected when it is first used.
class Endpoint {
  public:
    explicit Endpoint(std::string name) : name_(std::move(name)) {}

    bool connect() {
        const std::lock_guard lock(mutex_);
        if (connected_) {
            return true;
        }
        if (nng_socket_id(socket_.get()) <= 0) {
            nng_push0_open(socket_.address());
            nng_socket_set_ms(socket_.get(), NNG_OPT_SENDTIMEO, kSendTime);
            nng_socket_set_bool(socket_.get(), NNG_OPT_TCP_NODELAY, true);
        }
        connected_ = nng_dial(socket_.get(), ("tcp://" + name_).c_str(), nullptr, 0) == 0;
        return connected_;
    }

    int send(nng_msg* message) { return nng_sendmsg(socket_.get(), message, 0); }

  private:
    const std::string name_;
    Socket socket_;
    std::mutex mutex_;
    std::atomic<bool> connected_{false};
};

struct Context {
    Socket receiver;
    std::size_t payload = kDefaultPayload;
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::atomic<std::size_t> next{0};
    std::atomic<int> receive_time{-2};  ///< what the socket is set to

    void set_receive_time(int milliseconds) {
        if (receive_time.exchange(milliseconds) != milliseconds) {
            nng_socket_set_ms(receiver.get(), NNG_OPT_RECVTIMEO,
                              milliseconds < 0 ? NNG_DURATION_INFINITE : milliseconds);
        }
    }
};

/// The public part comes first; tp_buf is NNG's message, and the payload is its body.
struct Message {
    rmr_mbuf_t open{};
    unsigned char xaction[RMR_MAX_XID] = {};
};

rmr_mbuf_t* fail(rmr_mbuf_t* message, int state, int error) {
    if (message != nullptr) {
        message->state = state;
        message->tp_state = error;
    }
    errno = error;
    return message;
}

void hold(rmr_mbuf_t& message, nng_msg* body) {
    message.tp_buf = body;
    message.header = body;
    message.payload = static_cast<unsigned char*>(nng_msg_body(body));
    message.alloc_len = static_cast<int>(nng_msg_len(body));
    message.state = RMR_OK;
    message.tp_state = 0;
}

rmr_mbuf_t* wrap(nng_msg* body) {
    auto* made = new Message;
    made->open.xaction = made->xaction;
    made->open.mtype = RMR_VOID_MSGTYPE;
    made->open.sub_id = RMR_VOID_SUBID;
    hold(made->open, body);
    return &made->open;
}

Message* whole(rmr_mbuf_t* message) {
    // The public part is the first member.
    return reinterpret_cast<Message*>(message);
}

std::string without_blanks(std::string text) {
    std::erase_if(text, [](char letter) { return letter == ' ' || letter == '\t'; });
    return text;
}

/// The last field but `after` of an "mse" or "rte" record names the endpoints.
void read_endpoints(const char* path, Context& context) {
    std::ifstream file(path);
    std::string line;
    while (context.endpoints.empty() && std::getline(file, line)) {
        line = without_blanks(line);
        std::size_t field = 0;
        for (int i = line.starts_with("mse|") ? 3 : line.starts_with("rte|") ? 2 : 0; i > 0; --i) {
            field = line.find('|', field);
            field = field == std::string::npos ? line.size() : field + 1;
        }
        if (field == 0) {
            continue;
        }
        const std::string names = line.substr(field, line.find('|', field) - field);
        for (std::size_t at = 0; at < names.size();) {
            const std::size_t end = std::min(names.find_first_of(",;", at), names.size());
            if (end > at) {
                context.endpoints.push_back(std::make_unique<Endpoint>(names.substr(at, end - at)));
            }
            at = end + 1;
        }
    }
}

}  // namespace

extern "C" {

void* rmr_init(char* proto_port, int max_msg_size, int /*flags*/) {
    if (proto_port == nullptr) {
        errno = EINVAL;
        return nullptr;
    }
    auto context = std::make_unique<Context>();
    if (max_msg_size > 0) {
        context->payload = static_cast<std::size_t>(max_msg_size);
    }
    const char* bind = std::getenv("RMR_BIND_IF");
    const std::string text(proto_port);
    const std::string url = "tcp://" + std::string(bind == nullptr ? "0.0.0.0" : bind) + ":" +
                            text.substr(text.rfind(':') + 1);
    nng_pull0_open(context->receiver.address());
    nng_socket_set_size(context->receiver.get(), NNG_OPT_RECVMAXSZ, 0);
    nng_socket_set_int(context->receiver.get(), NNG_OPT_RECVBUF, kReceiveBuffer);
    if (const int fault = nng_listen(context->receiver.get(), url.c_str(), nullptr, 0)) {
        say("cannot listen on " + url, fault);
        errno = EADDRINUSE;
        return nullptr;
    }
    if (const char* table = std::getenv("RMR_SEED_RT")) {
        read_endpoints(table, *context);
    }
    return context.release();
}

int rmr_ready(void* handle) {
    return handle != nullptr && !static_cast<Context*>(handle)->endpoints.empty();
}

void rmr_close(void* handle) {
    // NNG's close lets go of what it has not written: what was sent gets a moment to leave.
    nng_msleep(kSendTime);
    delete static_cast<Context*>(handle);
}

rmr_mbuf_t* rmr_alloc_msg(void* handle, int size) {
    nng_msg* body = nullptr;
    if (handle == nullptr ||
        nng_msg_alloc(&body, size > 0 ? static_cast<std::size_t>(size)
                                      : static_cast<Context*>(handle)->payload) != 0) {
        errno = handle == nullptr ? EINVAL : ENOMEM;
        return nullptr;
    }
    return wrap(body);
}

void rmr_free_msg(rmr_mbuf_t* message) {
    if (message != nullptr) {
        nng_msg_free(static_cast<nng_msg*>(message->tp_buf));
        delete whole(message);
    }
}

int rmr_payload_size(rmr_mbuf_t* message) { return message == nullptr ? -1 : message->alloc_len; }

rmr_mbuf_t* rmr_send_msg(void* handle, rmr_mbuf_t* message) {
    if (handle == nullptr || message == nullptr || message->len < 0 ||
        message->len > message->alloc_len) {
        return fail(message, RMR_ERR_BADARG, EINVAL);
    }
    auto& context = *static_cast<Context*>(handle);
    if (context.endpoints.empty()) {
        return fail(message, RMR_ERR_NOENDPT, ENXIO);
    }
    Endpoint& endpoint = *context.endpoints[context.next++ % context.endpoints.size()];
    if (!endpoint.connect()) {
        return fail(message, RMR_ERR_NOENDPT, ENXIO);
    }
    // Only what is used travels. NNG keeps the capacity, so nothing is copied to grow again.
    auto* body = static_cast<nng_msg*>(message->tp_buf);
    const auto capacity = static_cast<std::size_t>(message->alloc_len);
    nng_msg_chop(body, capacity - static_cast<std::size_t>(message->len));
    const int fault = endpoint.send(body);
    if (fault != 0) {
        nng_msg_realloc(body, capacity);
        hold(*message, body);
        return fault == NNG_ETIMEDOUT || fault == NNG_EAGAIN
                   ? fail(message, RMR_ERR_RETRY, EAGAIN)
                   : fail(message, RMR_ERR_SENDFAILED, EIO);
    }
    nng_msg* fresh = nullptr;
    if (nng_msg_alloc(&fresh, capacity) != 0) {
        std::abort();  // as RMR does: the caller is owed a buffer
    }
    hold(*message, fresh);
    message->len = 0;
    message->mtype = RMR_VOID_MSGTYPE;
    message->sub_id = RMR_VOID_SUBID;
    errno = 0;
    return message;
}

rmr_mbuf_t* rmr_torcv_msg(void* handle, rmr_mbuf_t* old, int ms_to) {
    if (handle == nullptr) {
        return fail(old, RMR_ERR_BADARG, EINVAL);
    }
    auto& context = *static_cast<Context*>(handle);
    nng_msg* body = nullptr;
    if (ms_to != 0) {
        context.set_receive_time(ms_to);
    }
    const int fault =
        nng_recvmsg(context.receiver.get(), &body, ms_to == 0 ? NNG_FLAG_NONBLOCK : 0);
    if (fault != 0) {
        const bool late = fault == NNG_ETIMEDOUT || fault == NNG_EAGAIN;
        return fail(old, late ? RMR_ERR_TIMEOUT : RMR_ERR_RCVFAILED, late ? ETIMEDOUT : EIO);
    }
    if (old != nullptr) {
        nng_msg_free(static_cast<nng_msg*>(old->tp_buf));
        hold(*old, body);
    } else {
        old = wrap(body);
    }
    old->len = old->alloc_len;
    errno = 0;
    return old;
}

rmr_mbuf_t* rmr_rcv_msg(void* handle, rmr_mbuf_t* old) { return rmr_torcv_msg(handle, old, -1); }

}  // extern "C"
