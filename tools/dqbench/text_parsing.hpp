// Reading numbers and lists out of option values. Nothing is guessed: what is left over, does not fit or
// is empty is an error that says what was expected and what was given.
#pragma once

#include <charconv>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "dynquant/quantization.hpp"

namespace dqbench {

/// Something that the user wrote and that cannot be understood.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The parts between separators; "a,,b" has three, "" has one.
std::vector<std::string> split(std::string_view text, char separator);

/// The whole text as an integer within [least, most].
std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most);

/// The whole text as an id, any integer of 64 bits from 0 on.
std::uint64_t parse_id(std::string_view text);

/// The whole text as a finite number within [least, most].
double parse_number(std::string_view text, double least, double most);

/// The fewest digits that are read back as the same value.
template <typename Number>
std::string to_shortest(Number value) {
    char text[32];
    return {text, std::to_chars(std::begin(text), std::end(text), value).ptr};
}

/// The whole text as a finite f32, rounded once.
float parse_f32(std::string_view text);

/// 8x64x56x56, or `scalar` for none.
dynquant::dims parse_dims(std::string_view text);

} // namespace dqbench
