#include "harness/tls.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "harness/adapter.hpp"
#include "harness/arguments.hpp"

namespace peers {

bool read_tls_option(Arguments& arguments, Tls& tls) {
    if (arguments.is("--tls")) {
        const std::string mode = arguments.value();
        if (mode == "off") {
            tls.mode = Tls::Mode::off;
        } else if (mode == "server") {
            tls.mode = Tls::Mode::server;
        } else if (mode == "mutual") {
            tls.mode = Tls::Mode::mutual;
        } else {
            throw UsageError("--tls must be off, server or mutual, not '" + mode + "'");
        }
    } else if (arguments.is("--tls-certificate")) {
        tls.certificate = arguments.value();
    } else if (arguments.is("--tls-key")) {
        tls.key = arguments.value();
    } else if (arguments.is("--tls-authorities")) {
        tls.authorities = arguments.value();
    } else if (arguments.is("--tls-resume")) {
        tls.resume = true;
    } else {
        return false;
    }
    return true;
}

void check_tls(const Tls& tls, const Adapter& adapter, bool is_server) {
    if (tls.resume && (is_server || !tls.on() || !adapter.name.starts_with("CW-"))) {
        throw UsageError("--tls-resume is for clients with TLS of the adapters CW-*");
    }
    if (!tls.on()) return;
    if (!adapter.no_tls.empty()) {
        throw UsageError(std::string(adapter.name) + " has no TLS: " + std::string(adapter.no_tls));
    }
    if ((is_server || tls.mutual()) && (tls.certificate.empty() || tls.key.empty())) {
        throw UsageError("--tls needs --tls-certificate and --tls-key here, see --help");
    }
    if ((!is_server || tls.mutual()) && tls.authorities.empty()) {
        throw UsageError("--tls needs --tls-authorities here, see --help");
    }
}

std::string read_pem(const std::string& path) {
    std::ifstream file(path);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file || text.empty()) throw std::runtime_error("cannot read " + path);
    return text;
}

}  // namespace peers
