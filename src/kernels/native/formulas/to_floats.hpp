// Quantize to floats: the quotient, or for computed scales the product, which a codec narrows.
//
// Codecs of codes take magnitude and sign. is_limited: magnitudes beyond the limit are the limit. is_bounded: there are
// no such, and no NaN.
#pragma once

#include "kernels/native/formulas/forms.hpp"

namespace dynquant::kernels::native {
namespace {

/// x / s + zp, quotient and sum each rounded to the division's type. Rounding the sum of two numbers of b bits to 24
/// bits first changes nothing, since 24 >= 2 b + 2 (Figueroa, "When is double rounding innocuous?", 1995). Subnormal
/// sums are exact.
template <typename V, typename Division>
struct shifted_quotient {
    using parameters = quotient_parameters<float>;
    static constexpr float no_zero_point = -0.0F;
    typename V::reals scale, zero;
    static shifted_quotient from(auto take) { return {take(take.p.scale), take(take.p.zero_point)}; }
    typename V::reals operator()(typename V::reals x) const {
        return in_division<V, Division>(in_division<V, Division>(x / scale) + zero);
    }
    static constexpr bool is_limited = false, is_bounded = false;
};

/// shifted_quotient inside the guard with zero points 0 or -0, by two operations, which are exact enough: the
/// division's type or dst's has 11 bits at most. Computes magnitudes, as both signs need a limit; the sign of zeros
/// depends on the zero point. All quotients beyond the limit round to the same dst. If x * low is subnormal, dst rounds
/// the quotient to 0.
template <typename V, typename Division, typename Quotient>
struct limited_quotient {
    using parameters = typename Quotient::parameters;
    static constexpr bool has_zero = !std::is_same_v<parameters, two_part_parameters>;
    using zero_kind = std::conditional_t<has_zero, real_zero<V>, no_zero<V>>;
    Quotient quotient;
    zero_kind zero;
    static limited_quotient from(auto take) {
        const auto quotient = Quotient::from(take, take.p.constants.limit);
        if constexpr (has_zero)
            return {quotient, zero_kind::from(take(take.p.zero_point))};
        else
            return {quotient, {}};
    }
    static constexpr bool is_limited = true, is_bounded = false;
    signed_magnitude<V> parts(typename V::reals x) const {
        return {in_division<V, Division>(quotient.of_magnitude(V::abs(x))), zero.added_to(x)};
    }
    typename V::reals operator()(typename V::reals x) const {
        const auto [magnitude, sign] = parts(x);
        return V::copy_sign(magnitude, sign);
    }
};

/// limited_quotient with any zero points, for division in f16 only: none of its quotients is subnormal in f32. Zero
/// points may bring quotients back from beyond dst's limit.
template <typename V>
struct limited_quotient_and_zero {
    using quotient_kind = two_part_and_zero<V, no_zero<V>>;
    using parameters = typename quotient_kind::parameters;
    quotient_kind quotient;
    typename V::reals zero;
    static limited_quotient_and_zero from(auto take) { return {quotient_kind::from(take), take(take.p.zero_point)}; }
    typename V::reals operator()(typename V::reals x) const {
        const auto magnitude = in_division<V, float16_bits>(quotient.of_magnitude(V::abs(x)));
        return in_division<V, float16_bits>(V::copy_sign(magnitude, x) + zero);
    }
};

/// A zero point of -0 acts as none. One of +0 changes only the sign of zeros. The guarded formula takes that sign from
/// x, so in f32 and bf16 no nonzero x may give a quotient of 0. Scales below 2 ensure it: |x / s| > 2^-150 for the
/// least x of 2^-149 in f32, and > 2^-134 for 2^-133 in bf16.
template <bool InF16>
chunk_state prepare_quotients_to_floats(std::int64_t count, const parameter_columns &columns) {
    const auto p = columns.as<quotient_parameters<float>>();
    bounds scales, signs, magnitudes;
    for (std::int64_t i = 0; i < count; ++i) {
        p.reciprocal[i] = 1 / p.scale[i];
        scales.include(bits_of(p.scale[i]));
        signs.include(bits_of(p.zero_point[i]));
        magnitudes.include(bits_of(p.zero_point[i]) & INT32_MAX);
    }
    if (!are_inside_guard(scales)) return chunk_state::any_parameters;
    if (signs.within(INT32_MIN, INT32_MIN)) {
        to_residuals(count, columns.as<two_part_parameters>());
        return chunk_state::no_zero_points;
    }
    const bool is_guarded = InF16 || (magnitudes.within(0, 0) && scales.greatest < bits_of(2.0F));
    return is_guarded ? chunk_state::guarded : chunk_state::any_parameters;
}

constexpr statement_set quantizes_to_floats(set_of_bits types, precision division) {
    return {.dir = direction::quantize, .types = types, .divisions = bit(division)};
}

/// Divided in `Division`. The quotient of two operations is not exact enough for dst of bf16, unless the division is
/// in f16: bf16 has quotients beyond 2^22, which are infinite in f16.
template <typename V, typename Division>
constexpr family quotients_to_floats(precision division) {
    constexpr bool in_f16 = std::is_same_v<Division, float16_bits>;
    using any_parameters = shifted_quotient<V, Division>;
    const auto types = in_f16 ? types_as<float> : types_as<float> & ~bit(data_type::bf16);
    auto f = family_of<V, any_parameters, float, float>(
            quantizes_to_floats(types, division), V::has_fma ? prepare_quotients_to_floats<in_f16> : prepare_nothing);
    if constexpr (V::has_fma) {
        using no_zero_points = limited_quotient<V, Division, two_part_product<V>>;
        using zero_points_0 = limited_quotient<V, Division, two_part_and_zero<V, no_zero<V>>>;
        using guarded = std::conditional_t<in_f16, limited_quotient_and_zero<V>, zero_points_0>;
        f.guarded = in_two_forms<V, guarded, guarded, float, float>();
        f.no_zero_points = in_two_forms<V, no_zero_points, no_zero_points, float, float>();
        fuse_codes<V, no_zero_points>(f.no_zero_points);
        if constexpr (std::is_same_v<Division, float>) {
            fuse_codes<V, any_parameters>(f.any_parameters);
            fuse_reals_and_codes<V, no_zero_points>(f.no_zero_points);
        }
    }
    return f;
}

/// To bf16, divided in f32 or bf16.
template <typename V, typename Division>
constexpr family quotients_to_bf16(precision division) {
    return family_of<V, shifted_quotient<V, Division>, float, float>(
            quantizes_to_floats(bit(data_type::bf16), division), prepare_nothing);
}

/// Computed scales: x * m. There are no zero points.
template <typename V>
constexpr family products_of_floats() {
    auto f = family_of<V, multiplied_float<V>, float, float, 2>(
            {.dir = direction::quantize, .types = types_as<float>, .multiplies = true}, prepare_nothing);
    if constexpr (V::lanes > 1) fuse_codes<V, multiplied_float<V>>(f.any_parameters);
    return f;
}

} // namespace
} // namespace dynquant::kernels::native
