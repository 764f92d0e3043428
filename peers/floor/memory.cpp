// The floor through shared memory: one message each way in place, two counters.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <list>
#include <memory>
#include <system_error>
#include <thread>

#include "floor/adapters.hpp"
#include "floor/message.hpp"
#include "harness/clock.hpp"
#include "tcp/socket.hpp"

namespace peers {

using namespace floor_programs;

namespace {

/// The longest payload that the floor's shared memory takes.
constexpr std::size_t kMost = 1 << 20;

/// What both processes see. The client counts `asked` up when its message is there, the server
/// `answered` when it has answered it in place.
struct Shared {
    alignas(64) std::atomic<std::uint32_t> asked;
    alignas(64) std::atomic<std::uint32_t> answered;
    alignas(64) char message[kHeader + kMost];
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

class Mapping {
  public:
    explicit Mapping(int fd)
        : address_(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) {
        if (address_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { munmap(address_, sizeof(Shared)); }

    Shared& operator*() const { return *static_cast<Shared*>(address_); }

  private:
    void* address_;
};

/// Spins, or sleeps on a futex.
template <bool Sleeps>
struct Wait {
    /// Comes back when the counter is no longer `old`, or for a look at whether to stop.
    static void until_changed(std::atomic<std::uint32_t>& counter, std::uint32_t old) {
        if constexpr (Sleeps) {
            const timespec limit{0, 100'000'000};
            syscall(SYS_futex, &counter, FUTEX_WAIT, old, &limit, nullptr, 0);
        } else {
            for (unsigned turn = 0; turn < 10'000; ++turn) {
                if (counter.load(std::memory_order_acquire) != old) return;
                __builtin_ia32_pause();
            }
        }
    }

    static void changed(std::atomic<std::uint32_t>& counter) {
        if constexpr (Sleeps) syscall(SYS_futex, &counter, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
};

/// Each connection brings the name of a memory of its own, which the client has made.
template <bool Sleeps>
class MemoryServer final : public Server {
  public:
    MemoryServer(const Endpoint& listen, Allocator& allocator)
        : allocator_(allocator),
          listener_(listen_on(listen)),
          acceptor_([this] { accept_all(); }) {}

    ~MemoryServer() override {
        stop_ = true;
        listener_.shut_down();
        acceptor_.join();
        for (Served& served : served_) served.socket.shut_down();
        for (Served& served : served_) served.thread.join();
    }

    [[nodiscard]] std::string address() const override { return address_of(listener_); }

  private:
    struct Served {
        Socket socket;
        std::thread thread;
    };

    void accept_all() {
        while (Socket socket = accept_from(listener_)) {
            Served& served = served_.emplace_back();
            served.socket = std::move(socket);
            served.thread = std::thread([this, &served] { serve(served.socket); });
        }
    }

    void serve(const Socket& socket) {
        try {
            std::array<char, 64> name{};
            if (!socket.receive_all(name.data(), name.size())) return;
            name.back() = '\0';
            const Socket memory(shm_open(name.data(), O_RDWR | O_CLOEXEC, 0));
            if (!memory) return;
            const Mapping mapping(memory.fd());
            Shared& shared = *mapping;
            std::uint32_t seen = 0;
            socket.send_all("!", 1);
            unsigned idle = 0;
            while (!stop_) {
                Wait<Sleeps>::until_changed(shared.asked, seen);
                if (shared.asked.load(std::memory_order_acquire) == seen) {
                    // Now and then: is the client still there?
                    char octet = 0;
                    if (++idle % 16 == 0 && recv(socket.fd(), &octet, 1, MSG_DONTWAIT) == 0) return;
                    continue;
                }
                ++seen;
                answer(shared.message, allocator_);
                shared.answered.store(seen, std::memory_order_release);
                Wait<Sleeps>::changed(shared.answered);
            }
        } catch (const std::exception&) {
            // The client has gone.
        }
    }

    Allocator& allocator_;
    Socket listener_;
    std::atomic<bool> stop_{false};
    std::list<Served> served_;
    std::thread acceptor_;
};

template <bool Sleeps>
class MemoryClient final : public Client {
  public:
    explicit MemoryClient(const Endpoint& server) : socket_(connect_to(server)) {
        socket_.set_timeouts(kCallTimeoutSeconds);
        std::array<char, 64> name{};
        std::snprintf(name.data(), name.size(), "/corewire-floor-%d-%d", getpid(), socket_.fd());
        const Socket memory(shm_open(name.data(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!memory || ftruncate(memory.fd(), sizeof(Shared)) != 0)
            throw std::system_error(errno, std::generic_category(), "shared memory");
        mapping_ = std::make_unique<Mapping>(memory.fd());
        char sign = 0;
        socket_.send_all(name.data(), name.size());
        const bool there = socket_.receive_all(&sign, 1);
        shm_unlink(name.data());
        if (!there) throw CallError("the server does not take the memory");
    }

    Response allocate(std::string_view payload) override {
        if (payload.size() > kMost) throw CallError("the floor's memory is smaller than that");
        Shared& shared = **mapping_;
        write_header(shared.message, {static_cast<std::uint32_t>(payload.size()), 0, {}});
        std::memcpy(shared.message + kHeader, payload.data(), payload.size());
        const std::uint32_t old = asked_++;
        shared.asked.store(asked_, std::memory_order_release);
        Wait<Sleeps>::changed(shared.asked);
        Wait<Sleeps>::until_changed(shared.answered, old);
        if (shared.answered.load(std::memory_order_acquire) != asked_) wait_longer(shared, old);
        const Header header = read_header(shared.message);
        if (header.status != CW_GUTI_OK) throw CallError(describe_allocator_status(header.status));
        return {header.guti, {shared.message + kHeader, header.length}};
    }

    void deallocate(const cw_guti& /*guti*/) override {
        throw CallError("the floor takes no GUTI back");
    }

  private:
    void wait_longer(Shared& shared, std::uint32_t old) const {
        const Nanoseconds deadline = now_ns() + kCallTimeoutSeconds * kSecond;
        while (shared.answered.load(std::memory_order_acquire) != asked_) {
            char octet = 0;
            if (recv(socket_.fd(), &octet, 1, MSG_DONTWAIT) == 0)
                throw CallError("the server has gone");
            if (now_ns() > deadline) throw CallError("no answer in time");
            Wait<Sleeps>::until_changed(shared.answered, old);
        }
    }

    Socket socket_;
    std::unique_ptr<Mapping> mapping_;
    std::uint32_t asked_ = 0;
};

template <bool Sleeps>
class MemoryConnector final : public Connector {
  public:
    explicit MemoryConnector(Endpoint server) : server_(std::move(server)) {}
    std::unique_ptr<Client> connect() override {
        return std::make_unique<MemoryClient<Sleeps>>(server_);
    }

  private:
    Endpoint server_;
};

template <bool Sleeps>
Implementation implementation() {
    return {[](const Endpoint& listen, Allocator& allocator) {
                return std::make_unique<MemoryServer<Sleeps>>(listen, allocator);
            },
            [](const Endpoint& server, Connections) {
                return std::make_unique<MemoryConnector<Sleeps>>(server);
            },
            [] { return Versions{}; }};
}

}  // namespace

Implementation make_floor_shm_spin() { return implementation<false>(); }
Implementation make_floor_shm_futex() { return implementation<true>(); }

}  // namespace peers
