// The loop of channels_first.hpp over vectors V, see targets/simd.hpp.
#pragma once

#include "layers/conv/channels_first/channels_first.hpp"
#include "targets/as_read.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

/// Computes `vectors` vectors of positions from `first` on, of `filters` filters from `filter` on, which are in a block
/// of `block` filters. The sums stay in registers; a load of x serves all filters, a broadcast of weights all vectors.
template <typename V, int block, int filters, int vectors>
[[gnu::always_inline]] inline void multiply_some(
        const channels_first_span &s, const std::int32_t *start, std::int64_t filter, std::int64_t first) {
    typename V::integers sums[filters][vectors];
    unroll<filters>([&](int f) __attribute__((always_inline)) {
        unroll<vectors>([&](int v) __attribute__((always_inline)) { sums[f][v] = V::splat(start[f]); });
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
            if constexpr (!V::dot_saturates) x[v] = simd::as_read<V>(x[v]);
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
    const auto *start = s.start + filter;
    std::int32_t of_unsigned[filters];
    if constexpr (V::dot_is_signed) { // u8 is read as s8, 128 less
        const auto *weights = s.weights + filter / block * block * s.steps + filter % block;
        for (int f = 0; f < filters; ++f) {
            std::int32_t sum[V::lanes];
            auto sums = V::splat(0);
            for (std::int64_t step = 0; step < s.steps; ++step)
                sums = V::dot(sums, V::splat_bytes(-128), V::splat(weights[step * block + f]));
            V::store(sum, V::subtract(V::splat(start[f]), sums));
            of_unsigned[f] = sum[0];
        }
        start = of_unsigned;
    }
    std::int64_t p = 0;
    for (; p + vectors * V::lanes <= s.positions; p += vectors * V::lanes)
        multiply_some<V, block, filters, vectors>(s, start, filter, p);
    for (; p < s.positions; p += V::lanes)
        multiply_some<V, block, filters, 1>(s, start, filter, p);
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

/// AVX-512 and NEON have twice the registers of AVX2. A cell has four bytes for V::dot(), else two words.
template <typename V>
constexpr channels_first_loop channels_first_of = {
        multiply_cells<V, V::registers == 32 ? 8 : 4, V::registers == 32 ? 3 : 2>, V::dot_saturates ? 2 : 4, V::lanes};

} // namespace
} // namespace dynquant::layers
