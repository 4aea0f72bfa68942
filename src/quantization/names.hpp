// Names of the public enumerators, and messages for values that are no enumerator.
#pragma once

#include <functional>
#include <optional>

#include "quantization/text.hpp"

namespace dynquant {

/// Null for a value that is no enumerator.
const char *find_name(data_type type);
const char *find_name(direction dir);
const char *find_name(numerics rule);
const char *find_name(precision value);
const char *find_name(kernel_kind kind);
const char *find_name(isa value);
const char *find_name(scale_range value);
const char *find_name(scale_rounding value);
const char *find_name(scale_quotient value);
const char *find_name(nonfinite value);

/// "f32"; "number 99" for a value that is no enumerator.
template <typename Enum>
std::string name_or_number(Enum value) {
    const char *name = find_name(value);
    return name ? name : concat("number ", static_cast<int>(value));
}

/// The names of an enumeration, whose enumerators count from 0.
template <typename Enum>
std::vector<std::string> all_names() {
    std::vector<std::string> names;
    for (int i = 0; const char *name = find_name(static_cast<Enum>(i)); ++i)
        names.emplace_back(name);
    return names;
}

/// "direction: expected quantize or dequantize, given number 7", or nothing for an enumerator.
template <typename Enum>
std::optional<std::string> wrong_enumerator(const char *where, Enum value) {
    if (find_name(value)) return std::nullopt;
    return concat(where, ": expected ", alternatives(all_names<Enum>(), std::identity {}), ", given number ",
            static_cast<int>(value));
}

} // namespace dynquant
