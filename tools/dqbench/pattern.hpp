// Regular expressions that the user gives.
#pragma once

#include <regex>
#include <string>

namespace dqbench {

/// A POSIX extended regular expression. Throws usage_error, without the option's name, unless it is one of at most 1000
/// characters, with numbers of at most nine digits.
std::regex parse_pattern(const std::string &text);

} // namespace dqbench
