// Floats of 16 and 8 bits: their bits, and exact conversions from and to f32 in integer arithmetic, so that no
// control word matters.
//
// f16 and bf16: IEEE 754-2019, bf16 as a binary format of 8 exponent bits and 7 of fraction. 8-bit floats: OCP
// 8-bit Floating Point Specification (OFP8), revision 1.0, in its non-saturating mode, as oneDNN: e4m3 overflows to
// NaN and e5m2 to infinity. But oneDNN's reference code (src/common/float8.cpp) rounds twice, to f16 first.
//
// Always inlined and without the standard library: code compiled for one instruction set uses it too.
#pragma once

#include <cstdint>

namespace dynquant {

/// A sign, the exponent and the fraction. The greatest exponent is for infinity and NaN, but in e4m3, where of its
/// numbers one alone is NaN.
template <typename Bits, int exponent_bits, int fraction_bits_, bool has_infinity_>
struct small_float {
    static constexpr int fraction_bits = fraction_bits_, bias = (1 << (exponent_bits - 1)) - 1;
    static constexpr bool has_infinity = has_infinity_;
    // Without their sign; what comes after the highest number is infinity, or NaN if there is none.
    static constexpr std::uint32_t sign_bit = 1U << (exponent_bits + fraction_bits);
    static constexpr std::uint32_t infinity = ((1U << exponent_bits) - 1) << fraction_bits;
    static constexpr std::uint32_t highest = has_infinity ? infinity - 1 : sign_bit - 2;
    static constexpr std::uint32_t quiet_nan = has_infinity ? infinity | 1U << (fraction_bits - 1) : sign_bit - 1;

    Bits bits;

    /// Round to nearest, ties to even.
    [[gnu::always_inline]] static constexpr small_float from(float value) {
        const auto all = __builtin_bit_cast(std::uint32_t, value);
        const auto sign = static_cast<std::uint32_t>(all >> 31) << (exponent_bits + fraction_bits);
        return {static_cast<Bits>(sign | magnitude_of(all & 0x7fffffff))};
    }

    [[gnu::always_inline]] constexpr float value() const {
        const std::uint32_t magnitude = bits & (sign_bit - 1);
        const auto sign = (bits & sign_bit) != 0 ? 0x80000000U : 0;
        return __builtin_bit_cast(float, sign | widened(magnitude));
    }

  private:
    static constexpr int rebias = 127 - bias, dropped = 23 - fraction_bits;
    static constexpr std::uint32_t float_infinity = 0x7f800000, implicit = 1U << 23;

    /// Of a float without its sign.
    [[gnu::always_inline]] static constexpr std::uint32_t magnitude_of(std::uint32_t given) {
        if (given > float_infinity) return quiet_nan;
        // Below the least normal number, 2^(1 - bias), more bits of the significand are dropped: up to all of them
        // and one, where what is left is no half.
        const int exponent = given >= implicit ? static_cast<int>(given >> 23) : 1, least = rebias + 1;
        const auto significand = (given & (implicit - 1)) | (given >= implicit ? implicit : 0);
        const int below = least > exponent ? least - exponent : 0, above = exponent - least + below;
        const int drop = dropped + below < 25 ? dropped + below : 25;
        const auto last_kept = significand >> drop & 1, just_below_half = (1U << (drop - 1)) - 1;
        const auto rounded = (significand + just_below_half + last_kept) >> drop;
        // Its implicit bit, if it has one, is the last of the exponent.
        const auto result = rounded + (static_cast<std::uint32_t>(above) << fraction_bits);
        if (result <= highest) return result;
        return has_infinity ? infinity : quiet_nan;
    }

    /// As the bits of a float.
    [[gnu::always_inline]] static constexpr std::uint32_t widened(std::uint32_t magnitude) {
        if (magnitude > highest) return has_infinity && magnitude == infinity ? float_infinity : 0x7fc00000;
        if (rebias == 0 || magnitude >> fraction_bits != 0)
            return (magnitude << dropped) + (static_cast<std::uint32_t>(rebias) << 23);
        if (magnitude == 0) return 0;
        // Subnormal here, normal there: its highest bit becomes the implicit one.
        const int shift = __builtin_clz(magnitude) - 8;
        const auto exponent = static_cast<std::uint32_t>(rebias + 1 + dropped - shift);
        return (exponent << 23) + ((magnitude << shift) & (implicit - 1));
    }
};

using float16 = small_float<std::uint16_t, 5, 10, true>;
using bfloat16 = small_float<std::uint16_t, 8, 7, true>;
using float8_e4m3 = small_float<std::uint8_t, 4, 3, false>;
using float8_e5m2 = small_float<std::uint8_t, 5, 2, true>;

} // namespace dynquant
