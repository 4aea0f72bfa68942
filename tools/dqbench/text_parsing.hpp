// Parses numbers and lists in option values. Text that is empty, too large or followed by anything is an error, which
// says what was expected and what was given.
#pragma once

#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/run.hpp"
#include "dynquant/quantization.hpp"

namespace dqbench {

using command_line::usage_error; // the user's input is invalid

/// The parts between separators; "a,,b" has three, "" has one.
std::vector<std::string> split(std::string_view text, char separator);

/// The whole text as an integer within [least, most].
std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most);

/// The whole text as an id, an unsigned integer of 64 bits.
std::uint64_t parse_id(std::string_view text);

/// The whole text as a finite number within [least, most].
double parse_number(std::string_view text, double least, double most);

/// The shortest decimal text that parses to the same value.
template <typename Number>
std::string to_shortest(Number value) {
    char text[32];
    return {text, std::to_chars(std::begin(text), std::end(text), value).ptr};
}

/// The whole text as a finite f32, rounded once.
float parse_f32(std::string_view text);

/// Parses 8x64x56x56, or `scalar` for rank 0.
dynquant::dims parse_dims(std::string_view text);

} // namespace dqbench
