// One thread: epoll over the connections and a timer, each connection written once a turn.
#include "mesh/h2_gateway.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <stdexcept>

#include "harness/cpu_clock.hpp"
#include "harness/json.hpp"
#include "harness/pacing.hpp"
#include "mesh/h2_session.hpp"
#include "mesh/load.hpp"
#include "mesh/messages.hpp"

namespace mesh {

namespace {

using peers::now_ns;

class Gateway final : public H2Handler {
  public:
    Gateway(const GatewayOptions& options, peers::TerminationSignals& signals)
        : options_(options),
          signals_(signals),
          body_(create_data(options.payload)),
          epoll_(epoll_create1(EPOLL_CLOEXEC)),
          timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
          measured_(options) {
        if (epoll_ < 0 || timer_ < 0) throw std::runtime_error("no epoll or no timer");
        watch(timer_, kTimer);
    }

    ~Gateway() override {
        close(timer_);
        close(epoll_);
    }

    int run() {
        connect();
        say("connected");
        plan_.emplace(options_);
        while (!turn()) {
        }
        if (options_.rate) {
            const Nanoseconds end = interrupted_ != 0 ? interrupted_ : plan_->window_end;
            std::uint64_t unsent = 0;
            while (plan_->due(number_ + unsent) < end) ++unsent;
            measured_.unsent(unsent);
        }
        measured_.unanswered(in_flight_);
        const nghttp2_info* const info = nghttp2_version(0);
        peers::emit(measured_.result(*plan_, interrupted_, cpu_after_ - cpu_before_, first_answer_,
                                     static_cast<unsigned>(sessions_.size()),
                                     {{"nghttp2", info->version_str}}));
        return 0;
    }

    void ended(H2Stream& stream, std::uint32_t error) override {
        const Nanoseconds at = now_ns();
        --in_flight_;
        const bool whole = error == 0 && stream.status == 200 && stream.received > 0;
        if (!plan_) {
            if (whole && first_answer_ == 0) first_answer_ = at;
            if (!whole) throw std::runtime_error("no replica answers: not with 200");
        } else if (whole) {
            measured_.answered(*plan_, stream.due, stream.sent, at, stream.stamp);
        } else {
            measured_.failed(*plan_, stream.due, "HTTP status " + std::to_string(stream.status));
        }
    }

    const std::string& answer(H2Stream&, std::string&) override { return body_; }

  private:
    static constexpr std::uint64_t kTimer = UINT64_MAX;

    void watch(int fd, std::uint64_t who) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = who;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    }

    void connect() {
        const Nanoseconds deadline =
            now_ns() + static_cast<Nanoseconds>(options_.patience * peers::kSecond);
        for (const auto& address : addresses_of(options_.target)) {
            sessions_.push_back(
                std::make_unique<H2Session>(reach(address, deadline), true, address, *this));
            watch(sessions_.back()->fd(), sessions_.size() - 1);
        }
        for (unsigned i = 0; i < options_.connect; ++i) {
            send(now_ns(), now_ns());
            while (in_flight_ > 0) {
                if (now_ns() > deadline) throw std::runtime_error("no replica answers in time");
                wait(now_ns() + 10'000'000);
            }
        }
        number_ = 0;
    }

    static int reach(const std::string& address, Nanoseconds deadline) {
        for (;;) {
            try {
                return h2_connect(address);
            } catch (const std::system_error& error) {
                if (now_ns() >= deadline) {
                    throw std::runtime_error(std::string("no replica answers: ") + error.what());
                }
                peers::sleep_until(now_ns() + 500'000);
            }
        }
    }

    void send(Nanoseconds due, Nanoseconds now) {
        H2Session& session = *sessions_[number_ % sessions_.size()];
        session.request(body_, number_++, due, now);
        ++in_flight_;
        mark(session);
    }

    void mark(H2Session& session) {
        if (session.dirty) return;
        session.dirty = true;
        dirty_.push_back(&session);
    }

    /// Sends what is due, waits for what comes. True when all is done.
    bool turn() {
        const Nanoseconds now = now_ns();
        if (now >= plan_->window_start && cpu_before_ == 0) {
            cpu_before_ = cpu_.read().value_or(1);
            say("measuring");
        }
        if (interrupted_ == 0 && now < plan_->window_end && signals_.take()) interrupted_ = now;
        const bool closing = interrupted_ != 0 || now >= plan_->window_end;
        if (closing && cpu_after_ == 0) cpu_after_ = cpu_.read().value_or(1);
        if (closing && (in_flight_ == 0 || now >= plan_->give_up)) return true;
        Nanoseconds wake = closing                     ? plan_->give_up
                           : now < plan_->window_start ? plan_->window_start
                                                       : plan_->window_end;
        // A signal is looked for at least so often.
        wake = std::min(wake, now + 50'000'000);
        if (!closing) {
            if (options_.rate) {
                while (plan_->due(number_) <= now) send(plan_->due(number_), now_ns());
                wake = std::min(wake, plan_->due(number_));
            } else {
                while (in_flight_ < options_.in_flight) {
                    const Nanoseconds at = now_ns();
                    send(at, at);
                }
            }
        }
        wait(wake);
        return false;
    }

    void wait(Nanoseconds wake) {
        flush();
        itimerspec when{};
        when.it_value.tv_sec = static_cast<time_t>(wake / peers::kSecond);
        when.it_value.tv_nsec = static_cast<long>(wake % peers::kSecond);
        timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
        std::array<epoll_event, 64> events{};
        const int count = epoll_wait(epoll_, events.data(), events.size(), -1);
        if (count < 0 && errno != EINTR) throw std::runtime_error("epoll_wait");
        for (int i = 0; i < count; ++i) {
            const std::uint64_t who = events[static_cast<std::size_t>(i)].data.u64;
            if (who == kTimer) {
                std::uint64_t times = 0;
                [[maybe_unused]] const auto ignored = ::read(timer_, &times, sizeof times);
                continue;
            }
            H2Session& session = *sessions_[who];
            if (!session.read()) throw std::runtime_error("a replica closed its connection");
            mark(session);
        }
    }

    void flush() {
        for (H2Session* const session : dirty_) {
            session->dirty = false;
            if (!session->flush()) throw std::runtime_error("a replica closed its connection");
        }
        dirty_.clear();
    }

    const GatewayOptions& options_;
    peers::TerminationSignals& signals_;
    const std::string body_;
    int epoll_;
    int timer_;
    std::vector<std::unique_ptr<H2Session>> sessions_;
    std::vector<H2Session*> dirty_;
    std::optional<Plan> plan_;
    peers::CpuClock cpu_;
    Measured measured_;
    std::uint64_t number_ = 0;
    std::uint64_t in_flight_ = 0;
    Nanoseconds first_answer_ = 0;
    Nanoseconds interrupted_ = 0;
    Nanoseconds cpu_before_ = 0;
    Nanoseconds cpu_after_ = 0;
};

}  // namespace

int run_h2_gateway(const GatewayOptions& options, peers::TerminationSignals& signals) {
    return Gateway(options, signals).run();
}

}  // namespace mesh
