// The client of one adapter against the server of another. Arguments: client's, server's.
#include <cstdint>
#include <string>

#include "harness/arguments.hpp"
#include "harness/catalog.hpp"
#include "harness/signals.hpp"
#include "tests/check.hpp"

using namespace peers;

int main(int argc, char** argv) {
    CHECK_EQUAL(argc, 3);
    const TerminationSignals signals;
    const Adapter& calling = find_adapter(argv[1]);
    const Adapter& serving = find_adapter(argv[2]);
    Allocator allocator;
    const auto server = serving.implementation->serve(Endpoint{"127.0.0.1", 0, {}}, allocator);
    const auto connector =
        calling.implementation->connector(Endpoint::parse(server->address()), Connections::own);
    const auto client = connector->connect();
    const auto before = allocator.allocated();
    cw_guti last{};
    std::uint64_t calls = 0;
    for (const std::size_t size : {0U, 1U, 1'000U, 65'536U, 1'000'000U, 10U}) {
        const std::string payload(size, 'p');
        const Response response = client->allocate(payload);
        CHECK(response.payload == payload);
        CHECK(response.guti.mcc != 0 && response.guti.mnc_digits >= 2);
        last = response.guti;
        ++calls;
    }
    CHECK_EQUAL(allocator.allocated() - before, calls);
    client->deallocate(last);
    // The failure and its sentence cross over as well.
    CHECK_THROWS(client->deallocate(last), CallError, describe_allocator_status(CW_GUTI_UNKNOWN));
    CHECK_EQUAL(client->allocate("still here").payload, "still here");
}
