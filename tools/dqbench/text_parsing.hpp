// Reading numbers and lists out of option values. Nothing is guessed: what is left over, does not fit or
// is empty is an error that says what was expected and what was given.
#pragma once

#include <cstdint>
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

/// The whole text as a finite number within [least, most].
double parse_number(std::string_view text, double least, double most);

/// 8x64x56x56, or `scalar` for none.
dynquant::dims parse_dims(std::string_view text);

} // namespace dqbench
