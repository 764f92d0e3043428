#include "harness/json.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace peers {

std::string json_quote(std::string_view text) {
    std::string out = "\"";
    for (const char raw : text) {
        const auto c = static_cast<unsigned char>(raw);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += raw;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c < 0x20 || c >= 0x7f) {
            out += '?';
        } else {
            out += raw;
        }
    }
    return out + "\"";
}

JsonObject& JsonObject::add(std::string_view key, std::string_view text) {
    return add_raw(key, json_quote(text));
}

JsonObject& JsonObject::add(std::string_view key, double number) {
    if (!std::isfinite(number)) return add_null(key);
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.9g", number);
    return add_raw(key, buffer.data());
}

JsonObject& JsonObject::add_raw(std::string_view key, std::string_view json) {
    if (!members_.empty()) members_ += ',';
    members_ += json_quote(key);
    members_ += ':';
    members_ += json;
    return *this;
}

void emit(const JsonObject& object) {
    const std::string line = object.text() + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
}

}  // namespace peers
