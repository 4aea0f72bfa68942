// The loop of lookup.hpp, over a class that looks up one vector:
//     Lookup(values)           loads the table
//     width                    bytes in a vector: 64 or a divisor of it
//     look_up(src)             the results for the vector at src
//     store(dst, result)
#pragma once

#include <cstdint>

#include "layers/epilogue/lookup/lookup.hpp"

namespace dynquant::lookup {
namespace {

inline void look_up_each(const table &values, const std::uint8_t *src, std::uint8_t *dst, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        dst[i] = values[src[i]];
}

/// Aligned stores in the middle, and one unaligned vector at each end that overlaps them. The ends are looked up before
/// the first store and stored last, so that dst may be src.
template <typename Lookup>
void look_up_by(const table &values, const std::uint8_t *src, std::uint8_t *dst, std::int64_t count) {
    constexpr std::int64_t width = Lookup::width;
    if (count < width) return look_up_each(values, src, dst, count);
    const Lookup lookup(values);
    const auto last = count - width;
    const auto first_result = lookup.look_up(src), last_result = lookup.look_up(src + last);
    const auto to_aligned = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(dst) % width);
    for (auto i = to_aligned; i < last; i += width)
        lookup.store(dst + i, lookup.look_up(src + i));
    lookup.store(dst, first_result);
    lookup.store(dst + last, last_result);
}

} // namespace
} // namespace dynquant::lookup
