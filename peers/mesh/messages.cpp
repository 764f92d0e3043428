#include "mesh/messages.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace mesh {

namespace {

constexpr std::string_view kCreateData =
    R"({"supi":"imsi-001010000000001","pei":"imeisv-4370816125816151","gpsi":"msisdn-0900000000",)"
    R"("pduSessionId":1,"dnn":"internet","sNssai":{"sst":1,"sd":"000001"},)"
    R"("servingNfId":"6c3ad9c2-5b4e-4d0e-8b4e-1f5e6a7b8c9d",)"
    R"("guami":{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"020040"},)"
    R"("servingNetwork":{"mcc":"001","mnc":"01"},"requestType":"INITIAL_REQUEST",)"
    R"("n1SmMsg":{"contentId":"5gnas-sm"},"anType":"3GPP_ACCESS","ratType":"NR",)"
    R"("ueLocation":{"nrLocation":{"tai":{"plmnId":{"mcc":"001","mnc":"01"},"tac":"000001"},)"
    R"("ncgi":{"plmnId":{"mcc":"001","mnc":"01"},"nrCellId":"000000010"},)"
    R"("ueLocationTimestamp":"2026-01-01T00:00:00Z"}},"ueTimeZone":"+00:00",)"
    R"("smContextStatusUri":)"
    R"("http://amf.5gc/namf-callback/v1/sm-context-status/imsi-001010000000001/1",)"
    R"("pcfId":"0d6e2c1b-90f0-41ed-9d5b-2d5a0a6d7c11","epsInterworkingInd":"NONE","extended":")";
constexpr std::string_view kCreatedData =
    R"({"hSmfUri":"http://smf.5gc/nsmf-pdusession/v1/pdu-sessions/1","pduSessionId":1,)"
    R"("sNssai":{"sst":1,"sd":"000001"},"upCnxState":"ACTIVATING",)"
    R"("n2SmInfoType":"PDU_RES_SETUP_REQ","allocatedEbiList":[],"extended":")";
constexpr std::string_view kEnd = R"("})";

/// Fills the last field, so that the document is valid JSON of this length.
std::string padded(std::string_view document, std::size_t octets) {
    const std::size_t least = document.size() + kEnd.size();
    std::string text(document);
    text.append(octets > least ? octets - least : 0, '0');
    return text.append(kEnd);
}

}  // namespace

std::string create_data(std::size_t octets) { return padded(kCreateData, octets); }

std::string created_data() { return padded(kCreatedData, kAnswerOctets); }

std::string correlation(std::uint64_t number) {
    std::array<char, 32> text{};
    const auto digits = static_cast<unsigned long long>(number % 10'000'000'000);
    std::snprintf(text.data(), text.size(), "imsi-00101%010llu", digits);
    return text.data();
}

std::optional<Nanoseconds> read_number(std::string_view text) {
    Nanoseconds number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) return {};
    return number;
}

std::vector<Nanoseconds> read_one_way(std::string_view text) {
    std::vector<Nanoseconds> ways;
    for (;;) {
        const auto comma = text.find(',');
        const auto number = read_number(text.substr(0, comma));
        if (!number) return {};
        ways.push_back(*number);
        if (comma == std::string_view::npos) return ways;
        text.remove_prefix(comma + 1);
    }
}

std::string one_way_since(std::string_view sent, Nanoseconds received) {
    const auto number = read_number(sent);
    return number ? std::to_string(std::max<Nanoseconds>(received - *number, 0)) : std::string();
}

}  // namespace mesh
