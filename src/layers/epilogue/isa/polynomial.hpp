// Polynomials of f32.
#pragma once

#include <cstddef>

#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

/// terms: from that of the highest power on. Each fma() is rounded once.
template <typename V, std::size_t count>
[[gnu::always_inline]] inline typename V::reals polynomial(const float (&terms)[count], typename V::reals at) {
    using F = simd::fused<V>;
    auto sum = F::splat(terms[0]);
    simd::unroll<static_cast<int>(count) - 1>([&](int i)
                    __attribute__((always_inline)) { sum = F::fma(sum, at, F::splat(terms[i + 1])); });
    return sum;
}

} // namespace
} // namespace dynquant::layers
