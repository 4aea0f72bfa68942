// Dequantize: (q - zp) * s.
#pragma once

#include "kernels/native/codecs.hpp"
#include "kernels/native/formulas/forms.hpp"

namespace dynquant::kernels::native {
namespace {

/// (q - zp) * s for floats.
template <typename V>
struct float_difference {
    using parameters = fetched_reals;
    static constexpr float no_zero_point = 0.0F;
    typename V::reals zero, scale;
    static float_difference from(auto take) { return {take(take.p.zero_point), take(take.p.scale)}; }
    typename V::reals operator()(typename V::reals q) const { return (q - zero) * scale; }
};

/// A zero point of +0 changes no element.
inline chunk_state prepare_float_differences(std::int64_t count, const parameter_columns &columns) {
    const auto p = columns.as<fetched_reals>();
    std::int32_t bits = 0;
    for (std::int64_t i = 0; i < count; ++i)
        bits |= bits_of(p.zero_point[i]);
    return bits == 0 ? chunk_state::no_zero_points : chunk_state::any_parameters;
}

enum class difference { in_s32, in_33_bits, of_u32 };

/// (q - zp) * s of integers. The difference fits in s32, or not; or q is u32, held less 2^31, and zero points are s32.
template <typename V, difference Which>
struct integer_difference {
    using parameters = fetched_parameters;
    typename V::integers zero_point;
    typename V::reals scale;
    static integer_difference from(auto take) { return {take(take.p.zero_point), take(take.p.scale)}; }
    [[gnu::always_inline]] typename V::reals operator()(typename V::integers q) const {
        if constexpr (Which == difference::in_s32)
            return V::to_reals(V::subtract(q, zero_point)) * scale;
        else if constexpr (Which == difference::in_33_bits)
            return V::subtract_exactly(q, zero_point) * scale;
        else
            return V::to_reals(V::to_doubles(q) + V::splat(0x1p31) - V::to_doubles(zero_point)) * scale;
    }
};

template <typename V>
using difference_in_s32 = integer_difference<V, difference::in_s32>;

/// Whether q - zp fits in s32 for all |q| <= Magnitude.
template <std::int32_t Magnitude>
bool differences_fit(const bounds &zero_points) {
    return Magnitude == INT32_MAX ? zero_points.within(0, 0)
                                  : zero_points.within(INT32_MIN + Magnitude, INT32_MAX - Magnitude);
}

template <bool fit(const bounds &)>
chunk_state prepare_differences(std::int64_t count, const parameter_columns &columns) {
    const auto p = columns.as<fetched_parameters>();
    bounds zero_points;
    for (std::int64_t i = 0; i < count; ++i)
        zero_points.include(p.zero_point[i]);
    return fit(zero_points) ? chunk_state::guarded : chunk_state::any_parameters;
}

/// (q - zp) * s of bytes that V loads as reals, biased: of integers below 2^24 the difference is exact.
template <typename V, typename Integer>
struct biased_difference {
    using parameters = fetched_parameters;
    typename V::reals zero_point, scale;
    static biased_difference of(typename V::integers zero_point, typename V::reals scale) {
        return {V::to_reals(zero_point) + V::splat(V::template bias<Integer>), scale};
    }
    static biased_difference from(auto take) { return of(take(take.p.zero_point), take(take.p.scale)); }
    typename V::reals operator()(typename V::reals q) const { return (q - zero_point) * scale; }
};

/// How V computes differences of bytes that fit.
template <typename V, typename Integer>
struct byte_differences {
    using formula = difference_in_s32<V>;
    using src = Integer;
    static bool fit(const bounds &zero_points) { return differences_fit<256>(zero_points); }
    static formula of(typename V::integers zero_point, typename V::reals scale) { return {zero_point, scale}; }
};
template <typename V, typename Integer>
requires requires {
    typename V::template biased_byte<Integer>;
}
struct byte_differences<V, Integer> {
    using formula = biased_difference<V, Integer>;
    using src = typename V::template biased_byte<Integer>;
    static bool fit(const bounds &zero_points) { return zero_points.within(-(1 << 22), 1 << 22); }
    static formula of(typename V::integers zero_point, typename V::reals scale) {
        return formula::of(zero_point, scale);
    }
};

template <typename V, typename Integer>
bool flat_difference(const void *src, void *dst, std::int64_t count, std::int32_t scale, std::int32_t zero_point) {
    using differences = byte_differences<V, Integer>;
    if (!differences::fit({zero_point, zero_point})) return false;
    flat_row<V, typename differences::src, float>(
            src, dst, count, differences::of(V::splat(zero_point), V::as_reals(V::splat(scale))));
    return true;
}

constexpr statement_set dequantizes(set_of_bits types) {
    return {.dir = direction::dequantize, .types = types};
}

template <typename V, typename Src, std::int32_t Magnitude>
constexpr family differences(set_of_bits types = types_as<Src>) {
    using guarded = difference_in_s32<V>;
    auto f = family_of<V, integer_difference<V, difference::in_33_bits>, Src, float>(
            dequantizes(types), prepare_differences<differences_fit<Magnitude>>);
    f.guarded = in_two_forms<V, guarded, guarded, Src, float>();
    return f;
}

template <typename V, typename Integer>
constexpr family differences_of_bytes() {
    using differences = byte_differences<V, Integer>;
    using guarded = typename differences::formula;
    using src = typename differences::src;
    auto f = family_of<V, integer_difference<V, difference::in_33_bits>, Integer, float>(
            dequantizes(types_as<Integer>), prepare_differences<differences::fit>);
    f.guarded = in_all_forms<V, guarded, src, float>();
    if constexpr (V::lanes > 1) {
        f.flat = flat_difference<V, Integer>;
        f.guarded.set(form::rows, rows<V, guarded, src, float16_bits>, access::to_f16);
        f.guarded.set(form::rows, rows<V, guarded, src, bfloat16_bits>, access::to_bf16);
        f.guarded.set(form::cols, cols<V, guarded, 2, src, float16_bits>, access::to_f16);
        f.guarded.set(form::cols, cols<V, guarded, 2, src, bfloat16_bits>, access::to_bf16);
        add_segs<V, guarded, src, float16_bits>(f.guarded, access::to_f16);
        add_segs<V, guarded, src, bfloat16_bits>(f.guarded, access::to_bf16);
    }
    return f;
}

/// Dequantizes u32 by zero points of another type.
template <typename V>
constexpr family differences_of_u32() {
    auto statements = dequantizes(bit(data_type::u32));
    statements.own_zero_points = bit(false);
    return family_of<V, integer_difference<V, difference::of_u32>, std::int32_t, float>(statements, prepare_nothing);
}

/// Dequantizes f32, or floats of 8 bits without a codec.
template <typename V, typename Float>
constexpr family differences_of_floats(set_of_bits types) {
    using no_zero_points = multiplied_float<V>;
    auto f = family_of<V, float_difference<V>, Float, float>(dequantizes(types), prepare_float_differences);
    f.no_zero_points = in_two_forms<V, no_zero_points, no_zero_points, Float, float, 2>();
    return f;
}

/// look_up() of 4-bit elements.
template <typename V, data_type type, typename T>
void look_up_of(const dense_rows &d, const prepared_parameters &p, const parameter_access &g) {
    using formula = std::conditional_t<traits(type).integral, difference_in_s32<V>, float_difference<V>>;
    look_up<V, formula, T>(d, p, g, values_of_4_bits<type>.of);
}

} // namespace
} // namespace dynquant::kernels::native
