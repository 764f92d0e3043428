#include "harness/run.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "harness/cpu_clock.hpp"
#include "harness/json.hpp"
#include "harness/loop_worker.hpp"
#include "harness/result.hpp"
#include "harness/worker.hpp"

namespace peers {

namespace {

/// Opens both latches whatever happens, so that nobody waits for ever, and joins.
class Crew {
  public:
    explicit Crew(Course& course) : course_(course) {}
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew() {
        course_.stop = true;
        if (!course_.warmup.try_wait()) course_.warmup.count_down();
        if (!course_.measure.try_wait()) course_.measure.count_down();
        for (std::thread& thread : threads_) thread.join();
    }

    void add(std::unique_ptr<Hand> hand) {
        Hand& added = *hands_.emplace_back(std::move(hand));
        threads_.emplace_back([&added] { added.run(); });
    }

    [[nodiscard]] const std::vector<std::unique_ptr<Hand>>& hands() const { return hands_; }

  private:
    Course& course_;
    std::vector<std::unique_ptr<Hand>> hands_;
    std::vector<std::thread> threads_;
};

/// Connects all clients and starts their threads: one each, or one for all.
void man(Crew& crew, Course& course, Connector& connector) {
    const ClientOptions& options = course.options;
    if (options.adapter->implementation->loop) {
        crew.add(std::make_unique<LoopWorker>(course, options.server));
        return;
    }
    for (unsigned i = 0; i < options.clients; ++i) {
        crew.add(std::make_unique<Worker>(course, connector, connector.connect(), i));
    }
}

/// Waits until everybody has arrived. Sleeps meanwhile; looks after signals, overdue calls and
/// (in the window) progress lines. Returns true when a signal came.
bool wait_for_all(Crew& crew, Course& course, TerminationSignals& signals, bool in_window) {
    bool interrupted = false;
    std::uint64_t arrived = 0;
    Nanoseconds next_tick = now_ns() + kSecond;
    while (arrived < crew.hands().size()) {
        pollfd fds[] = {{course.arrived.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
        const Nanoseconds left = std::max<Nanoseconds>(next_tick - now_ns(), 0);
        poll(fds, 2, static_cast<int>(left / 1'000'000 + 1));
        arrived += course.arrived.take();
        if (signals.take()) {
            interrupted = true;
            course.stop = true;
        }
        const Nanoseconds now = now_ns();
        if (now < next_tick || arrived == crew.hands().size()) continue;
        next_tick += kSecond;
        std::uint64_t requests = 0;
        for (const auto& hand : crew.hands()) {
            hand->cancel_if_overdue(now);
            requests += hand->progress();
        }
        if (!in_window) continue;
        emit(JsonObject()
                 .add("event", "progress")
                 .add("elapsed_s", static_cast<double>(now - course.window_start) / 1e9)
                 .add("requests", requests));
    }
    return interrupted;
}

}  // namespace

int run_client(const ClientOptions& options, TerminationSignals& signals) {
    const bool is_rpc = options.adapter->is_rpc;
    if (!is_rpc && options.payload_bytes > 1) {
        std::fprintf(stderr, "note: %s always moves one byte; --payload %zu is not used\n",
                     std::string(options.adapter->name).c_str(), options.payload_bytes);
    }
    Result result(options);
    result.payload_bytes = is_rpc ? options.payload_bytes : 1;
    const CpuClock own_cpu;
    std::optional<CpuClock> server_cpu;
    if (options.server_pid) server_cpu.emplace(*options.server_pid);

    Course course(options);
    course.payload.assign(result.payload_bytes, 'x');
    // Declared before the crew: clients must be gone before their connector.
    const auto connector =
        options.adapter->implementation->connector(options.server, options.connections);
    Crew crew(course);
    man(crew, course, *connector);
    emit(JsonObject().add("event", "connected"));

    course.warmup_end = now_ns() + std::llround(options.warmup_s * 1e9);
    course.warmup.count_down();
    result.interrupted = wait_for_all(crew, course, signals, false);

    if (options.server_pid) result.server_threads = thread_count(*options.server_pid);
    emit(JsonObject().add("event", "measuring"));
    const auto server_cpu_start = server_cpu ? server_cpu->read() : std::nullopt;
    const auto own_cpu_start = own_cpu.read();
    course.window_start = now_ns();
    if (options.duration_s) {
        course.window_end = course.window_start + std::llround(*options.duration_s * 1e9);
    }
    course.measure.count_down();
    result.interrupted |= wait_for_all(crew, course, signals, true);

    const auto own_cpu_end = own_cpu.read();
    const auto server_cpu_end = server_cpu ? server_cpu->read() : std::nullopt;
    if (server_cpu_start && server_cpu_end) {
        result.server_cpu_ns = *server_cpu_end - *server_cpu_start;
    }
    if (own_cpu_start && own_cpu_end) result.client_cpu_ns = *own_cpu_end - *own_cpu_start;
    Nanoseconds finished = course.window_start;
    for (const auto& hand : crew.hands()) {
        result.merge(hand->measured());
        finished = std::max(finished, hand->measured().finished_at);
    }
    result.duration_s = static_cast<double>(finished - course.window_start) / 1e9;
    emit(result.to_json());
    return 0;
}

}  // namespace peers
