// Products of weights by what the windows of a convolution meet, over vectors V of positions, see targets/simd.hpp.
// Weights become floats in the first-level cache, of which each is multiplied by a tile's vectors at once.
#pragma once

#include <algorithm>
#include <bit>

#include "layers/gemm/weight_only/isa/multiply_weight_only.hpp"

namespace dynquant::layers {
namespace {

/// What the tiles of some rows of weights share.
struct window_rows {
    std::int64_t count;
    const std::int64_t *offsets;
    const windows_of_vectors &x;
    const window_results &results;
    std::int64_t sums_stride;      // from filter to filter
    const float *weights, *scales; // rows of panel_columns<V>, and one of them; of the first column
    const float *summands;         // summand_step apart
    std::int64_t summand_step;     // 0: all have the same
    bool begins, ends;             // whether the rows are the first, the last
};

/// Stores the results of a tile whose last vectors end behind the last place.
template <typename V>
[[gnu::noinline]] void store_ended(const window_results &by, std::int64_t i, std::int64_t v, std::int64_t filters,
        std::int64_t vectors, const float *from) {
    for (const auto end = i + filters; i < end; ++i, from += vectors * V::lanes) {
        const auto line = i * by.stride - by.places[0];
        for (std::int64_t n = 0; n < vectors; ++n) {
            const auto place = by.places[v + n], count = by.end - place;
            auto *to = by.to + (line + place);
            const auto *some = from + n * V::lanes;
            if (count >= V::lanes) {
                V::store(to, V::load(some));
                continue;
            }
            if (count <= 0 || (n > 0 && by.places[v + n - 1] == place)) continue; // the same vector once more
            // Pieces are powers of two: a masked store takes some 90 cycles on a Zen 1.
            unroll<std::bit_width(unsigned {V::lanes}) - 1>([&](int bit) __attribute__((always_inline)) {
                const auto step = V::lanes / 2 >> bit;
                if ((count & step) == 0) return;
                __builtin_memcpy(to, some, static_cast<std::size_t>(step) * sizeof *to);
                some += step;
                to += step;
            });
        }
    }
}

/// The rows of adjacent filters from column i on by vectors from v on. from: x of the filters' group.
///
/// The sums stay in registers; a load of x serves all filters, a broadcast of weights all vectors.
template <typename V, int filters, int vectors>
[[gnu::always_inline]] inline void multiply_window_tile(
        const window_rows &rows, const float *from, std::int64_t i, std::int64_t v) {
    using reals = typename V::reals;
    reals sums[filters][vectors];
    const float *x[vectors];
    const auto for_each_sum = [](auto f) __attribute__((always_inline)) {
        unroll<filters * vectors>([&](int n) __attribute__((always_inline)) { f(n / vectors, n % vectors); });
    };
    const auto *weights = rows.weights + i;
    const auto stride = rows.sums_stride;
    auto *const of_chunks = rows.results.sums + (i * stride + v * V::lanes);
    const bool begins = rows.begins;
    for_each_sum([&](int f, int n) __attribute__((always_inline)) {
        sums[f][n] = begins ? V::splat(0.0F) : V::load(of_chunks + f * stride + n * V::lanes);
    });
    unroll<vectors>([&](int n) __attribute__((always_inline)) { x[n] = from + rows.x.starts[v + n]; });
    for (const auto *offset = rows.offsets, *const end = offset + rows.count; offset != end;
            ++offset, weights += panel_columns<V>) {
        const auto at = *offset;
        if constexpr (filters == 1) {
            const auto w = V::splat(*weights);
            unroll<vectors>([&](int n)
                            __attribute__((always_inline)) { sums[0][n] = V::fma(w, V::load(x[n] + at), sums[0][n]); });
        } else {
            reals of_x[vectors];
            unroll<vectors>([&](int n) __attribute__((always_inline)) { of_x[n] = V::load(x[n] + at); });
            unroll<filters>([&](int f) __attribute__((always_inline)) {
                const auto w = V::splat(weights[f]);
                unroll<vectors>([&](int n)
                                __attribute__((always_inline)) { sums[f][n] = V::fma(w, of_x[n], sums[f][n]); });
            });
        }
    }
    if (!rows.ends)
        return for_each_sum([&](int f, int n) __attribute__((always_inline)) {
            V::store(of_chunks + f * stride + n * V::lanes, sums[f][n]);
        });

    const auto &by = rows.results;
    unroll<filters>([&](int f) __attribute__((always_inline)) {
        const auto scale = V::splat(rows.scales[i + f]), summand = V::splat(rows.summands[(i + f) * rows.summand_step]);
        unroll<vectors>([&](int n) __attribute__((always_inline)) { sums[f][n] = sums[f][n] * scale + summand; });
    });
    if (by.has_clip) {
        const auto lower = V::splat(by.lower), upper = V::splat(by.upper);
        for_each_sum([&](int f, int n)
                        __attribute__((always_inline)) { sums[f][n] = V::min(upper, V::max(lower, sums[f][n])); });
    }
    const auto to_stride = by.stride, first = i * to_stride - by.places[0];
    const auto *const places = by.places + v;
    if (places[vectors - 1] + V::lanes <= by.end)
        return unroll<vectors>([&](int n) __attribute__((always_inline)) {
            auto *const to = by.to + (first + places[n]);
            unroll<filters>([&](int f) __attribute__((always_inline)) { V::store(to + f * to_stride, sums[f][n]); });
        });
    float results[filters * vectors * V::lanes];
    for_each_sum([&](int f, int n)
                    __attribute__((always_inline)) { V::store(results + (f * vectors + n) * V::lanes, sums[f][n]); });
    store_ended<V>(by, i, v, filters, vectors, results);
}

/// One such tile after another, up to vector `end`: a call of each would take a tenth of the time of 3 x 3 taps.
template <typename V, int filters, int vectors>
[[gnu::noinline]] void multiply_window_tiles(
        const window_rows &rows, const float *from, std::int64_t i, std::int64_t v, std::int64_t end) {
    do {
        multiply_window_tile<V, filters, vectors>(rows, from, i, v);
        v += vectors;
    } while (v < end);
}

/// The filters of a group from column i to `end`. vectors: at most 3, or 4 or 8 by one filter.
template <typename V, int vectors>
void multiply_filters(
        const window_rows &rows, const float *x, std::int64_t i, std::int64_t end, std::int64_t v, std::int64_t v_end) {
    const auto multiply = [&]<int count>(std::integral_constant<int, count>) {
        multiply_window_tiles<V, count, vectors>(rows, x, i, v, v_end);
        i += count;
    };
    if constexpr (vectors <= 3 && V::lanes > 1) {
        while (end - i >= 4)
            multiply(std::integral_constant<int, 4> {});
        if (end - i >= 2) multiply(std::integral_constant<int, 2> {});
    }
    while (i < end)
        multiply(std::integral_constant<int, 1> {});
}

/// How far what a line of y meets lies behind what the line before it meets, in elements, if the lines of 3 x 3 taps
/// lie as far apart, so that a line of x meets all three of them, and each group has one filter. Else 0.
inline std::int64_t step_of_lines(const windows_of_vectors &x, std::int64_t inner) {
    if (inner != 9 || x.filters != 1 || x.of_line == 0 || x.vectors % x.of_line != 0 || x.vectors <= x.of_line)
        return 0;
    const auto step = x.offsets[3] - x.offsets[0];
    const auto are_a_step_apart = [step](std::int64_t upper, std::int64_t lower) { return lower - upper == step; };
    return std::equal(x.offsets, x.offsets + 6, x.offsets + 3, are_a_step_apart)
                    && std::equal(x.starts, x.starts + (x.vectors - x.of_line), x.starts + x.of_line, are_a_step_apart)
            ? step
            : 0;
}

template <int count>
struct some_vectors {
    std::int64_t at[count];
};

/// Filter i of 3 x 3 taps by some vectors of each line, from the first line on. Three sums go down the lines, so that a
/// load of x serves three taps; the weights stay in registers.
template <typename V, int vectors>
[[gnu::noinline]] void multiply_down_lines(
        const window_rows &rows, const float *from, std::int64_t i, some_vectors<vectors> v, std::int64_t step) {
    using reals = typename V::reals;
    const auto &by = rows.results;
    reals weights[9], sums[3][vectors];
    unroll<9>([&](int k)
                    __attribute__((always_inline)) { weights[k] = V::splat(rows.weights[k * panel_columns<V> + i]); });
    const float *x[vectors];
    unroll<vectors>([&](int n) __attribute__((always_inline)) { x[n] = from + rows.x.starts[v.at[n]]; });
    // The next line of x, which lines `first` to `last` of the taps meet.
    const auto add_line = [&](int first, int last) __attribute__((always_inline)) {
        unroll<3>([&](int tap) __attribute__((always_inline)) {
            const auto at = rows.offsets[tap];
            unroll<vectors>([&](int n) __attribute__((always_inline)) {
                const auto some = V::load(x[n] + at);
                unroll<3>([&](int line) __attribute__((always_inline)) {
                    if (line < first || line > last) return;
                    const auto sum = line == 0 && tap == 0 ? V::splat(0.0F) : sums[line][n];
                    sums[line][n] = V::fma(weights[3 * line + tap], some, sum);
                });
            });
        });
    };
    const auto go_down = [&]() __attribute__((always_inline)) {
        unroll<vectors>([&](int n) __attribute__((always_inline)) {
            x[n] += step;
            sums[2][n] = sums[1][n];
            sums[1][n] = sums[0][n];
        });
    };
    const auto first_to = i * by.stride - by.places[0];
    const auto finish = [&]() __attribute__((always_inline)) {
        const auto scale = V::splat(rows.scales[i]), summand = V::splat(rows.summands[i * rows.summand_step]);
        unroll<vectors>([&](int n) __attribute__((always_inline)) {
            auto sum = sums[2][n] * scale + summand;
            if (by.has_clip) sum = V::min(V::splat(by.upper), V::max(V::splat(by.lower), sum));
            const auto place = by.places[v.at[n]];
            if (place + V::lanes <= by.end) {
                V::store(by.to + (first_to + place), sum);
            } else {
                float results[V::lanes];
                V::store(results, sum);
                store_ended<V>(by, i, v.at[n], 1, 1, results);
            }
            v.at[n] += rows.x.of_line;
        });
    };
    add_line(0, 0);
    go_down();
    add_line(0, 1);
    for (auto lines = rows.x.vectors / rows.x.of_line; lines > 2; --lines) {
        go_down();
        add_line(0, 2);
        finish();
    }
    go_down();
    add_line(1, 2);
    finish();
    go_down();
    add_line(2, 2);
    finish();
}

/// The last vector of a line may overwrite the first lanes of the next line, which are stored later: both go down
/// together.
template <typename V>
void multiply_lines(const window_rows &rows, const float *from, std::int64_t i, std::int64_t step) {
    const auto last = rows.x.of_line - 1;
    if (last == 0) return multiply_down_lines<V, 1>(rows, from, i, {{0}}, step);
    multiply_down_lines<V, 2>(rows, from, i, {{last, 0}}, step);
    std::int64_t v = 1;
    for (; v + 2 <= last; v += 2)
        multiply_down_lines<V, 2>(rows, from, i, {{v, v + 1}}, step);
    if (v < last) multiply_down_lines<V, 1>(rows, from, i, {{v}}, step);
}

template <typename V>
void multiply_windows(const weight_only_panels &p, const windows_of_vectors &x, const window_results &results,
        float *scratch_memory) {
    const auto begin = x.columns.begin, columns = x.columns.end - begin;
    const auto first = first_column(p, x.panel, panel_columns<V>) + begin;
    const auto first_group = first / x.filters, first_rest = x.filters - first % x.filters;
    const panel_scratch<V> scratch(scratch_memory);
    // Beside what the windows of a tile meet, which is as much, the weights stay in a first-level cache of 32 KiB.
    const auto chunk = chunk_rows<V>(p, widening::to_floats, x.vectors, 1) / 2;
    alignas(64) float ones[panel_columns<V>]; // the scales of weights that have been scaled, and of no rows
    for (auto &one : ones)
        one = 1;
    const bool are_scaled = p.are_weights_scaled || p.inner == 0;
    const auto *const scales = are_scaled ? ones : p.parameters.scales + x.panel * p.parameters.of_panel;
    tile_call c;
    c.count = 0;
    const auto step = step_of_lines(x, p.inner);
    std::int64_t k = 0;
    do {
        if (p.inner > 0) {
            take_chunk<V>(c, p, k, chunk, x.panel);
            widen_chunk(c, p, widening::to_floats, element_of(p), k, x.panel, 1, scratch);
        }
        const std::int64_t summand_step = results.summands.size() == 1 ? 0 : 1;
        const window_rows rows = {c.count, x.offsets + k, x, results, (x.vectors + 1) * V::lanes,
                scratch.floats + begin, scales + begin, results.summands.data() + first * summand_step, summand_step,
                k == 0, k + c.count == p.inner};
        const auto multiply_vectors = [&](auto vectors, std::int64_t v, std::int64_t v_end) {
            const auto *of_group = x.x + (first_group - x.first_group) * x.group_elements;
            for (std::int64_t i = 0, rest = first_rest; i < columns; rest = x.filters) {
                const auto end = rest < columns - i ? i + rest : columns;
                multiply_filters<V, vectors>(rows, of_group, i, end, v, v_end);
                i = end;
                of_group += x.group_elements;
            }
        };
        if constexpr (V::lanes > 1)
            if (step != 0 && rows.begins && rows.ends) {
                for (std::int64_t i = 0; i < columns; ++i)
                    multiply_lines<V>(rows, x.x + (first + i - x.first_group) * x.group_elements, i, step);
                break;
            }
        for (std::int64_t v = 0; v < x.vectors;) {
            const auto rest = x.vectors - v;
            const auto multiply_some = [&]<int count>(std::integral_constant<int, count> some) {
                const auto tiles = x.filters == 1 && count >= 4 ? (rest + 1) / count : 1;
                multiply_vectors(some, v, v + tiles * count);
                v += tiles * count;
            };
            if constexpr (V::lanes == 1)
                multiply_some(std::integral_constant<int, 1> {});
            else if (x.filters == 1 && rest >= 7)
                multiply_some(std::integral_constant<int, 8> {});
            else if (x.filters == 1 && rest >= 3)
                multiply_some(std::integral_constant<int, 4> {});
            else if (rest == 1)
                multiply_some(std::integral_constant<int, 1> {});
            else if (rest == 2 || rest == 4)
                multiply_some(std::integral_constant<int, 2> {});
            else
                multiply_some(std::integral_constant<int, 3> {});
        }
        k += c.count;
    } while (k < p.inner);
}

} // namespace
} // namespace dynquant::layers
