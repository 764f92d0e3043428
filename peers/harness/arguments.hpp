// Command-line reading shared by both programs: "--name value" or "--name=value".
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace peers {

/// What the user typed makes no sense; the text says what and what to do. Exit status 2.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Walks over the options. `for (Arguments a(argc, argv); a.next();) if (a.is("--x")) ...`
class Arguments {
  public:
    Arguments(int argc, char** argv);

    /// Moves to the next option. Throws UsageError for a word that is no option.
    bool next();
    [[nodiscard]] bool is(std::string_view name) const noexcept { return name_ == name; }

    /// The value of the current option; the readers below throw UsageError when it is missing,
    /// malformed or out of range.
    std::string value();
    std::uint64_t whole_number(std::uint64_t least, std::uint64_t most);
    double positive_number(bool zero_allowed);

    /// Throws UsageError: no such option.
    [[noreturn]] void unknown() const;

  private:
    std::vector<std::string> words_;
    std::size_t position_ = 0;
    std::string name_;
    std::string inline_value_;
    bool has_inline_value_ = false;
};

}  // namespace peers
