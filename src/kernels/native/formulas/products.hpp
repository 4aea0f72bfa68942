// Quantize by multipliers that are not 1 / s: computed scales.
#pragma once

#include "kernels/native/formulas/quotients_in_16_bits.hpp"

namespace dynquant::kernels::native {
namespace {

// ---- Codes of groups, from the ranges of x ----------------------------------------------------------------

/// Quotients of integers that are greater need the box's statement.
constexpr float bounded_quotients = two_to_22 / 2;

/// x * m, to integers for rounding before the zero point is added, which is 0; or to floats, less than four times the
/// highest number of dst.
template <typename V>
struct bounded_product {
    using parameters = group_columns;
    typename V::reals multiplier;
    static bounded_product from(auto take) { return {take(take.p.multiplier)}; }
    typename V::reals operator()(typename V::reals x) const { return x * multiplier; }
    static constexpr bool is_limited = true, is_bounded = true;
};

/// two_part of a quotient that needs no limit.
template <typename V, typename Zero>
struct bounded_quotient {
    using parameters = group_columns;
    typename V::reals high, low;
    Zero zero;
    static bounded_quotient from(auto take) {
        return {take(take.p.multiplier), take(take.p.residual), Zero::from(take(take.p.zero_point))};
    }
    auto operator()(typename V::reals x) const { return zero.added_to(V::fma(x, high, x * low)); }
};

template <typename V, typename Formula, typename Src, typename Dst>
constexpr group_microkernels groups_of() {
    constexpr int of_16 = 16 / V::lanes;
    return {segs<V, Formula, of_16, Src, Dst>, segs<V, Formula, 2 * of_16, Src, Dst>, segs<V, Formula, 4, Src, Dst>,
            rows<V, Formula, Src, Dst>};
}

template <typename V, typename Src>
constexpr void add_groups(group_microkernels *to) {
    using zero = word_zero<V>;
    using formula = bounded_product<V>;
    constexpr int of_16 = 16 / V::lanes;
    const auto add = [&](group_formula f, const group_microkernels &g) { to[static_cast<int>(f)] = g; };
    add(group_formula::product_s8, groups_of<V, formula, Src, std::int8_t>());
    add(group_formula::quotient_s8, groups_of<V, bounded_quotient<V, no_zero<V>>, Src, std::int8_t>());
    add(group_formula::sum_s8, groups_of<V, bounded_quotient<V, zero>, Src, std::int8_t>());
    add(group_formula::sum_u8, groups_of<V, bounded_quotient<V, zero>, Src, std::uint8_t>());
    add(group_formula::codes,
            {segs_to_codes<V, formula, of_16, Src>, segs_to_codes<V, formula, 2 * of_16, Src>,
                    segs_to_codes<V, formula, 4, Src>, nullptr});
}

// ---- Statements of boxes -------------------------------------------------------------------------------------

/// Multipliers stand for reciprocals: they are 1 / s, but rounded otherwise. Scales only limit x. A two_part_product
/// whose residual is 0 is the product.
template <typename V, typename Formula>
preparation prepare_products(std::int64_t count, const parameter_columns &columns) {
    const auto given = columns.as<fetched_parameters>();
    bounds factors, zero_points;
    for (std::int64_t i = 0; i < count; ++i) {
        factors.include(bits_of(given.scale[i]));
        factors.include(bits_of(given.second[i]));
        zero_points.include(given.zero_point[i]);
    }
    if (V::has_fma && are_inside_guard(factors) && zero_points.within(0, 0)) {
        const auto p = columns.as<two_part_parameters>();
        for (std::int64_t i = 0; i < count; ++i)
            p.low[i] = 0;
        return preparation::no_zero_points;
    }
    Formula::zero_kind::prepare(count, given.zero_point, columns.as<typename Formula::parameters>().zero_point);
    return preparation::any_parameters;
}

/// RNE(x * m) + zp.
template <typename V, typename Dst>
constexpr family products() {
    using zero = std::conditional_t<V::has_fma, word_zero<V>, rounded_zero<V>>;
    using any_parameters = limited_product<V, float, zero>;
    auto f = family_of<V, any_parameters, float, Dst>(
            {.dir = direction::quantize, .types = types_as<Dst>, .multiplies = true},
            prepare_products<V, any_parameters>);
    if constexpr (V::has_fma) f.no_zero_points = onnx<V, Dst>().no_zero_points;
    return f;
}

/// x * m to floats, or q * s of floats. There are no zero points.
template <typename V>
struct multiplied_float {
    struct parameters {
        float *scale;
    };
    typename V::reals scale;
    static multiplied_float from(auto take) { return {take(take.p.scale)}; }
    typename V::reals operator()(typename V::reals q) const { return q * scale; }
    static constexpr bool is_limited = false, is_bounded = false;
};

template <typename V>
constexpr family products_of_floats() {
    auto f = family_of<V, multiplied_float<V>, float, float, 2>(
            {.dir = direction::quantize, .types = types_as<float>, .multiplies = true}, prepare_nothing);
    if constexpr (V::lanes > 1) fuse_codes<V, multiplied_float<V>>(f.any_parameters);
    return f;
}

} // namespace
} // namespace dynquant::kernels::native
