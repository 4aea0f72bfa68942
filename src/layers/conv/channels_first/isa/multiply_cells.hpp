// The loop of channels_first.hpp over vectors V, see targets/simd.hpp.
#pragma once

#include "layers/conv/channels_first/channels_first.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

/// Computes `vectors` vectors of positions from `first` on, of `filters` filters from `filter` on, which are in a block
/// of `block` filters. The sums stay in registers; a load of x serves all filters, a broadcast of weights all vectors.
template <typename V, int block, int filters, int vectors>
[[gnu::always_inline]] inline void multiply_some(
        const channels_first_span &s, std::int64_t filter, std::int64_t first) {
    typename V::integers sums[filters][vectors];
    unroll<filters>([&](int f) __attribute__((always_inline)) {
        unroll<vectors>([&](int v) __attribute__((always_inline)) { sums[f][v] = V::splat(s.start[filter + f]); });
    });
    if constexpr (!V::dot_saturates)
        if (s.zero_points)
            unroll<filters>([&](int f) __attribute__((always_inline)) {
                const auto zero_point = V::splat(s.zero_points[filter + f]);
                unroll<vectors>([&](int v) __attribute__((always_inline)) {
                    const auto x = V::load_bits(s.x_sums + first + v * V::lanes);
                    sums[f][v] = V::subtract(sums[f][v], V::multiply(zero_point, x));
                });
            });
    const auto *weights = s.weights + filter / block * block * s.steps + filter % block;
    for (std::int64_t step = 0; step < s.steps; ++step, weights += block) {
        typename V::integers x[vectors];
        unroll<vectors>([&](int v) __attribute__((always_inline)) {
            x[v] = V::load_bits(s.cells[step] + 4 * (first + v * V::lanes));
        });
        unroll<filters>([&](int f) __attribute__((always_inline)) {
            const auto w = V::splat(weights[f]);
            unroll<vectors>([&](int v) __attribute__((always_inline)) {
                if constexpr (V::dot_saturates)
                    sums[f][v] = V::dot_pairs(sums[f][v], x[v], w);
                else
                    sums[f][v] = V::dot(sums[f][v], x[v], w);
            });
        });
    }
    unroll<filters>([&](int f) __attribute__((always_inline)) {
        unroll<vectors>([&](int v) __attribute__((always_inline)) {
            V::store(s.sums + (filter + f) * s.stride + first + v * V::lanes, sums[f][v]);
        });
    });
}

/// A copy of the span stays in registers, whatever the sums' memory is.
template <typename V, int block, int filters, int vectors>
void multiply_filters(const channels_first_span s, std::int64_t filter) { // NOLINT(performance-unnecessary-value-param)
    std::int64_t p = 0;
    for (; p + vectors * V::lanes <= s.positions; p += vectors * V::lanes)
        multiply_some<V, block, filters, vectors>(s, filter, p);
    for (; p < s.positions; p += V::lanes)
        multiply_some<V, block, filters, 1>(s, filter, p);
}

/// filters, vectors: of a block of eight filters at once, as registers hold their sums.
template <typename V, int filters, int vectors>
void multiply_cells(const channels_first_span &s) {
    std::int64_t filter = 0;
    for (; filter + 8 <= s.filters; filter += 8)
        for (int part = 0; part < 8; part += filters)
            multiply_filters<V, 8, filters, vectors>(s, filter + part);
    if ((s.filters & 4) != 0) {
        multiply_filters<V, 4, 4, vectors>(s, filter);
        filter += 4;
    }
    if ((s.filters & 2) != 0) {
        multiply_filters<V, 2, 2, 2>(s, filter);
        filter += 2;
    }
    if ((s.filters & 1) != 0) multiply_filters<V, 1, 1, 4>(s, filter);
}

/// AVX-512 has twice the registers of AVX2. A cell has four bytes for V::dot(), else two words.
template <typename V>
constexpr channels_first_loop channels_first_of = {
        multiply_cells<V, V::lanes == 16 ? 8 : 4, V::lanes == 16 ? 3 : 2>, V::dot_saturates ? 2 : 4, V::lanes};

} // namespace
} // namespace dynquant::layers
