// The quotient of f16 numbers in f16 arithmetic, for instruction sets that have it. H is their vector type.
#pragma once

#include <cstdint>

#include "kernels/native/loops.hpp"

namespace dynquant::kernels::native {
namespace {

/// Whether float16_product is exact for this scale, an f16 number. Of the 1024 significands, 2023 rounds wrongly for
/// one x. Larger scales are excluded: `low` would be subnormal and lack bits, and the limit would exceed f16.
inline bool has_exact_float16_product(float scale) {
    constexpr std::int32_t significand_bits = 0x7fffff, missed = (2023 - 1024) << 13;
    return 0x1p-14F <= scale && scale < 4 && (__builtin_bit_cast(std::int32_t, scale) & significand_bits) != missed;
}

/// RNE(x / s) + zp from f16 to integers of 8 bits: x * (high + low), as in two_part_product. Its relative error is up
/// to 2^-21, and midpoints between f16 numbers may be 2^-23 away (see limited_product).
/// tests/kernels/native/float16_product.cpp enumerates all x and all significands of s: none rounds to the wrong side.
/// - Quotients below 1/2 become 0, so errors do not matter. For others, a subnormal x * low is off by 2^-24 at most.
/// - x is limited to 2^14 s, which is an f16 number and saturates with any zero point. At the other end, overflow is
///   -infinity or NaN or, if x * low does, infinity: all become the lowest integer.
template <typename H>
struct float16_product {
    using parameters = quotient_parameters<std::int32_t>;
    typename H::reals high, low, limit;
    typename H::integers zero_point;

    static float16_product from(auto take) {
        const auto scale = take.p.scale[take.i], reciprocal = take.p.reciprocal[take.i], high = H::rounded(reciprocal);
        return {H::splat(high), H::splat(__builtin_fmaf(-high, scale, 1.0F) * reciprocal), H::splat(scale * 0x1p14F),
                H::splat(take.p.zero_point[take.i])};
    }

    [[gnu::always_inline]] typename H::integers operator()(typename H::reals x) const {
        x = H::min(limit, x);
        return H::add_saturated(H::to_integers(H::fma(x, high, x * low)), zero_point);
    }
};

template <typename V, typename Dst>
constexpr exact_formulas exact_float16() {
    exact_formulas f = {};
    f.kernels.set(form::rows, rows<V, float16_product<V>, float16_bits, Dst, false>, access::of_f16);
    f.is_exact = [](const parameter_columns &columns) {
        return has_exact_float16_product(columns.as<typename float16_product<V>::parameters>().scale[0]);
    };
    f.min_elements_to_test = 512;
    return f;
}

/// Nothing for instruction sets without f16 arithmetic.
template <typename V>
constexpr float16_formulas float16_of = [] {
    if constexpr (V::lanes > 1)
        return float16_formulas {exact_float16<V, std::uint8_t>(), exact_float16<V, std::int8_t>()};
    else
        return float16_formulas {};
}();

} // namespace
} // namespace dynquant::kernels::native
