// The RMR API, as rmr.h declares it, over the classes of this folder.
#include <rmr/rmr.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rmr-grpc/context.hpp"
#include "rmr-grpc/message.hpp"

using namespace peers::rmr_grpc;

namespace {

constexpr int kFirstCallId = 2;
constexpr int kLastCallId = 255;
/// What rmr_call uses.
constexpr int kOwnCallId = 1;
constexpr int kOwnCallTime = 1000;

/// Contexts live as long as the program: another thread may be inside a call when one is closed.
struct Contexts {
    std::mutex mutex;
    std::vector<Context*> all;
};

Contexts& contexts() {
    static auto* const made = new Contexts;
    return *made;
}

/// A program that ends without rmr_close has its messages delivered all the same. (The kernel
/// resets a connection on which the peer's HTTP/2 frames were not read, and what is on its way is
/// lost.)
void close_contexts() {
    const std::lock_guard lock(contexts().mutex);
    for (Context* context : contexts().all) {
        context->close();
    }
}

void* keep(std::unique_ptr<Context> context) {
    static const int registered = std::atexit(close_contexts);
    static_cast<void>(registered);
    const std::lock_guard lock(contexts().mutex);
    contexts().all.push_back(context.get());
    return context.release();
}

Context* context_of(void* handle) noexcept { return static_cast<Context*>(handle); }

rmr_mbuf_t* fail(rmr_mbuf_t* message, int state, int error) noexcept {
    if (message != nullptr) {
        message->state = state;
        message->tp_state = error;
    }
    errno = error;
    return message;
}

/// Nothing is thrown into C. `otherwise` is the answer when something was.
template <typename Body, typename Answer>
Answer guarded(Body&& body, Answer otherwise) noexcept {
    try {
        return body();
    } catch (const std::exception& error) {
        std::cerr << "rmr-grpc: " << error.what() << '\n';
        errno = ENOMEM;
        return otherwise;
    }
}

/// Runs `body` with the context when the arguments of a sending call are sound.
template <typename Body>
rmr_mbuf_t* with_message(void* handle, rmr_mbuf_t* message, Body&& body) noexcept {
    if (handle == nullptr || message == nullptr) {
        return fail(message, RMR_ERR_BADARG, EINVAL);
    }
    if (message->header == nullptr) {
        return fail(message, RMR_ERR_NOHDR, EBADMSG);
    }
    if (message->len < 0 || static_cast<std::size_t>(message->len) > payload_capacity(*message)) {
        return fail(message, RMR_ERR_OVERFLOW, EMSGSIZE);
    }
    return guarded([&] { return body(*context_of(handle)); }, message);
}

template <typename Body>
rmr_mbuf_t* with_wormhole(void* handle, int id, rmr_mbuf_t* message, Body&& body) noexcept {
    return with_message(handle, message, [&](Context& context) {
        Endpoint* endpoint = context.wormhole(id);
        if (endpoint == nullptr) {
            return fail(message, context.has_wormholes() ? RMR_ERR_WHID : RMR_ERR_NOWHOPEN, EINVAL);
        }
        return body(context, *endpoint);
    });
}

rmr_mbuf_t* not_supported(const char* function, rmr_mbuf_t* message) {
    std::cerr << "rmr-grpc: " << function << " is not supported by this library\n";
    return fail(message, RMR_ERR_NOTSUPP, ENOTSUP);
}

/// Puts what `made` is into the mbuf that the application holds.
void become(rmr_mbuf_t* message, MessagePtr made) noexcept { std::swap(*message, *made); }

int put(unsigned char* field, std::size_t size, const unsigned char* from, int length) noexcept {
    errno = 0;
    auto used = static_cast<std::size_t>(std::max(length, 0));
    if (used > size) {
        used = size;
        errno = EOVERFLOW;
    }
    std::memcpy(field, from, used);
    return static_cast<int>(used);
}

bool is_usable(const rmr_mbuf_t* message) noexcept {
    errno = message == nullptr || message->header == nullptr ? EINVAL : 0;
    return errno == 0;
}

unsigned char* get(const unsigned char* field, std::size_t size, unsigned char* to) noexcept {
    if (to == nullptr) {
        to = static_cast<unsigned char*>(std::malloc(size));
    }
    if (to == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    std::memcpy(to, field, size);
    return to;
}

/// Fields that hold text end in a zero octet for the application.
unsigned char* get_text(const unsigned char* field, unsigned char* to) noexcept {
    if (to != nullptr) {
        std::memcpy(to, field, RMR_MAX_SRC);
        to[RMR_MAX_SRC - 1] = 0;
    }
    return to;
}

}  // namespace

extern "C" {

// --- the context ------------------------------------------------------------------------------

void* rmr_init(char* proto_port, int max_msg_size, int flags) {
    if (proto_port == nullptr) {
        errno = EINVAL;
        return nullptr;
    }
    return guarded(
        [&]() -> void* {
            return keep(std::make_unique<Context>(proto_port, max_msg_size,
                                                  (flags & RMRFL_NAME_ONLY) != 0));
        },
        static_cast<void*>(nullptr));
}

void rmr_close(void* handle) {
    if (handle != nullptr) {
        guarded([&] { return context_of(handle)->close(), 0; }, 0);
    }
}

int rmr_ready(void* handle) {
    return handle != nullptr &&
           guarded([&] { return static_cast<int>(context_of(handle)->is_ready()); }, 0);
}

int rmr_init_trace(void* handle, int size) {
    if (handle == nullptr) {
        errno = EINVAL;
        return 0;
    }
    context_of(handle)->set_trace_size(static_cast<std::size_t>(std::max(size, 0)));
    return 1;
}

int rmr_set_stimeout(void* handle, int time) {
    if (handle == nullptr) {
        errno = EINVAL;
        return RMR_ERR_BADARG;
    }
    context_of(handle)->set_patience(time);
    return RMR_OK;
}

int rmr_set_rtimeout(void* /*handle*/, int /*time*/) {
    not_supported("rmr_set_rtimeout", nullptr);
    return 0;
}

// gRPC always switches Nagle's algorithm off, and does not offer quick acknowledgements.
void rmr_set_low_latency(void* /*handle*/) {}
void rmr_set_fack(void* /*handle*/) {}
void rmr_set_vlevel(int /*level*/) {}

int rmr_get_rcvfd(void* /*handle*/) {
    not_supported("rmr_get_rcvfd", nullptr);
    return -1;
}

int rmr_get_rx_debug_info(void* handle, rmr_rx_debug_t* info) {
    if (handle == nullptr || info == nullptr) {
        errno = EINVAL;
        return EINVAL;
    }
    info->drop = context_of(handle)->refused();
    info->enqueue = context_of(handle)->queued();
    return 0;
}

int rmr_reset_rx_debug_count(void* handle) {
    if (handle == nullptr) {
        errno = EINVAL;
        return EINVAL;
    }
    context_of(handle)->reset_counts();
    return 0;
}

/// Beyond RMR: when the receptor had this message, on the monotonic clock; 0 unless RMR_RX_TIME=1.
std::uint64_t rmr_rx_time_ns(const rmr_mbuf_t* message) {
    return message == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(message->ring);
}

/// Beyond RMR: messages that were accepted and then known to be lost.
std::uint64_t rmr_tx_dropped(void* handle) {
    return handle == nullptr
               ? 0
               : guarded([&] { return context_of(handle)->dropped(); }, std::uint64_t{0});
}

// --- buffers ----------------------------------------------------------------------------------

rmr_mbuf_t* rmr_alloc_msg(void* handle, int size) {
    if (handle == nullptr) {
        errno = EINVAL;
        return nullptr;
    }
    return guarded([&] { return context_of(handle)->make_message(size, std::nullopt).release(); },
                   static_cast<rmr_mbuf_t*>(nullptr));
}

rmr_mbuf_t* rmr_tralloc_msg(void* handle, int size, int trace_size, unsigned const char* data) {
    if (handle == nullptr || trace_size < 0) {
        errno = EINVAL;
        return nullptr;
    }
    const auto wanted = static_cast<std::size_t>(trace_size);
    return guarded(
        [&] {
            MessagePtr made = context_of(handle)->make_message(size, wanted);
            if (data != nullptr) {
                std::memcpy(trace(*made), data, wanted);
            }
            return made.release();
        },
        static_cast<rmr_mbuf_t*>(nullptr));
}

void rmr_free_msg(rmr_mbuf_t* message) { MessagePtr(message).reset(); }

int rmr_payload_size(rmr_mbuf_t* message) {
    return is_usable(message) ? static_cast<int>(payload_capacity(*message)) : -1;
}

rmr_mbuf_t* rmr_realloc_payload(rmr_mbuf_t* message, int length, int keep, int clone) {
    if (!is_usable(message) || length <= 0) {
        errno = EINVAL;
        return nullptr;
    }
    return guarded(
        [&] {
            if (clone == 0 && payload_capacity(*message) >= static_cast<std::size_t>(length)) {
                return message;
            }
            MessagePtr made = copy(
                *message, std::max(payload_capacity(*message), static_cast<std::size_t>(length)),
                trace_length(*message));
            if (keep == 0) {
                made->len = 0;
                made->mtype = RMR_VOID_MSGTYPE;
                made->sub_id = RMR_VOID_SUBID;
            }
            if (clone != 0) {
                return made.release();
            }
            become(message, std::move(made));
            return message;
        },
        static_cast<rmr_mbuf_t*>(nullptr));
}

rmr_mbuf_t* rmr_realloc_msg(rmr_mbuf_t* message, int trace_size) {
    if (!is_usable(message) || trace_size < 0) {
        errno = EINVAL;
        return nullptr;
    }
    return guarded(
        [&] {
            return copy(*message, payload_capacity(*message), static_cast<std::size_t>(trace_size))
                .release();
        },
        static_cast<rmr_mbuf_t*>(nullptr));
}

// --- sending and receiving --------------------------------------------------------------------

rmr_mbuf_t* rmr_send_msg(void* handle, rmr_mbuf_t* message) {
    return with_message(handle, message, [&](Context& context) {
        context.send(*message, std::nullopt);
        return message;
    });
}

rmr_mbuf_t* rmr_mtosend_msg(void* handle, rmr_mbuf_t* message, int max_to) {
    return with_message(handle, message, [&](Context& context) {
        context.send(*message, max_to);
        return message;
    });
}

rmr_mbuf_t* rmr_rts_msg(void* handle, rmr_mbuf_t* message) {
    return with_message(handle, message, [&](Context& context) {
        context.return_to_sender(*message);
        return message;
    });
}

rmr_mbuf_t* rmr_mt_call(void* handle, rmr_mbuf_t* message, int call_id, int max_wait) {
    return with_message(handle, message, [&](Context& context) {
        if (call_id < kFirstCallId || call_id > kLastCallId) {
            return fail(message, RMR_ERR_BADARG, EINVAL);
        }
        return context.call(MessagePtr(message), call_id, max_wait, nullptr).release();
    });
}

rmr_mbuf_t* rmr_call(void* handle, rmr_mbuf_t* message) {
    return with_message(handle, message, [&](Context& context) {
        return context.call(MessagePtr(message), kOwnCallId, kOwnCallTime, nullptr).release();
    });
}

rmr_mbuf_t* rmr_mt_rcv(void* handle, rmr_mbuf_t* old, int max_wait) {
    if (handle == nullptr) {
        return fail(old, RMR_ERR_BADARG, EINVAL);
    }
    return guarded(
        [&] {
            MessagePtr given(old);
            MessagePtr message = context_of(handle)->receive(given, max_wait);
            errno = 0;
            if (message) {
                return message.release();
            }
            if (given) {
                given->len = 0;
            }
            return fail(given.release(), RMR_ERR_TIMEOUT, ETIMEDOUT);
        },
        old);
}

rmr_mbuf_t* rmr_torcv_msg(void* handle, rmr_mbuf_t* old, int ms_to) {
    return rmr_mt_rcv(handle, old, ms_to);
}

rmr_mbuf_t* rmr_rcv_msg(void* handle, rmr_mbuf_t* old) { return rmr_mt_rcv(handle, old, -1); }

rmr_mbuf_t* rmr_rcv_specific(void* /*handle*/, rmr_mbuf_t* message, char* /*expect*/,
                             int /*allow2queue*/) {
    return not_supported("rmr_rcv_specific", message);
}

// --- wormholes --------------------------------------------------------------------------------

rmr_whid_t rmr_wh_open(void* handle, char const* target) {
    if (handle == nullptr || target == nullptr || *target == '\0') {
        errno = EINVAL;
        return -1;
    }
    return guarded([&] { return context_of(handle)->open_wormhole(target); }, -1);
}

rmr_mbuf_t* rmr_wh_send_msg(void* handle, rmr_whid_t id, rmr_mbuf_t* message) {
    return with_wormhole(handle, id, message, [&](Context& context, Endpoint& endpoint) {
        context.send_to(*message, endpoint);
        return message;
    });
}

rmr_mbuf_t* rmr_wh_call(void* handle, rmr_whid_t id, rmr_mbuf_t* message, int call_id,
                        int max_wait) {
    return with_wormhole(handle, id, message, [&](Context& context, Endpoint& endpoint) {
        if (call_id < kFirstCallId || call_id > kLastCallId) {
            return fail(message, RMR_ERR_BADARG, EINVAL);
        }
        return context.call(MessagePtr(message), call_id, max_wait, &endpoint).release();
    });
}

int rmr_wh_state(void* handle, rmr_whid_t id) {
    if (handle == nullptr) {
        errno = EINVAL;
        return RMR_ERR_BADARG;
    }
    return guarded(
        [&]() -> int {
            Endpoint* endpoint = context_of(handle)->wormhole(id);
            errno = endpoint == nullptr ? EINVAL : 0;
            if (endpoint == nullptr) {
                return context_of(handle)->has_wormholes() ? RMR_ERR_WHID : RMR_ERR_NOWHOPEN;
            }
            return endpoint->is_open() ? RMR_OK : RMR_ERR_NOENDPT;
        },
        RMR_ERR_BADARG);
}

void rmr_wh_close(void* handle, int id) {
    if (handle != nullptr) {
        guarded([&] { return context_of(handle)->close_wormhole(id), 0; }, 0);
    }
}

// --- what is in a message ---------------------------------------------------------------------

int rmr_bytes2meid(rmr_mbuf_t* message, unsigned char const* source, int length) {
    if (!is_usable(message) || source == nullptr) {
        errno = EINVAL;
        return -1;
    }
    unsigned char* meid = header(*message).meid;
    const int used = put(meid, RMR_MAX_MEID, source, length);
    if (used < RMR_MAX_MEID) {
        meid[used] = 0;
    } else if (meid[RMR_MAX_MEID - 1] != 0) {
        meid[RMR_MAX_MEID - 1] = 0;
        errno = EOVERFLOW;
    }
    return used;
}

int rmr_str2meid(rmr_mbuf_t* message, unsigned char const* text) {
    if (!is_usable(message) || text == nullptr) {
        errno = EINVAL;
        return RMR_ERR_BADARG;
    }
    const std::size_t length = std::strlen(reinterpret_cast<const char*>(text));
    if (length > RMR_MAX_MEID - 1) {
        errno = EOVERFLOW;
        return RMR_ERR_OVERFLOW;
    }
    rmr_bytes2meid(message, text, static_cast<int>(length) + 1);
    return RMR_OK;
}

int rmr_bytes2xact(rmr_mbuf_t* message, unsigned char const* source, int length) {
    if (!is_usable(message) || source == nullptr) {
        errno = EINVAL;
        return -1;
    }
    return put(header(*message).transaction, RMR_MAX_XID, source, length);
}

int rmr_str2xact(rmr_mbuf_t* message, unsigned char const* text) {
    if (!is_usable(message) || text == nullptr) {
        errno = EINVAL;
        return RMR_ERR_BADARG;
    }
    const std::size_t length = std::strlen(reinterpret_cast<const char*>(text));
    if (length > RMR_MAX_XID - 1) {
        errno = EOVERFLOW;
        return RMR_ERR_OVERFLOW;
    }
    rmr_bytes2xact(message, text, static_cast<int>(length) + 1);
    return RMR_OK;
}

void rmr_bytes2payload(rmr_mbuf_t* message, unsigned char const* source, int length) {
    if (!is_usable(message) || source == nullptr) {
        errno = EINVAL;
        return;
    }
    const int capacity = static_cast<int>(payload_capacity(*message));
    message->state = length > capacity ? RMR_ERR_OVERFLOW : RMR_OK;
    errno = length > capacity ? EMSGSIZE : 0;
    message->len = std::clamp(length, 0, capacity);
    std::memcpy(message->payload, source, static_cast<std::size_t>(message->len));
}

void rmr_str2payload(rmr_mbuf_t* message, unsigned char const* text) {
    if (text == nullptr) {
        errno = EINVAL;
        return;
    }
    rmr_bytes2payload(message, text,
                      static_cast<int>(std::strlen(reinterpret_cast<const char*>(text))) + 1);
}

unsigned char* rmr_get_meid(rmr_mbuf_t* message, unsigned char* to) {
    return is_usable(message) ? get(header(*message).meid, RMR_MAX_MEID, to) : nullptr;
}

unsigned char* rmr_get_xact(rmr_mbuf_t* message, unsigned char* to) {
    return is_usable(message) ? get(header(*message).transaction, RMR_MAX_XID, to) : nullptr;
}

unsigned char* rmr_get_src(rmr_mbuf_t* message, unsigned char* to) {
    return is_usable(message) ? get_text(header(*message).source, to) : nullptr;
}

unsigned char* rmr_get_srcip(rmr_mbuf_t* message, unsigned char* to) {
    return is_usable(message) ? get_text(header(*message).source_ip, to) : nullptr;
}

// --- trace data -------------------------------------------------------------------------------

int rmr_get_trlen(rmr_mbuf_t* message) {
    return is_usable(message) ? static_cast<int>(trace_length(*message)) : 0;
}

int rmr_get_trace(rmr_mbuf_t* message, unsigned char* to, int size) {
    if (!is_usable(message) || to == nullptr || size <= 0) {
        return 0;
    }
    const std::size_t used = std::min(static_cast<std::size_t>(size), trace_length(*message));
    std::memcpy(to, trace(*message), used);
    return static_cast<int>(used);
}

void* rmr_trace_ref(rmr_mbuf_t* message, int* size) {
    const int length = rmr_get_trlen(message);
    if (size != nullptr) {
        *size = length;
    }
    return length == 0 ? nullptr : trace(*message);
}

int rmr_set_trace(rmr_mbuf_t* message, unsigned const char* data, int size) {
    if (!is_usable(message) || data == nullptr || size <= 0) {
        return 0;
    }
    const auto wanted = static_cast<std::size_t>(size);
    return guarded(
        [&] {
            if (trace_length(*message) != wanted) {
                become(message, copy(*message, payload_capacity(*message), wanted));
            }
            std::memcpy(trace(*message), data, wanted);
            return size;
        },
        0);
}

}  // extern "C"
