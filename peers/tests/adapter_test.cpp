// The contract of an adapter, with server and clients in one process. Arguments: the adapter; for
// TLS also `server` or `mutual`, and the folder of the tests' certificates.
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "harness/arguments.hpp"
#include "harness/catalog.hpp"
#include "harness/signals.hpp"
#include "tests/check.hpp"

using namespace peers;

namespace {

auto key_of(const cw_guti& guti) {
    return std::tuple(guti.mcc, guti.mnc, guti.mnc_digits, guti.amf_region, guti.amf_set,
                      guti.amf_pointer, guti.tmsi);
}

std::string pattern(std::size_t size) {
    std::string payload(size, '\0');
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 31 + i / 251);
    return payload;
}

Tls certificate(Tls::Mode mode, const std::string& folder, const std::string& name) {
    if (mode == Tls::Mode::off) return {};
    return {mode, folder + "/" + name + ".pem", folder + "/" + name + ".key",
            folder + "/authority.pem"};
}

struct Fixture {
    explicit Fixture(const Adapter& of, Tls::Mode mode = Tls::Mode::off,
                     const std::string& folder = {})
        : adapter(of),
          server(adapter.implementation->serve(
              Endpoint{"127.0.0.1", 0, certificate(mode, folder, "server")}, allocator)),
          address(Endpoint::parse(server->address())) {
        address.tls = certificate(mode, folder, "client");
    }

    [[nodiscard]] std::unique_ptr<Connector> connector(Connections connections) const {
        return adapter.implementation->connector(address, connections);
    }

    const Adapter& adapter;
    Allocator allocator;
    std::unique_ptr<Server> server;
    Endpoint address;
};

void payloads_come_back(const Fixture& fixture) {
    const auto connector = fixture.connector(Connections::own);
    const auto client = connector->connect();
    for (const std::size_t size : {0U, 1U, 100U, 65'536U, 1'000'000U, 10U, 0U}) {
        const std::string payload = pattern(size);
        CHECK(client->allocate(payload).payload == payload);
    }
}

void gutis_are_unique_and_given_back_once(Fixture& fixture) {
    const auto connector = fixture.connector(Connections::own);
    const auto client = connector->connect();
    const auto before = fixture.allocator.allocated();
    std::set<decltype(key_of(cw_guti{}))> seen;
    cw_guti last{};
    for (int i = 0; i < 200; ++i) {
        last = client->allocate("x").guti;
        CHECK(last.mcc != 0 && last.mnc_digits >= 2);
        CHECK(seen.insert(key_of(last)).second);
    }
    CHECK_EQUAL(fixture.allocator.allocated() - before, 200U);
    client->deallocate(last);
    CHECK_THROWS(client->deallocate(last), CallError, describe_allocator_status(CW_GUTI_UNKNOWN));
    // A refusal leaves the connection in order.
    CHECK_EQUAL(client->allocate("still here").payload, "still here");
}

void clients_do_not_mix_answers(const Fixture& fixture, Connections connections) {
    const auto connector = fixture.connector(connections);
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i, client = connector->connect()] {
            const std::string payload(static_cast<std::size_t>(i) * 5'000 + 1,
                                      static_cast<char>('a' + i));
            for (int k = 0; k < 100; ++k) {
                if (client->allocate(payload).payload == payload) ++good;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(good.load(), 400);
}

/// Four callers on one thread, of which each calls again as soon as it has its answer.
class Callers final : Ended {
  public:
    Callers(Fixture& fixture, Connections connections)
        : allocator_(fixture.allocator),
          client_(fixture.adapter.implementation->loop(fixture.address, connections, *this)) {
        for (unsigned i = 0; i < kCallers; ++i) {
            payloads_.emplace_back(i * 5'000 + 1, static_cast<char>('a' + i));
            client_->connect();
        }
    }

    void call_and_check() {
        for (unsigned i = 0; i < kCallers; ++i) client_->allocate(i, payloads_[i]);
        const Nanoseconds too_late = now_ns() + 60 * kSecond;
        while (good_ < kCallers * kCalls && now_ns() < too_late) client_->run(now_ns() + kSecond);
        CHECK_EQUAL(good_, kCallers * kCalls);
        // What nobody knows is refused, to the caller that asked.
        cw_guti gone{};
        CHECK_EQUAL(allocator_.allocate(gone), CW_GUTI_OK);
        CHECK_EQUAL(allocator_.deallocate(gone), CW_GUTI_OK);
        client_->deallocate(2, gone);
        while (refused_.empty() && now_ns() < too_late) client_->run(now_ns() + kSecond);
        CHECK(refused_.starts_with("2: "));
        CHECK(refused_.find(describe_allocator_status(CW_GUTI_UNKNOWN)) != std::string::npos);
    }

  private:
    static constexpr unsigned kCallers = 4;
    static constexpr unsigned kCalls = 100;

    void answered(unsigned caller, const Response& response) override {
        CHECK(response.payload == payloads_[caller]);
        ++good_;
        if (++calls_[caller] < kCalls) client_->allocate(caller, payloads_[caller]);
    }
    void failed(unsigned caller, const std::string& what) override {
        refused_ = std::to_string(caller) + ": " + what;
    }

    Allocator& allocator_;
    std::vector<std::string> payloads_;
    std::array<unsigned, kCallers> calls_{};
    unsigned good_ = 0;
    std::string refused_;
    std::unique_ptr<LoopClient> client_;
};

void a_taken_port_is_named(Fixture& fixture) {
    CHECK_THROWS(fixture.adapter.implementation->serve(fixture.address, fixture.allocator),
                 std::exception, "Address already in use");
}

void a_missing_server_is_named(const Fixture& fixture, const Endpoint& nobody) {
    CHECK_THROWS(fixture.adapter.implementation->connector(nobody, Connections::own)->connect(),
                 std::exception, "cannot connect to " + nobody.to_string());
}

/// A call that must not be answered; where the refusal shows, at the connection or at the call, is
/// the library's.
void is_refused(const Fixture& fixture, const Tls& tls) {
    Endpoint other = fixture.address;
    other.tls = tls;
    const auto before = fixture.allocator.allocated();
    bool answered = true;
    try {
        const auto connector = fixture.adapter.implementation->connector(other, Connections::own);
        connector->connect()->allocate("x");
    } catch (const std::exception&) {
        answered = false;
    }
    CHECK(!answered);
    CHECK_EQUAL(fixture.allocator.allocated(), before);
}

void who_is_not_known_is_refused(const Fixture& fixture, const std::string& folder) {
    if (fixture.address.tls.mutual()) {
        Tls nameless = fixture.address.tls;
        nameless.mode = Tls::Mode::server;
        is_refused(fixture, nameless);
        Tls foreign = certificate(Tls::Mode::mutual, folder, "foreign");
        is_refused(fixture, foreign);
    }
    Tls doubting = fixture.address.tls;
    doubting.authorities = folder + "/stranger.pem";
    is_refused(fixture, doubting);
}

Tls::Mode mode_of(const std::string& name) {
    return name == "mutual" ? Tls::Mode::mutual : Tls::Mode::server;
}

}  // namespace

int main(int argc, char** argv) {
    CHECK(argc == 2 || argc == 4);
    const TerminationSignals signals;
    const Adapter& adapter = find_adapter(argv[1]);
    const Tls::Mode mode = argc == 4 ? mode_of(argv[2]) : Tls::Mode::off;
    const std::string folder = argc == 4 ? argv[3] : "";
    Endpoint gone;
    {
        Fixture fixture(adapter, mode, folder);
        gone = fixture.address;
        if (adapter.is_rpc) {
            payloads_come_back(fixture);
            gutis_are_unique_and_given_back_once(fixture);
            clients_do_not_mix_answers(fixture, Connections::own);
            if (adapter.implementation->loop) {
                Callers(fixture, Connections::own).call_and_check();
                Callers(fixture, Connections::shared).call_and_check();
            } else if (adapter.can_share) {
                clients_do_not_mix_answers(fixture, Connections::shared);
            }
        } else {
            const auto connector = fixture.connector(Connections::own);
            const auto client = connector->connect();
            CHECK_EQUAL(client->allocate("x").payload, "x");
        }
        a_taken_port_is_named(fixture);
        if (mode != Tls::Mode::off) who_is_not_known_is_refused(fixture, folder);
    }
    const Fixture other(adapter, mode, folder);
    a_missing_server_is_named(other, gone);
}
