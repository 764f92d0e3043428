// One thread: epoll over listeners and connections, each connection written once a turn.
#include "mesh/h2_replica.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <map>
#include <thread>

#include "mesh/h2_session.hpp"
#include "mesh/messages.hpp"

namespace mesh {

namespace {

class H2Replica final : public Replica, public H2Handler {
  public:
    explicit H2Replica(unsigned ports)
        : epoll_(epoll_create1(EPOLL_CLOEXEC)), stop_(eventfd(0, EFD_CLOEXEC)) {
        watch(stop_, EPOLLIN, EPOLL_CTL_ADD);
        for (unsigned i = 0; i < ports; ++i) {
            std::uint16_t port = 0;
            const int listener = h2_listen(port);
            listeners_.push_back(listener);
            addresses_.push_back("127.0.0.1:" + std::to_string(port));
            watch(listener, EPOLLIN, EPOLL_CTL_ADD);
        }
        loop_ = std::thread([this] { run(); });
    }

    ~H2Replica() override {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = write(stop_, &one, sizeof one);
        loop_.join();
        sessions_.clear();
        for (const int listener : listeners_) close(listener);
        close(stop_);
        close(epoll_);
    }

    [[nodiscard]] const std::vector<std::string>& addresses() const override { return addresses_; }
    [[nodiscard]] Versions versions() const override {
        return {{"nghttp2", nghttp2_version(0)->version_str}};
    }

    void ended(H2Stream&, std::uint32_t) override {}

    const std::string& answer(H2Stream& stream, std::string& one_way) override {
        one_way = one_way_since(stream.stamp, peers::now_ns());
        return answer_;
    }

  private:
    void watch(int fd, std::uint32_t events, int operation) const {
        epoll_event event{};
        event.events = events;
        event.data.fd = fd;
        epoll_ctl(epoll_, operation, fd, &event);
    }

    void run() {
        std::array<epoll_event, 64> events{};
        for (;;) {
            const int count = epoll_wait(epoll_, events.data(), events.size(), -1);
            for (int i = 0; i < count; ++i) {
                const int fd = events[static_cast<std::size_t>(i)].data.fd;
                if (fd == stop_) return;
                const auto session = sessions_.find(fd);
                if (session == sessions_.end()) {
                    accept(fd);
                } else if (!serve(*session->second)) {
                    sessions_.erase(session);
                }
            }
        }
    }

    void accept(int listener) {
        for (int fd = h2_accept(listener); fd >= 0; fd = h2_accept(listener)) {
            sessions_.emplace(fd, std::make_unique<H2Session>(fd, false, "", *this));
            watch(fd, EPOLLIN, EPOLL_CTL_ADD);
        }
    }

    bool serve(H2Session& session) {
        const bool waited = session.wants_write();
        if (!session.read() || !session.flush()) return false;
        if (session.wants_write() != waited) {
            watch(session.fd(), session.wants_write() ? EPOLLIN | EPOLLOUT : EPOLLIN,
                  EPOLL_CTL_MOD);
        }
        return true;
    }

    const std::string answer_ = created_data();
    int epoll_;
    int stop_;
    std::vector<int> listeners_;
    std::vector<std::string> addresses_;
    std::map<int, std::unique_ptr<H2Session>> sessions_;
    std::thread loop_;
};

}  // namespace

std::unique_ptr<Replica> serve_h2(unsigned ports) { return std::make_unique<H2Replica>(ports); }

}  // namespace mesh
