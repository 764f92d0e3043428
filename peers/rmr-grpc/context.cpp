#include "rmr-grpc/context.hpp"

#include <absl/synchronization/mutex.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "rmr-grpc/receptor.hpp"

namespace peers::rmr_grpc {

namespace {

/// How long a message may linger in gRPC's buffer once the sender pauses.
constexpr std::chrono::microseconds kLinger{50};
/// How often connections without traffic are looked at.
constexpr std::chrono::milliseconds kIdleLook{100};
constexpr std::chrono::seconds kCloseTime{1};
constexpr std::chrono::seconds kTableReload{1};
constexpr std::size_t kDefaultPayload = 1024;
/// Microseconds that a send waits for a peer that takes nothing, for each of its loops.
constexpr std::int64_t kPatience = 50000;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

std::string port_of(const std::string& text) {
    const std::string port = text.substr(text.rfind(':') + 1);
    if (port.empty() || port.find_first_not_of("0123456789") != std::string::npos) {
        throw std::runtime_error("'" + text + "' names no port; expected PORT or tcp:PORT");
    }
    return port;
}

std::string host_name() {
    char name[256] = {};
    gethostname(name, sizeof(name) - 1);
    return name;
}

/// The addresses of our interfaces that are up; loopback comes last.
std::vector<std::string> interface_addresses() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) {
        return {};
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, freeifaddrs);
    std::vector<std::string> found;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr ||
            (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6)) {
            continue;
        }
        const bool v6 = one->ifa_addr->sa_family == AF_INET6;
        char text[NI_MAXHOST] = {};
        if (getnameinfo(one->ifa_addr, v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in), text,
                        sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0) {
            found.push_back(v6 ? "[" + std::string(text) + "]" : std::string(text));
        }
    }
    std::stable_partition(found.begin(), found.end(), [](const std::string& address) {
        return !address.starts_with("127.") && address != "[::1]";
    });
    return found;
}

/// RMR's unit is a thousand tries of a microsecond and what the kernel adds, 0 a tenth of it.
std::int64_t patience_of(int loops) noexcept {
    return loops <= 0 ? kPatience / 10 : loops * kPatience;
}

bool is_any(const std::string& address) {
    return address.empty() || address == "0.0.0.0" || address == "[::]";
}

void fail(rmr_mbuf_t& message, int state, int error) {
    message.state = state;
    message.tp_state = error;
    errno = error;
}

}  // namespace

Context::Context(const std::string& port_text, int payload, bool name_only)
    : payload_(payload > 0 ? static_cast<std::size_t>(payload) : kDefaultPayload),
      patience_us_(kPatience),
      buffer_hint_(environment("RMR_GRPC_BUFFER_HINT") == "1"),
      stamp_(environment("RMR_RX_TIME") == "1") {
    // Debian's abseil looks for lock-order cycles at each mutex: 6-13 % of gRPC's rate.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);

    const std::string port = port_of(port_text);
    const std::string bind = environment("RMR_BIND_IF");
    const std::string id = environment("RMR_SRC_ID");
    source_.name = (id.empty() ? host_name() : id) + ":" + port;
    std::vector<std::string> addresses = interface_addresses();
    if (!is_any(bind)) {
        addresses.insert(addresses.begin(), bind);
    }
    if (!addresses.empty()) {
        source_.ip = addresses.front() + ":" + port;
    }
    our_names_.insert(source_.name);
    for (const std::string& address : addresses) {
        our_names_.insert(address + ":" + port);
    }
    if (name_only || environment("RMR_SRC_NAMEONLY") == "1") {
        source_.ip = source_.name;
    }
    server_ = std::make_unique<Server>(*this, (is_any(bind) ? "[::]" : bind) + ":" + port);
    load_table();
    keeper_ = std::thread([this] { look_after_endpoints(); });
}

Context::~Context() { close(); }

void Context::close() {
    {
        const std::lock_guard lock(keeper_mutex_);
        if (closing_) {
            return;
        }
        closing_ = true;
        keeper_wakes_.notify_all();
    }
    keeper_.join();
    for (Endpoint* endpoint : all_endpoints()) {
        endpoint->close(kCloseTime);
    }
    ring_.close();
    server_.reset();
}

// --- the route table --------------------------------------------------------------------------

bool Context::is_ready() {
    if (table_.load() == nullptr) {
        load_table();
    }
    return table_.load() != nullptr;
}

/// Reads the seed file; until it holds a table, again every second that somebody asks.
void Context::load_table() {
    const std::lock_guard lock(table_mutex_);
    const auto now = std::chrono::steady_clock::now();
    const std::string path = environment("RMR_SEED_RT");
    if (table_.load() != nullptr || path.empty() || now < next_load_) {
        return;
    }
    next_load_ = now + kTableReload;
    std::ifstream file(path);
    if (!file) {
        std::cerr << "rmr-grpc: cannot read RMR_SEED_RT=" << path << ": " << std::strerror(errno)
                  << '\n';
        return;
    }
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text == table_text_) {
        return;  // refused before, and said so
    }
    table_text_ = text;
    try {
        owned_table_ = RouteTable::parse(text, *this);
        table_.store(owned_table_.get());
    } catch (const std::runtime_error& error) {
        std::cerr << "rmr-grpc: route table " << path << ": " << error.what() << '\n';
    }
}

Endpoint& Context::endpoint(std::string_view name) {
    const std::lock_guard lock(endpoints_mutex_);
    auto found = endpoints_.find(name);
    if (found == endpoints_.end()) {
        auto made = std::make_unique<Endpoint>(std::string(name), buffer_hint_);
        found = endpoints_.emplace(std::string(name), std::move(made)).first;
    }
    return *found->second;
}

bool Context::is_us(std::string_view name) const { return our_names_.contains(name); }

std::vector<Endpoint*> Context::all_endpoints() {
    const std::lock_guard lock(endpoints_mutex_);
    std::vector<Endpoint*> all;
    for (const auto& [name, endpoint] : endpoints_) {
        all.push_back(endpoint.get());
    }
    return all;
}

// --- sending ----------------------------------------------------------------------------------

MessagePtr Context::make_message(int payload, std::optional<std::size_t> trace) const {
    return rmr_grpc::make_message(
        std::max(static_cast<std::size_t>(std::max(payload, 0)), payload_),
        trace.value_or(trace_size_), source_);
}

void Context::set_patience(int loops) { patience_us_ = patience_of(loops); }

Endpoint::Outcome Context::send_once(rmr_mbuf_t& message, Endpoint& endpoint,
                                     std::chrono::microseconds patience) {
    if ((message.flags & kNeedsSource) != 0) {
        put_source(message, source_);
    }
    const Endpoint::Outcome outcome = endpoint.send(seal(message), patience);
    if (endpoint.needs_care() && keeper_rests_.load(std::memory_order_relaxed)) {
        const std::lock_guard lock(keeper_mutex_);
        keeper_rests_.store(false, std::memory_order_relaxed);
        keeper_wakes_.notify_one();
    }
    return outcome;
}

void Context::conclude(rmr_mbuf_t& message, Endpoint::Outcome outcome) const {
    switch (outcome) {
        case Endpoint::Outcome::kSent:
            make_new(message, source_);
            errno = 0;
            break;
        case Endpoint::Outcome::kBusy:
            fail(message, RMR_ERR_RETRY, EAGAIN);
            break;
        case Endpoint::Outcome::kUnreachable:
            fail(message, RMR_ERR_NOENDPT, ENXIO);
            break;
    }
}

void Context::route(rmr_mbuf_t& message, std::chrono::microseconds patience) {
    RouteTable* table = table_.load(std::memory_order_acquire);
    const Route* route = table == nullptr ? nullptr : table->find(message.mtype, message.sub_id);
    if (route == nullptr) {
        fail(message, RMR_ERR_NOENDPT, ENXIO);
        return;
    }
    if (route->by_meid) {
        const Header& head = header(message);
        Endpoint* owner = table->owner(text(head.meid, sizeof(head.meid)));
        conclude(message, owner == nullptr ? Endpoint::Outcome::kUnreachable
                                           : send_once(message, *owner, patience));
        return;
    }
    // Sent when one of the groups has it, as RMR says it.
    Endpoint::Outcome last = Endpoint::Outcome::kUnreachable;
    std::size_t sent = 0;
    for (const auto& group : route->groups) {
        last = send_once(message, group->pick(), patience);
        sent += last == Endpoint::Outcome::kSent ? 1 : 0;
    }
    if (sent > 0) {
        lost_copies_ += route->groups.size() - sent;
    }
    conclude(message, sent > 0 ? Endpoint::Outcome::kSent : last);
}

void Context::send(rmr_mbuf_t& message, std::optional<int> loops) {
    if (unsigned char* id = call_id(message)) {
        *id = 0;  // it must not look like the answer to a call
    }
    const std::int64_t patience = loops && *loops >= 0 ? patience_of(*loops) : patience_us_.load();
    route(message, std::chrono::microseconds(patience));
}

void Context::send_to(rmr_mbuf_t& message, Endpoint& endpoint) {
    if (unsigned char* id = call_id(message)) {
        *id = 0;
    }
    conclude(message, send_once(message, endpoint, std::chrono::microseconds(patience_us_)));
}

void Context::return_to_sender(rmr_mbuf_t& message) {
    Header& head = header(message);
    const Source sender{text(head.source, sizeof(head.source)),
                        text(head.source_ip, sizeof(head.source_ip))};
    head.flags &= ~kFlagCall;
    const std::chrono::microseconds patience(patience_us_);
    message.flags |= kNeedsSource;
    Endpoint::Outcome outcome = send_once(message, endpoint(sender.name), patience);
    if (outcome == Endpoint::Outcome::kUnreachable && sender.ip != sender.name) {
        outcome = send_once(message, endpoint(sender.ip), patience);
    }
    conclude(message, outcome);
    // It can be returned once more, or its source read.
    put_source(message, sender);
    message.flags |= kNeedsSource;
}

MessagePtr Context::call(MessagePtr message, int id, int milliseconds, Endpoint* endpoint) {
    Slot& slot = slots_[static_cast<std::size_t>(id)];
    Header& head = header(*message);
    head.flags |= kFlagCall;
    if (unsigned char* octet = call_id(*message)) {
        *octet = static_cast<unsigned char>(id);
    }
    {
        const std::lock_guard lock(calls_mutex_);
        slot.waiting = true;
        slot.answer.reset();
        std::memcpy(slot.expected.data(), head.transaction, slot.expected.size());
    }
    const std::chrono::microseconds patience(patience_us_);
    if (endpoint != nullptr) {
        conclude(*message, send_once(*message, *endpoint, patience));
    } else {
        route(*message, patience);
    }
    std::unique_lock lock(calls_mutex_);
    if (message->state != RMR_OK) {
        slot.waiting = false;
        header(*message).flags &= ~kFlagCall;
        return message;
    }
    const auto answered = [&slot] { return slot.answer != nullptr; };
    if (milliseconds < 0) {
        slot.answered.wait(lock, answered);
    } else {
        slot.answered.wait_for(lock, std::chrono::milliseconds(milliseconds), answered);
    }
    slot.waiting = false;
    errno = slot.answer ? 0 : ETIMEDOUT;
    return std::move(slot.answer);
}

// --- receiving --------------------------------------------------------------------------------

MessagePtr Context::deliver(std::string_view octets, MessagePtr spare) {
    MessagePtr message = rmr_grpc::take(octets, std::move(spare), payload_);
    if (!message) {
        if (refused_++ == 0) {
            std::cerr << "rmr-grpc: " << octets.size()
                      << " octets arrived that are no RMR message; dropped and counted\n";
        }
        return nullptr;
    }
    message->ring = nullptr;
    if (stamp_) {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        // The field is the library's own; the message is in nobody's ring.
        message->ring = reinterpret_cast<void*>(static_cast<std::uintptr_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
    }
    const unsigned char* id = call_id(*message);
    if (id != nullptr && *id != 0 && (header(*message).flags & kFlagCall) == 0) {
        const std::lock_guard lock(calls_mutex_);
        Slot& slot = slots_[*id];
        // An answer that came too late is waited for by nobody.
        if (!slot.waiting || slot.answer ||
            std::memcmp(slot.expected.data(), header(*message).transaction, slot.expected.size()) !=
                0) {
            return message;
        }
        slot.answer = std::move(message);
        slot.answered.notify_all();
        return nullptr;
    }
    return ring_.put(std::move(message));
}

MessagePtr Context::receive(MessagePtr& old, int milliseconds) {
    if (milliseconds < 0) {
        return ring_.take(old, std::nullopt);
    }
    return ring_.take(old,
                      std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds));
}

// --- wormholes, counters, the keeper ----------------------------------------------------------

int Context::open_wormhole(const std::string& target) {
    Endpoint& opened = endpoint(target);
    if (!opened.open()) {
        errno = ECONNREFUSED;
        return -1;
    }
    const std::lock_guard lock(endpoints_mutex_);
    auto place = std::find(wormholes_.begin(), wormholes_.end(), &opened);
    if (place == wormholes_.end()) {
        place = std::find(wormholes_.begin(), wormholes_.end(), nullptr);
    }
    if (place == wormholes_.end()) {
        place = wormholes_.insert(place, nullptr);
    }
    *place = &opened;
    return static_cast<int>(place - wormholes_.begin());
}

Endpoint* Context::wormhole(int id) {
    const std::lock_guard lock(endpoints_mutex_);
    return id < 0 || static_cast<std::size_t>(id) >= wormholes_.size()
               ? nullptr
               : wormholes_[static_cast<std::size_t>(id)];
}

void Context::close_wormhole(int id) {
    const std::lock_guard lock(endpoints_mutex_);
    if (id >= 0 && static_cast<std::size_t>(id) < wormholes_.size()) {
        wormholes_[static_cast<std::size_t>(id)] = nullptr;
    }
}

bool Context::has_wormholes() {
    const std::lock_guard lock(endpoints_mutex_);
    return !wormholes_.empty();
}

std::uint64_t Context::dropped() {
    std::uint64_t sum = lost_copies_;
    for (const Endpoint* endpoint : all_endpoints()) {
        sum += endpoint->dropped();
    }
    return sum;
}

void Context::reset_counts() {
    ring_.reset_count();
    refused_ = 0;
}

void Context::look_after_endpoints() {
    std::unique_lock lock(keeper_mutex_);
    while (!closing_) {
        lock.unlock();
        bool more = false;
        for (Endpoint* endpoint : all_endpoints()) {
            endpoint->look_after();
            more = more || endpoint->needs_care();
        }
        lock.lock();
        keeper_rests_.store(!more, std::memory_order_relaxed);
        keeper_wakes_.wait_for(lock, more ? kLinger : std::chrono::microseconds(kIdleLook));
    }
}

}  // namespace peers::rmr_grpc
