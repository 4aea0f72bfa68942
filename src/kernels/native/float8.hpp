// 8-bit floats from and to f32, one by one and without branches or variable shifts, which compilers make vectors of
// for every instruction set; small_float.hpp says what they mean.
#pragma once

#include <cstdint>

#include "quantization/small_float.hpp"

namespace dynquant::kernels::native {
namespace {

/// For code without branches: all ones where a < b, of numbers below 2^31, else zero.
inline std::int32_t mask_less(std::int32_t a, std::int32_t b) {
    return (a - b) >> 31;
}
inline std::int32_t select(std::int32_t mask, std::int32_t a, std::int32_t b) {
    return (a & mask) | (b & ~mask);
}

template <typename Float8>
struct float8_conversion {
    static constexpr int dropped = 23 - Float8::fraction_bits, rebias = 127 - Float8::bias;
    static constexpr std::int32_t highest = Float8::highest, after_highest = highest + 1;
    static constexpr std::int32_t float_infinity = 0x7f800000, implicit = 1 << 23, rebased = rebias * implicit,
                                  least_normal = rebased + implicit;

    /// Round to nearest, ties to even, under the mode that the caller has set.
    static std::uint8_t narrow(float value) {
        const auto all = __builtin_bit_cast(std::uint32_t, value);
        const auto given = static_cast<std::int32_t>(all & 0x7fffffff);
        // What lies above the highest number is infinity or NaN, whichever comes next.
        const auto odd = given >> dropped & 1, just_below_half = (1 << (dropped - 1)) - 1;
        const auto rounded = (given - rebased + just_below_half + odd) >> dropped;
        const auto normal = rounded < after_highest ? rounded : after_highest;
        // A float whose last bit counts the least subnormal: adding it rounds to that, and leaves it in the last bits.
        constexpr auto counter = __builtin_bit_cast(float, least_normal + dropped * implicit);
        const auto subnormal = __builtin_bit_cast(std::int32_t, __builtin_bit_cast(float, given) + counter);
        const auto nan = mask_less(float_infinity, given) & std::int32_t {Float8::quiet_nan};
        const auto magnitude = select(mask_less(given, least_normal), subnormal, normal) | nan;
        return static_cast<std::uint8_t>((magnitude & 0x7f) | (all >> 24 & 0x80));
    }
};

// Out of line and without aliases, so that compilers see the loop alone, and make vectors of it.

template <typename Float8>
[[gnu::noinline]] void narrow_float8(const float *__restrict from, std::int64_t count, std::uint8_t *__restrict to) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = float8_conversion<Float8>::narrow(from[i]);
}

} // namespace
} // namespace dynquant::kernels::native
