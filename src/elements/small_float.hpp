// Floats of 16 bits and fewer: their bits, and exact conversions from and to f32 in integer arithmetic, so that no
// control word matters.
//
// f16 and bf16: IEEE 754-2019, bf16 as a binary format of 8 exponent bits and 7 of fraction. f8_e4m3 and f8_e5m2: OCP
// 8-bit Floating Point Specification (OFP8), revision 1.0. Its non-saturating mode is oneDNN's: e4m3 overflows to NaN
// and e5m2 to infinity. But oneDNN's reference code (src/common/float8.cpp) rounds twice, to f16 first. FNUZ: ONNX,
// "Float stored in 8 bits"; how they overflow: the tables of Cast-24. f4, f6 and e8m0: OCP Microscaling Formats (MX),
// version 1.0; NaN to f4: ONNX, "Float stored in 4 bits", whose rule is also used for f6, which no document covers.
//
// Always inlined and without the standard library's functions, as files compiled for one instruction set include it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "elements/table.hpp"

namespace dynquant {

/// From the highest bit down: the sign, the exponent, the fraction.
template <typename Bits, int exponent_bits, int fraction_bits_, specials special>
struct small_float {
    static constexpr bool has_infinity = special == specials::infinity_and_nan;
    static constexpr bool has_minus_0 = special != specials::nan_for_minus_0, has_nan = special != specials::none;
    static constexpr int fraction_bits = fraction_bits_, bias = (1 << (exponent_bits - 1)) - (has_minus_0 ? 1 : 0);
    // Bits without the sign. The number after `highest` is infinity, or NaN in formats without infinity.
    static constexpr std::uint32_t sign_bit = 1U << (exponent_bits + fraction_bits);
    static constexpr std::uint32_t infinity = ((1U << exponent_bits) - 1) << fraction_bits;
    static constexpr std::uint32_t highest =
            has_infinity ? infinity - 1 : sign_bit - (special == specials::nan ? 2 : 1);
    /// The result for NaN.
    static constexpr std::uint32_t quiet_nan =
            has_infinity ? infinity | 1U << (fraction_bits - 1) : highest + (has_nan ? 1 : 0);

    Bits bits;

    /// Rounds to nearest, ties to even. Overflow gives infinity, or NaN in formats without infinity; the highest number
    /// if it saturates or the format has neither.
    template <bool saturates = !has_nan>
    [[gnu::always_inline]] static constexpr small_float from(float value) {
        const auto all = __builtin_bit_cast(std::uint32_t, value);
        const auto sign = static_cast<std::uint32_t>(all >> 31) << (exponent_bits + fraction_bits);
        const auto magnitude = magnitude_of<saturates>(all & 0x7fffffff);
        if (!has_minus_0 && (magnitude == 0 || magnitude == quiet_nan)) return {static_cast<Bits>(magnitude)};
        if (!has_nan && value != value) return {static_cast<Bits>(magnitude)};
        return {static_cast<Bits>(sign | magnitude)};
    }

    [[gnu::always_inline]] constexpr float value() const {
        if (!has_minus_0 && bits == sign_bit) return __builtin_nanf("");
        const std::uint32_t magnitude = bits & (sign_bit - 1);
        const auto sign = (bits & sign_bit) != 0 ? 0x80000000U : 0;
        return __builtin_bit_cast(float, sign | widened(magnitude));
    }

  private:
    static constexpr int rebias = 127 - bias, dropped = 23 - fraction_bits;
    static constexpr std::uint32_t float_infinity = 0x7f800000, implicit = 1U << 23;

    /// Rounds a float without its sign.
    template <bool saturates>
    [[gnu::always_inline]] static constexpr std::uint32_t magnitude_of(std::uint32_t given) {
        if (given > float_infinity) return quiet_nan;
        // Below the least normal number, 2^(1 - bias), more bits of the significand are dropped. Dropping 25, one more
        // than it has, rounds to 0.
        const int exponent = given >= implicit ? static_cast<int>(given >> 23) : 1, least = rebias + 1;
        const auto significand = (given & (implicit - 1)) | (given >= implicit ? implicit : 0);
        const int below = least > exponent ? least - exponent : 0, above = exponent - least + below;
        const int drop = dropped + below < 25 ? dropped + below : 25;
        const auto last_kept = significand >> drop & 1, just_below_half = (1U << (drop - 1)) - 1;
        const auto rounded = (significand + just_below_half + last_kept) >> drop;
        // The implicit bit of a normal number adds 1 to the exponent.
        const auto result = rounded + (static_cast<std::uint32_t>(above) << fraction_bits);
        if (result <= highest) return result;
        if (saturates) return highest;
        return has_infinity ? infinity : quiet_nan;
    }

    /// The bits of the float with that magnitude.
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

/// An exponent alone: 2^(bits - 127), or NaN if all bits are set.
struct float8_e8m0 {
    std::uint8_t bits;

    /// Rounds the magnitude down to a power of two, but at least to 2^-127; infinity and NaN give NaN.
    [[gnu::always_inline]] static constexpr float8_e8m0 from(float value) {
        return {static_cast<std::uint8_t>(__builtin_bit_cast(std::uint32_t, value) >> 23)};
    }

    [[gnu::always_inline]] constexpr float value() const {
        constexpr std::uint32_t least = 0x00400000; // 2^-127 is subnormal
        if (bits == 0xff) return __builtin_nanf("");
        return __builtin_bit_cast(float, bits == 0 ? least : static_cast<std::uint32_t>(bits) << 23);
    }
};

/// The float of a data type of 16 bits or fewer.
template <data_type type>
using float_of = std::conditional_t<traits(type).is_signed,
        small_float<std::conditional_t<(traits(type).bits > 8), std::uint16_t, std::uint8_t>,
                traits(type).exponent_bits, traits(type).fraction_bits, traits(type).special>,
        float8_e8m0>;

static_assert(all_of_types([]<data_type type>() {
    constexpr auto &t = traits(type);
    if constexpr (t.integral || t.bits > 16)
        return true;
    else if constexpr (t.is_signed)
        return float_of<type>::bias == t.bias && float_of<type> {float_of<type>::highest}.value() == t.highest;
    else
        return float_of<type>::from(static_cast<float>(t.lowest)).value() == t.lowest
                && float_of<type>::from(static_cast<float>(t.highest)).value() == t.highest;
}));

using float16 = float_of<data_type::f16>;
using bfloat16 = float_of<data_type::bf16>;
using float8_e4m3 = float_of<data_type::f8_e4m3>;

} // namespace dynquant
