#include "harness/endpoint.hpp"

#include <charconv>
#include <stdexcept>

namespace peers {

Endpoint Endpoint::parse(std::string_view text) {
    const auto fail = [&](const char* why) {
        throw std::invalid_argument("'" + std::string(text) + "' is not an address: " + why +
                                    " (expected host:port, for example 127.0.0.1:5000)");
    };
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) fail("there is no port");
    std::string_view host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        fail("an IPv6 host stands in brackets");
    }
    if (host.empty()) fail("the host is empty");
    Endpoint endpoint{std::string(host), 0, {}};
    const auto [end, error] =
        std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
    if (error != std::errc{} || end != port.data() + port.size()) {
        fail("the port is not a number from 0 to 65535");
    }
    return endpoint;
}

std::string Endpoint::to_string() const {
    const bool ipv6 = host.find(':') != std::string::npos;
    return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace peers
