// The loop of lookup.hpp, over a class that looks up one vector:
//     Way(values)              loads the table
//     width                    bytes in a vector: 64 or a divisor of it
//     of(src)                  the results for the vector at src
//     store(dst, result)
#pragma once

#include <cstdint>

#include "layers/lookup/lookup.hpp"

namespace dynquant::lookup {
namespace {

inline void look_up_each(const table &values, const std::uint8_t *src, std::uint8_t *dst, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        dst[i] = values[src[i]];
}

/// Aligned stores in the middle, and one unaligned vector at each end that overlaps them. The ends are looked up before
/// the first store and stored last, so that dst may be src.
template <typename Way>
void look_up_by(const table &values, const std::uint8_t *src, std::uint8_t *dst, std::int64_t count) {
    constexpr std::int64_t width = Way::width;
    if (count < width) return look_up_each(values, src, dst, count);
    const Way way(values);
    const auto last = count - width;
    const auto front = way.of(src), back = way.of(src + last);
    const auto to_aligned = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(dst) % width);
    for (auto i = to_aligned; i < last; i += width)
        way.store(dst + i, way.of(src + i));
    way.store(dst, front);
    way.store(dst + last, back);
}

} // namespace
} // namespace dynquant::lookup
