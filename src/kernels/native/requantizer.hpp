// Requantizing: sums of 32 bits to 8-bit integers.
#pragma once

#include <cstdint>

#include "kernels/native/operators.hpp"
#include "kernels/native/rows.hpp"

namespace dynquant::kernels::native {
namespace {

/// What is added to a sum: biases, which lie in the table as zero points, or nothing when all are 0.
template <typename V>
struct some_bias {
    typename V::integers bias;

    static some_bias from(const auto &t, auto take) { return {take(t.zero_point)}; }
    typename V::integers added_to(typename V::integers sum) const { return V::add(sum, bias); }
};

template <typename V>
struct no_bias {
    static no_bias from(const auto &, auto) { return {}; }
    typename V::integers added_to(typename V::integers sum) const { return sum; }
};

/// By how many scales a sum is multiplied, and whether negative products are 0.
enum class multiplying { once, twice };
enum class activation { none, relu };

/// (sum + bias) * scale * second scale.
template <typename V, typename Bias, multiplying Times, activation Activation>
struct rescaled_sum {
    Bias bias;
    typename V::reals scale, second;

    static rescaled_sum from(const auto &t, auto take) {
        const auto scale = take(t.scale);
        if constexpr (Times == multiplying::twice)
            return {Bias::from(t, take), scale, take(t.reciprocal)};
        else
            return {Bias::from(t, take), scale, scale};
    }

    typename V::reals operator()(typename V::integers sum) const {
        auto product = V::mul(V::to_reals(bias.added_to(sum)), scale);
        if constexpr (Times == multiplying::twice) product = V::mul(product, second);
        if constexpr (Activation == activation::relu) product = V::max(V::splat(0.0F), product);
        return V::min(V::splat(two_to_22), product);
    }
};

template <typename V, typename Integer, multiplying Times, activation Activation>
struct requantizer : quantizing_runs<V, std::int32_t, Integer> {
    template <typename Run>
    static void with_formula(const auto &t, const Run &run) {
        if constexpr (Times == multiplying::once)
            if (t.symmetric) return run(rescaled_sum<V, no_bias<V>, Times, Activation> {});
        run(rescaled_sum<V, some_bias<V>, Times, Activation> {});
    }
    template <typename Run>
    static void with_constant_formula(const auto &t, std::int64_t, const Run &run) {
        with_formula(t, run);
    }
};

/// Of u8, Relu changes nothing: what is below 0, and NaN, is 0 without it.
template <typename V, multiplying Times>
constexpr requantizing_functions requantizing_by() {
    using enum activation;
    return {rows<V, requantizer<V, std::int8_t, Times, none>>, rows<V, requantizer<V, std::int8_t, Times, relu>>,
            rows<V, requantizer<V, std::uint8_t, Times, none>>};
}

template <typename V>
constexpr requantize_row_functions requantize_rows_for() {
    return {requantizing_by<V, multiplying::once>(), requantizing_by<V, multiplying::twice>()};
}

} // namespace
} // namespace dynquant::kernels::native
