// What both clients share: what a GUTI must be, and the steps that are shown.
#pragma once

#include <compare>
#include <cstdint>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

/// A 5G-GUTI (3GPP TS 23.003 clause 2.10).
struct Guti {
    std::uint32_t mcc, mnc, mnc_digits, amf_region, amf_set, amf_pointer, tmsi;

    auto operator<=>(const Guti&) const = default;

    [[nodiscard]] bool is_well_formed() const {
        return mcc <= 999 && (mnc_digits == 2 || mnc_digits == 3) &&
               mnc <= (mnc_digits == 2 ? 99u : 999u) && amf_region <= 0xff && amf_set <= 0x3ff &&
               amf_pointer <= 0x3f && tmsi != 0xffffffff;
    }

    [[nodiscard]] std::string text() const {
        char text[64];
        std::snprintf(text, sizeof text, "5g-guti-%03u%0*u%02x%04x%08x", mcc,
                      static_cast<int>(mnc_digits), mnc, amf_region, amf_set << 6 | amf_pointer,
                      tmsi);
        return text;
    }
};

/// How the service answered.
struct Answer {
    std::string code;
    std::string message;
};

inline void expect(const Answer& answer, const std::string& code) {
    if (answer.code != code)
        throw std::runtime_error("expected " + code + ", not " + answer.code + ": " +
                                 answer.message);
}

/// The steps, for a client with `Guti allocate(std::string payload)`, `Answer deallocate(Guti)` and
/// `Answer hang()`, a call that only its deadline of 200 ms ends.
template <typename Client>
void run(Client& client, std::size_t count) {
    std::vector<Guti> gutis;
    for (std::size_t i = 0; i < count; ++i)
        gutis.push_back(client.allocate("registration " + std::to_string(i)));
    for (const Guti& guti : gutis)
        if (!guti.is_well_formed()) throw std::runtime_error(guti.text() + " is no GUTI");
    if (std::set(gutis.begin(), gutis.end()).size() != count)
        throw std::runtime_error("a GUTI was allocated twice");
    std::printf("allocated %zu GUTIs, all different; the first is %s\n", count,
                gutis.front().text().c_str());

    for (const Guti& guti : gutis) expect(client.deallocate(guti), "OK");
    std::printf("deallocated %zu GUTIs\n", count);

    const Answer unknown = client.deallocate(gutis.front());
    expect(unknown, "NOT_FOUND");
    std::printf("unknown GUTI: %s: %s\n", unknown.code.c_str(), unknown.message.c_str());

    const Answer late = client.hang();
    expect(late, "DEADLINE_EXCEEDED");
    std::printf("deadline of 200 ms: %s: %s\n", late.code.c_str(), late.message.c_str());
}

/// Reads `HOST:PORT COUNT [CERTIFICATES]`, connects and runs.
template <typename Client>
int main_of(int argc, char** argv) {
    try {
        const std::size_t count = argc >= 3 ? std::stoul(argv[2]) : 0;
        if (argc > 4 || count == 0)
            throw std::runtime_error("usage: " + std::string(argv[0]) +
                                     " HOST:PORT COUNT [CERTIFICATES]");
        Client client(argv[1], argc == 4 ? argv[3] : "");
        run(client, count);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
