// FLOOR-EL, the client half: one receive and one send a call, and one wait for all that is ready.
#include "floor/event_loop.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <deque>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "floor/message.hpp"
#include "harness/clock.hpp"
#include "tcp/socket.hpp"

namespace peers::floor_programs {

namespace {

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

class LoopCallers final : public LoopClient {
  public:
    LoopCallers(Endpoint server, Ended& ended)
        : server_(std::move(server)), ended_(ended), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

    void connect() override {
        Caller& caller = callers_.emplace_back();
        caller.number = static_cast<unsigned>(callers_.size() - 1);
        caller.socket = connect_to(server_);
        watch(caller, EPOLL_CTL_ADD, EPOLLIN);
    }

    void allocate(unsigned number, std::string_view payload) override {
        Caller& caller = callers_[number];
        std::array<char, kHeader> header{};
        write_header(header.data(), {static_cast<std::uint32_t>(payload.size()), 0, {}});
        caller.out.assign(header.begin(), header.end());
        caller.out.insert(caller.out.end(), payload.begin(), payload.end());
        caller.sent = 0;
        caller.in_call = true;
        if (!caller.broken.empty() || !send_on(caller)) failed_.push_back(number);
    }

    void deallocate(unsigned /*caller*/, const cw_guti& /*guti*/) override {
        throw CallError("the floor takes no GUTI back");
    }

    void run(Nanoseconds until) override {
        if (!failed_.empty()) {
            tell_failed();
            return;
        }
        const Nanoseconds left = std::max<Nanoseconds>(until - now_ns(), 0);
        const timespec timeout{static_cast<time_t>(left / kSecond),
                               static_cast<long>(left % kSecond)};
        std::array<epoll_event, 64> events{};
        const int count =
            epoll_pwait2(epoll_.fd(), events.data(), events.size(), &timeout, nullptr);
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            heed(*static_cast<Caller*>(event.data.ptr), event.events);
        }
        tell_failed();
    }

    void cancel(unsigned number) override {
        // A late answer must not be taken for the next one.
        callers_[number].socket.shut_down();
        break_off(callers_[number], "no answer in time");
    }

  private:
    struct Caller {
        unsigned number = 0;
        Socket socket;
        Buffer in;
        std::vector<char> out;
        std::size_t sent = 0;
        bool waits_for_room = false;
        bool in_call = false;
        /// Why nothing goes any more.
        std::string broken;
    };

    void watch(Caller& caller, int how, std::uint32_t what) const {
        epoll_event event{};
        event.events = what;
        event.data.ptr = &caller;
        if (epoll_ctl(epoll_.fd(), how, caller.socket.fd(), &event) != 0)
            throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    }

    /// False when the connection is broken.
    bool send_on(Caller& caller) {
        const ssize_t count = send(caller.socket.fd(), caller.out.data() + caller.sent,
                                   caller.out.size() - caller.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && !would_block()) {
            caller.broken = std::generic_category().message(errno);
            return false;
        }
        if (count > 0) caller.sent += static_cast<std::size_t>(count);
        const bool waits = caller.sent < caller.out.size();
        if (waits != caller.waits_for_room) {
            caller.waits_for_room = waits;
            watch(caller, EPOLL_CTL_MOD, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
        }
        return true;
    }

    void heed(Caller& caller, std::uint32_t what) {
        if ((what & EPOLLOUT) != 0 && caller.waits_for_room && !send_on(caller)) {
            break_off(caller, caller.broken);
            return;
        }
        if ((what & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return;
        char* room = caller.in.room();
        const ssize_t got = recv(caller.socket.fd(), room, caller.in.space(), MSG_DONTWAIT);
        if (got < 0 && would_block()) return;
        if (got <= 0) {
            break_off(caller, got == 0 ? "the server closed the connection"
                                       : std::generic_category().message(errno));
            return;
        }
        caller.in.received(static_cast<std::size_t>(got));
        if (char* message = caller.in.message()) tell(caller, message);
    }

    void tell(Caller& caller, const char* message) {
        const Header header = read_header(message);
        caller.in_call = false;
        if (header.status != CW_GUTI_OK) {
            caller.in.drop();
            ended_.failed(caller.number, describe_allocator_status(header.status));
            return;
        }
        // The answer stays where it is until the next is received.
        ended_.answered(caller.number, {header.guti, {message + kHeader, header.length}});
        caller.in.drop();
    }

    /// The connection ends, and with it the call.
    void break_off(Caller& caller, const std::string& why) {
        if (caller.broken.empty()) caller.broken = why;
        epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, caller.socket.fd(), nullptr);
        if (caller.in_call) failed_.push_back(caller.number);
    }

    void tell_failed() {
        // Who is told may call again, which fails again: that is told next time.
        std::vector<unsigned> failed;
        failed.swap(failed_);
        for (const unsigned number : failed) {
            Caller& caller = callers_[number];
            if (!std::exchange(caller.in_call, false)) continue;
            ended_.failed(number, caller.broken);
        }
    }

    const Endpoint server_;
    Ended& ended_;
    Socket epoll_;
    /// In places that stay: epoll points to them.
    std::deque<Caller> callers_;
    std::vector<unsigned> failed_;
};

}  // namespace

std::unique_ptr<LoopClient> connect_in_a_loop(const Endpoint& server, Connections /*own*/,
                                              Ended& ended) {
    return std::make_unique<LoopCallers>(server, ended);
}

}  // namespace peers::floor_programs
