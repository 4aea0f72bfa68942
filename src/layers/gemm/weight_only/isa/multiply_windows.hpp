// Products of weights by what the windows of a convolution meet, over vectors V of positions, see targets/simd.hpp.
// Weights become floats in the first-level cache, of which each is multiplied by a tile's vectors at once.
#pragma once

#include "layers/gemm/weight_only/isa/multiply_weight_only.hpp"

namespace dynquant::layers {
namespace {

/// What tiles of some rows of weights share.
struct window_rows {
    std::int64_t count;
    const std::int64_t *offsets;
    std::int64_t sums_stride; // from filter to filter
    bool begins, ends;        // whether the rows are the first, the last
};

/// The rows of adjacent filters by some vectors of positions. What differs from tile to tile is passed in registers: a
/// struct would be loaded right behind its stores, which waits.
///
/// The sums stay in registers; a load of x serves all filters, a broadcast of weights all vectors. weights: rows of
/// panel_columns<V>. scales: of the filters.
template <typename V, int filters, int vectors>
[[gnu::noinline]] void multiply_window_tile(const window_rows &rows, const float *weights, const float *from,
        const std::int64_t *starts, float *to, const float *scales) {
    typename V::reals sums[filters][vectors];
    const float *x[vectors];
    const auto for_each_sum = [](auto f) __attribute__((always_inline)) {
        unroll<filters * vectors>([&](int i) __attribute__((always_inline)) { f(i / vectors, i % vectors); });
    };
    const auto stride = rows.sums_stride;
    const bool begins = rows.begins;
    for_each_sum([&](int f, int v) __attribute__((always_inline)) {
        sums[f][v] = begins ? V::splat(0.0F) : V::load(to + f * stride + v * V::lanes);
    });
    unroll<vectors>([&](int v) __attribute__((always_inline)) { x[v] = from + starts[v]; });
    for (const auto *offset = rows.offsets, *const end = offset + rows.count; offset != end;
            ++offset, weights += panel_columns<V>) {
        const auto at = *offset;
        if constexpr (filters == 1) {
            const auto w = V::splat(*weights);
            unroll<vectors>([&](int v)
                            __attribute__((always_inline)) { sums[0][v] = V::fma(w, V::load(x[v] + at), sums[0][v]); });
        } else {
            typename V::reals of_x[vectors];
            unroll<vectors>([&](int v) __attribute__((always_inline)) { of_x[v] = V::load(x[v] + at); });
            unroll<filters>([&](int f) __attribute__((always_inline)) {
                const auto w = V::splat(weights[f]);
                unroll<vectors>([&](int v)
                                __attribute__((always_inline)) { sums[f][v] = V::fma(w, of_x[v], sums[f][v]); });
            });
        }
    }
    if (rows.ends)
        for_each_sum([&](int f, int v)
                        __attribute__((always_inline)) { sums[f][v] = sums[f][v] * V::splat(scales[f]); });
    for_each_sum([&](int f, int v)
                    __attribute__((always_inline)) { V::store(to + f * stride + v * V::lanes, sums[f][v]); });
}

/// The filters of a group that are in a panel. vectors: at most 3, or 4 or 8 by one filter.
template <typename V, int vectors>
void multiply_filters(const window_rows &rows, const float *weights, const float *x, const std::int64_t *starts,
        float *sums, const float *scales, std::int64_t filters) {
    const auto stride = rows.sums_stride;
    std::int64_t i = 0;
    const auto multiply = [&]<int count>(std::integral_constant<int, count>) {
        multiply_window_tile<V, count, vectors>(rows, weights + i, x, starts, sums + i * stride, scales + i);
        i += count;
    };
    if constexpr (vectors <= 3 && V::lanes > 1) {
        while (filters - i >= 4)
            multiply(std::integral_constant<int, 4> {});
        if (filters - i >= 2) multiply(std::integral_constant<int, 2> {});
    }
    while (i < filters)
        multiply(std::integral_constant<int, 1> {});
}

template <typename V>
void multiply_windows(const weight_only_panels &p, const windows_of_vectors &x, std::int64_t panel, float *sums,
        std::int64_t sums_stride, float *scratch_memory) {
    const auto first = first_column(p, panel, panel_columns<V>), columns = columns_of(p, panel, panel_columns<V>);
    const auto first_group = first / x.filters, first_rest = x.filters - first % x.filters;
    const panel_scratch<V> scratch(scratch_memory);
    // Beside what the windows of a tile meet, which is as much, the weights stay in a first-level cache of 32 KiB.
    const auto chunk = chunk_rows<V>(p, widening::to_floats, x.vectors, 1) / 2;
    if (p.inner == 0)
        for (std::int64_t i = 0; i < columns; ++i)
            std::memset(sums + i * sums_stride, 0, static_cast<std::size_t>(x.vectors * V::lanes) * sizeof *sums);
    alignas(64) float ones[panel_columns<V>]; // the scales of weights that have been scaled
    for (auto &one : ones)
        one = 1;
    const auto *const scales = p.are_weights_scaled ? ones : p.parameters.scales + panel * p.parameters.of_panel;
    tile_call c;
    for (std::int64_t k = 0; k < p.inner; k += c.count) {
        take_chunk<V>(c, p, k, chunk, panel);
        widen_chunk(c, p, widening::to_floats, element_of(p), k, panel, 1, scratch);
        const window_rows rows = {c.count, x.offsets + k, sums_stride, k == 0, k + c.count == p.inner};
        const auto multiply_vectors = [&](auto vectors, std::int64_t v) {
            const auto *of_group = x.x + (first_group - x.first_group) * x.group_elements;
            for (std::int64_t i = 0, rest = first_rest; i < columns; rest = x.filters) {
                const auto filters = rest < columns - i ? rest : columns - i;
                multiply_filters<V, vectors>(rows, scratch.floats + i, of_group, x.starts + v,
                        sums + (i * sums_stride + v * V::lanes), scales + i, filters);
                i += filters;
                of_group += x.group_elements;
            }
        };
        for (std::int64_t v = 0; v < x.vectors;) {
            const auto rest = x.vectors - v;
            const auto multiply_some = [&]<int count>(std::integral_constant<int, count> some) {
                multiply_vectors(some, v);
                v += count;
            };
            if constexpr (V::lanes == 1)
                multiply_some(std::integral_constant<int, 1> {});
            else if (x.filters == 1 && rest >= 8)
                multiply_some(std::integral_constant<int, 8> {});
            else if (x.filters == 1 && rest >= 4)
                multiply_some(std::integral_constant<int, 4> {});
            else if (rest == 1)
                multiply_some(std::integral_constant<int, 1> {});
            else if (rest == 2 || rest == 4)
                multiply_some(std::integral_constant<int, 2> {});
            else
                multiply_some(std::integral_constant<int, 3> {});
        }
    }
}

} // namespace
} // namespace dynquant::layers
