// A problem: the dims of the tensors and an optional name.
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

/// Parses 8x64x56x56, scalar, or either with a name: 8x64x56x56n"resnet:conv1", or
/// 8x64x56x56_n"resnet:conv1". The quotes are optional, because a shell removes them. Throws usage_error.
problem parse_problem(std::string_view text);

/// Whether a problem's name may contain c.
bool is_name_character(char c);

/// The problem in parse_problem's syntax.
std::string to_string(const problem &p);

} // namespace dqbench
