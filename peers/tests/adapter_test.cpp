// The contract of an adapter, with server and clients in one process. Argument: the adapter.
#include <atomic>
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

struct Fixture {
    explicit Fixture(const Adapter& of)
        : adapter(of),
          server(adapter.implementation->serve(Endpoint{"127.0.0.1", 0}, allocator)),
          address(Endpoint::parse(server->address())) {}

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

void a_taken_port_is_named(Fixture& fixture) {
    CHECK_THROWS(fixture.adapter.implementation->serve(fixture.address, fixture.allocator),
                 std::exception, "Address already in use");
}

void a_missing_server_is_named(const Fixture& fixture, const Endpoint& nobody) {
    CHECK_THROWS(fixture.adapter.implementation->connector(nobody, Connections::own)->connect(),
                 std::exception, "cannot connect to " + nobody.to_string());
}

}  // namespace

int main(int argc, char** argv) {
    CHECK_EQUAL(argc, 2);
    const TerminationSignals signals;
    const Adapter& adapter = find_adapter(argv[1]);
    Endpoint gone;
    {
        Fixture fixture(adapter);
        gone = fixture.address;
        if (adapter.is_rpc) {
            payloads_come_back(fixture);
            gutis_are_unique_and_given_back_once(fixture);
            clients_do_not_mix_answers(fixture, Connections::own);
            if (adapter.can_share) clients_do_not_mix_answers(fixture, Connections::shared);
        } else {
            const auto connector = fixture.connector(Connections::own);
            const auto client = connector->connect();
            CHECK_EQUAL(client->allocate("x").payload, "x");
        }
        a_taken_port_is_named(fixture);
    }
    const Fixture other(adapter);
    a_missing_server_is_named(other, gone);
}
