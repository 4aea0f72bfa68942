// Formatting of error messages and verbose lines.
#pragma once

#include <sstream>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant {

template <typename... Parts>
std::string concat(const Parts &...parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
}

/// 8x64x56x56; a scalar is "scalar".
std::string to_string(const dims &extents);

/// "a", "a or b", "a, b or c": name(item) of each.
template <typename Items, typename Name>
std::string alternatives(const Items &items, Name &&name) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i)
        text += concat(i == 0 ? "" : i + 1 < items.size() ? ", " : " or ", name(items[i]));
    return text;
}

/// "1 input", "2 inputs".
std::string counted(std::size_t count, const std::string &what);

/// Control characters as "\x00": names come from files, and an error's message ends at the first NUL.
std::string printable(const std::string &text);

/// The number of edits that turn a into b (Levenshtein).
std::size_t edit_distance(const std::string &a, const std::string &b);

/// " (did you mean 'per_channel'?)" when one of the candidates is near, else "".
std::string suggest(const std::string &given, const std::vector<std::string> &candidates);

} // namespace dynquant
