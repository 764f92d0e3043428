// The messages: SM-Context-Create as TS 29.502 writes it, of the size that is measured, and the
// headers that carry timestamps. The same as in crates/smf.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/clock.hpp"

namespace mesh {

using peers::Nanoseconds;

inline constexpr std::string_view kPath = "/nsmf-pdusession/v1/sm-contexts";
/// When the request was sent, nanoseconds of the machine's monotonic clock.
inline constexpr const char* kSent = "x-sent-ns";
/// How long it was on its way.
inline constexpr const char* kOneWay = "x-one-way-ns";
inline constexpr const char* kCorrelation = "3gpp-sbi-correlation-info";
inline constexpr std::size_t kAnswerOctets = 256;

/// A request document of so many octets, as nearly as its fields allow.
std::string create_data(std::size_t octets);
/// The answer document.
std::string created_data();
/// Who asks.
std::string correlation(std::uint64_t number);

/// Nothing when it is no number.
std::optional<Nanoseconds> read_number(std::string_view text);
/// A number a hop; empty when something else stands there.
std::vector<Nanoseconds> read_one_way(std::string_view text);

/// What a replica answers to a request that it received now.
std::string one_way_since(std::string_view sent, Nanoseconds received);

}  // namespace mesh
