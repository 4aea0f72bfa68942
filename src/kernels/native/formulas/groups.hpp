// Codes of groups whose scales are computed, from the ranges of x. They have no family and no chunk.
#pragma once

#include "kernels/native/formulas/forms.hpp"

namespace dynquant::kernels::native {
namespace {

/// x * m, to integers for rounding before the zero point is added, which is 0; or to floats, less than four times the
/// highest number of dst.
template <typename V>
struct bounded_product {
    using parameters = group_parameters;
    typename V::reals multiplier;
    static bounded_product from(auto take) { return {take(take.p.multiplier)}; }
    typename V::reals operator()(typename V::reals x) const { return x * multiplier; }
    static constexpr bool is_limited = true, is_bounded = true;
};

/// Computes two_part without its limit, which are_bounded makes needless.
template <typename V, typename Zero>
struct bounded_quotient {
    using parameters = group_parameters;
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

} // namespace
} // namespace dynquant::kernels::native
