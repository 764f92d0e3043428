#include "harness/arguments.hpp"

#include <charconv>
#include <cmath>

namespace peers {

Arguments::Arguments(int argc, char** argv) : words_(argv + 1, argv + argc) {}

bool Arguments::next() {
    if (has_inline_value_) throw UsageError(name_ + " takes no value");
    if (position_ == words_.size()) return false;
    name_ = words_[position_++];
    if (!name_.starts_with("--")) {
        throw UsageError("unexpected '" + name_ + "'; options begin with --, see --help");
    }
    if (const auto equals = name_.find('='); equals != std::string::npos) {
        inline_value_ = name_.substr(equals + 1);
        name_.resize(equals);
        has_inline_value_ = true;
    }
    return true;
}

std::string Arguments::value() {
    if (has_inline_value_) {
        has_inline_value_ = false;
        return inline_value_;
    }
    if (position_ == words_.size()) throw UsageError(name_ + " needs a value, see --help");
    return words_[position_++];
}

std::uint64_t Arguments::whole_number(std::uint64_t least, std::uint64_t most) {
    const std::string text = value();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < least ||
        number > most) {
        throw UsageError(name_ + " must be a whole number from " + std::to_string(least) + " to " +
                         std::to_string(most) + ", not '" + text + "'");
    }
    return number;
}

double Arguments::positive_number(bool zero_allowed) {
    const std::string text = value();
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number) ||
        number < 0 || (number == 0 && !zero_allowed)) {
        throw UsageError(name_ + " must be a number " +
                         (zero_allowed ? "not below zero" : "above zero") + ", not '" + text + "'");
    }
    return number;
}

void Arguments::unknown() const { throw UsageError("unknown option " + name_ + ", see --help"); }

}  // namespace peers
