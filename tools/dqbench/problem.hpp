// A problem: the dims of the tensors, and perhaps a name.
#pragma once

#include <string>
#include <string_view>

#include "dynquant/quantization.hpp"

namespace dqbench {

struct problem {
    dynquant::dims extents;
    std::string name;

    bool operator==(const problem &) const = default;
};

/// 8x64x56x56, scalar, or either with a name: 8x64x56x56n"resnet:conv1". A shell takes the quotes
/// away, so they may be left out. Throws usage_error.
problem parse_problem(std::string_view text);

/// One that a problem's name may have.
bool is_name_character(char c);

/// What parse_problem reads back.
std::string to_string(const problem &p);

} // namespace dqbench
