// Converts floats of 8 bits and fewer from and to f32, a vector at a time, without branches. small_float.hpp defines
// the encodings.
#pragma once

#include <cstdint>
#include <type_traits>

#include "elements/small_float.hpp"
#include "kernels/native/microkernel.hpp"

namespace dynquant::kernels::native {
namespace {

/// Converts zero-extended bits to f32.
template <typename V, typename Float>
typename V::reals widened(typename V::integers bits) {
    constexpr std::int32_t implicit = 1 << 23, rebased = (127 - Float::bias) * implicit, infinity = 0x7f800000;
    constexpr auto min_normal = __builtin_bit_cast(float, rebased + implicit);
    constexpr int dropped = 23 - Float::fraction_bits, to_sign = __builtin_clz(Float::sign_bit);
    const auto magnitude = V::bit_and(bits, V::splat(std::int32_t {Float::sign_bit - 1}));
    const auto normal = V::add(V::template shift_left<dropped>(magnitude), V::splat(rebased));
    // A subnormal number of Float is normal in f32: add an implicit bit, then subtract its value.
    const auto normalized = V::as_reals(V::add(normal, V::splat(implicit))) - V::splat(min_normal);
    auto value = V::select_less(
            magnitude, V::splat(std::int32_t {1 << Float::fraction_bits}), V::as_integers(normalized), normal);
    if constexpr (Float::has_nan && Float::has_minus_0)
        value = V::select_less(V::splat(std::int32_t {Float::highest}), magnitude,
                V::bit_or(normal, V::splat(infinity)), value); // infinity with a fraction is NaN
    const auto sign = V::bit_and(V::template shift_left<to_sign>(bits), V::splat(INT32_MIN));
    value = V::bit_or(value, sign);
    if constexpr (!Float::has_minus_0)
        value = V::select_less(value, V::splat(INT32_MIN + 1), V::splat(infinity + 1), value);
    return V::as_reals(value);
}

/// Converts zero-extended bits of f8_e8m0 to f32. 2^-127 is subnormal there.
template <typename V>
typename V::reals power_of_two(typename V::integers bits) {
    constexpr std::int32_t least = 0x00400000, nan = 0x7fc00000;
    const auto value =
            V::select_less(bits, V::splat(std::int32_t {1}), V::splat(least), V::template shift_left<23>(bits));
    return V::as_reals(V::select_less(V::splat(std::int32_t {254}), bits, V::splat(nan), value));
}

template <typename Float>
constexpr rounding_table units_of = [] {
    static_assert(Float::bias <= 16, "expected at most 5 bits of exponent, which index `unit` and `base`");
    constexpr int dropped = 23 - Float::fraction_bits, implicit = 1 << 23, least = 127 - Float::bias + 1;
    rounding_table units = {};
    units.min_normal = __builtin_bit_cast(float, least << 23);
    units.to_unit = __builtin_bit_cast(float, (127 + dropped) * implicit);
    units.dropped = dropped;
    units.offset = ((least + dropped) * implicit) >> dropped;
    for (int exponent = least; exponent < least + 32; ++exponent) { // all exponents of the type, and the bound's
        const int unit = (exponent + dropped) * implicit;
        units.unit[exponent % 32] = __builtin_bit_cast(float, unit);
        units.base[exponent % 32] = unit - (unit >> dropped) + units.offset;
    }
    return units;
}();

template <typename V>
struct unit_and_base {
    typename V::reals unit;
    typename V::integers base;
};

/// Magnitudes beyond the highest number become that if `saturates`, else the next code, infinity or NaN.
template <typename Float>
constexpr small_float_encoding small_float_encoding_of(bool saturates) {
    constexpr int dropped = 23 - Float::fraction_bits, rebased = (127 - Float::bias) << 23;
    constexpr std::int32_t highest = Float::highest;
    const std::int32_t beyond = saturates ? highest : highest + 1;
    small_float_encoding encoding = {};
    encoding.bound = __builtin_bit_cast(float, (beyond << dropped) + rebased);
    encoding.units = &units_of<Float>;
    encoding.nan = std::uint8_t {Float::quiet_nan};
    encoding.signless = Float::has_minus_0 ? -1 : 0;
    encoding.sign_shift = __builtin_clz(Float::sign_bit) - 24;
    encoding.limit = static_cast<std::uint8_t>(beyond);
    return encoding;
}

/// Computes unit and base. For NaN the unit is infinite and the base far below the sum's bits.
template <typename V>
struct computed_units {
    typename V::reals min_normal, to_unit;
    typename V::integers dropped, offset;

    explicit computed_units(const rounding_table &from)
        : min_normal(V::splat(from.min_normal))
        , to_unit(V::splat(from.to_unit))
        , dropped(V::splat(from.dropped))
        , offset(V::splat(from.offset)) {}

    [[gnu::always_inline]] unit_and_base<V> of(typename V::reals magnitude) const {
        constexpr std::int32_t infinity = 0x7f800000;
        const auto power = V::as_reals(V::bit_and(V::as_integers(magnitude), V::splat(infinity)));
        const auto unit = V::max(min_normal, power) * to_unit;
        const auto bits = V::as_integers(unit);
        return {unit, V::add(V::subtract(bits, V::shift_right(bits, dropped)), offset)};
    }
};

/// Looks unit and base up in registers. NaN gets those of some number; the base is far below the sum's bits.
template <typename V>
struct tabled_units {
    typename V::reals min_normal;
    typename V::real_table units;
    typename V::integer_table bases;

    explicit tabled_units(const rounding_table &from)
        : min_normal(V::splat(from.min_normal))
        , units(V::table_of_32(from.unit))
        , bases(V::table_of_32(from.base)) {}

    [[gnu::always_inline]] unit_and_base<V> of(typename V::reals magnitude) const {
        const auto exponent = V::template shift_right<23>(V::as_integers(V::max(min_normal, magnitude)));
        return {V::look_up_32(units, exponent), V::look_up_32(bases, exponent)};
    }
};

/// Converts magnitudes to codes. The encoding is data, so that one loop serves all types.
template <typename V>
class narrowing {
  public:
    explicit narrowing(const small_float_encoding &encoding)
        : bound_(V::splat(encoding.bound))
        , units_(*encoding.units) {}

    typename V::reals bounded(typename V::reals magnitude) const { return V::min(bound_, magnitude); }

    /// The code of a magnitude within the bound, rounded to nearest even; the caller has set that rounding mode. NaN
    /// gives a code beyond 8 bits. The last bits of the sum are the fraction and the implicit bit, which adds 1 to the
    /// exponent. Below the least normal number the unit stays the same, and there is no implicit bit.
    [[gnu::always_inline]] typename V::integers code(typename V::reals magnitude) const {
        const auto [unit, base] = units_.of(magnitude);
        return V::subtract(V::as_integers(magnitude + unit), base);
    }

    /// The magnitude rounded as its code is.
    [[gnu::always_inline]] typename V::reals rounded(typename V::reals magnitude) const {
        const auto unit = units_.of(magnitude).unit;
        return magnitude + unit - unit;
    }

  private:
    typename V::reals bound_;
    std::conditional_t<V::has_tables_of_32, tabled_units<V>, computed_units<V>> units_;
};

/// Joins the codes and signs of four vectors to bytes. Bounded: the magnitudes are finite, their codes have 8 bits at
/// most, and there is a -0.
template <typename V, bool Bounded, bool InPairs>
[[gnu::always_inline]] inline typename V::integers to_codes(
        const typename V::integers (&codes)[4], const typename V::reals (&signs)[4], const small_float_encoding &f) {
    if constexpr (V::lanes == 1) {
        std::uint8_t bytes[4];
        for (int k = 0; k < 4; ++k) {
            const auto given = static_cast<std::uint8_t>(V::min(codes[k], 255));
            const bool has_sign = static_cast<std::int8_t>(given) > f.signless && V::as_integers(signs[k]) < 0;
            bytes[k] = static_cast<std::uint8_t>(V::min(given, f.nan) | (has_sign ? 0x80 >> f.sign_shift : 0));
        }
        return __builtin_bit_cast(typename V::integers, bytes);
    } else {
        const auto words = [](auto a, auto b) { return V::words(V::as_integers(a), V::as_integers(b)); };
        const auto given = V::template bytes<std::uint8_t>(V::words(codes[0], codes[1]), V::words(codes[2], codes[3]));
        const auto sign_bytes = V::template bytes<std::int8_t>(words(signs[0], signs[1]), words(signs[2], signs[3]));
        auto sign = V::bit_and(V::shift_words_right(sign_bytes, f.sign_shift), V::splat_bytes(0x80 >> f.sign_shift));
        if (!Bounded) sign = V::select_greater_bytes(given, V::splat_bytes(f.signless), sign);
        const auto code = V::min_bytes(given, V::splat_bytes(Bounded ? f.limit : f.nan));
        return V::template in_order<InPairs>(V::bit_or(code, sign));
    }
}

// Loads: integers as V::integers, floats as V::reals.

template <typename V, typename T>
auto load(const T *p) {
    return V::load(p);
}
template <typename V, int exponent_bits, int fraction_bits, specials special>
auto load(const small_float<std::uint8_t, exponent_bits, fraction_bits, special> *p) {
    using type = small_float<std::uint8_t, exponent_bits, fraction_bits, special>;
    if constexpr (V::lanes > 1 && exponent_bits == 5 && fraction_bits == 2 && type::has_infinity) {
        return V::load_as_upper_byte(&p->bits);
    } else if constexpr (V::lanes > 1 && exponent_bits == 4 && fraction_bits == 3) {
        // An f16 of the same number except for the bias. Subnormals become normal in f32.
        constexpr auto rebiased = __builtin_bit_cast(float, (127 + 15 - type::bias) << 23);
        const auto value = V::load_as_small_float16(&p->bits) * V::splat(rebiased);
        const auto bits = V::as_integers(value);
        constexpr std::int32_t nan = 0x7fc00000,
                               highest = (type::highest << (23 - fraction_bits)) + ((127 - type::bias) << 23);
        if constexpr (type::has_minus_0)
            return V::as_reals(
                    V::select_less(V::splat(highest), V::bit_and(bits, V::splat(INT32_MAX)), V::splat(nan), bits));
        else
            return V::as_reals(V::select_less(bits, V::splat(INT32_MIN + 1), V::splat(nan), bits));
    } else {
        return widened<V, type>(V::load(&p->bits));
    }
}

template <typename V>
auto load(const float8_e8m0 *p) {
    return power_of_two<V>(V::load(&p->bits));
}

template <typename V, typename T>
auto load_partial(const T *p, std::int64_t count) {
    return V::load_partial(p, count);
}
template <typename V, int exponent_bits, int fraction_bits, specials special>
auto load_partial(const small_float<std::uint8_t, exponent_bits, fraction_bits, special> *p, std::int64_t count) {
    return widened<V, small_float<std::uint8_t, exponent_bits, fraction_bits, special>>(
            V::load_partial(&p->bits, count));
}
template <typename V>
auto load_partial(const float8_e8m0 *p, std::int64_t count) {
    return power_of_two<V>(V::load_partial(&p->bits, count));
}

} // namespace
} // namespace dynquant::kernels::native
