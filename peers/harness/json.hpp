// As much JSON as the programs print: one object a line.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace peers {

/// Builds one JSON object, its members in the order they are added.
class JsonObject {
  public:
    JsonObject& add(std::string_view key, std::string_view text);
    JsonObject& add(std::string_view key, const char* text) {
        return add(key, std::string_view(text));
    }
    JsonObject& add(std::string_view key, double number);
    JsonObject& add(std::string_view key, std::same_as<bool> auto truth) {
        return add_raw(key, truth ? "true" : "false");
    }
    template <std::integral Integer>
    requires(!std::same_as<Integer, bool>) JsonObject& add(std::string_view key, Integer number) {
        return add_raw(key, std::to_string(number));
    }
    JsonObject& add(std::string_view key, const JsonObject& object) {
        return add_raw(key, object.text());
    }
    JsonObject& add_null(std::string_view key) { return add_raw(key, "null"); }
    /// `json` is already JSON.
    JsonObject& add_raw(std::string_view key, std::string_view json);

    [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

  private:
    std::string members_;
};

/// A quoted, escaped JSON string. Bytes that are not UTF-8 become '?', so that a strange error
/// text cannot spoil the line.
std::string json_quote(std::string_view text);

/// Writes the object as one line on standard output, at once.
void emit(const JsonObject& object);

}  // namespace peers
