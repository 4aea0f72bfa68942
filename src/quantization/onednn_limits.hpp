// Limits of oneDNN.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace dynquant {

/// Whether extents fit in int. oneDNN's are int64_t, but much of its code uses int: a matrix product of 2^32 rows
/// divides by zero.
inline bool fits_int(std::span<const std::int64_t> extents) {
    return std::ranges::all_of(extents, [](std::int64_t extent) { return extent <= std::numeric_limits<int>::max(); });
}

} // namespace dynquant
