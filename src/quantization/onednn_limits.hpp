// What oneDNN cannot count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace dynquant {

/// oneDNN keeps extents in int64_t, and much of its code in int: a product of 2^32 rows divides by zero.
inline bool fits_int(std::span<const std::int64_t> extents) {
    return std::ranges::all_of(extents, [](std::int64_t extent) { return extent <= std::numeric_limits<int>::max(); });
}

} // namespace dynquant
