// Products by few rows of x of weights as they lie, which no panels hold: some rows of them at a time. Bytes are
// multiplied where they are; others are copied as bytes to the first-level cache. The sums are those of
// multiply_weight_only.hpp.
#pragma once

#include "layers/gemm/weight_only/copy_given.hpp"
#include "layers/gemm/weight_only/isa/multiply_weight_only.hpp"
#include "layers/gemm/weight_only/isa/multiply_windows.hpp"

namespace dynquant::layers {
namespace {

/// Makes nibbles less by their zero points, as widen_nibbles() does.
template <typename V>
void subtract_zero_points(
        const weight_only_panels &p, const rows_of_panel &rows, std::int8_t *to, std::int64_t stride) {
    using bytes = row_of_bytes<V>;
    const auto *const of_rows = row_zero_points(p, rows.panel);
    if (of_rows) {
        for (auto k = rows.first; k < rows.first + rows.count; ++k, to += stride)
            bytes::store(to,
                    bytes::load(to)
                            - bytes::splat(static_cast<std::uint8_t>(of_rows[k * p.groups.zero_points_of_row])));
    } else if (p.parameters.zero_points) {
        const auto *of_block =
                p.parameters.zero_points + rows.panel * p.parameters.of_panel + rows.first / p.block * panel_columns<V>;
        auto rest = p.block - rows.first % p.block;
        for (std::int64_t i = 0; i < rows.count; ++i, --rest, to += stride) {
            if (rest == 0) {
                of_block += panel_columns<V>;
                rest = p.block;
            }
            bytes::store(to, bytes::load(to) - bytes::load(of_block));
        }
    }
}

/// x times the scales of a group of columns, of some rows of weights: each row of x in given_rows elements.
inline void scale_part(const float_rows &x, const column_groups &g, std::int64_t group, std::int64_t k,
        std::int64_t count, float *to) {
    const auto block = k / g.block;
    const auto *const first = g.scales + group * g.scales_of_group + block * g.scales_of_block;
    for (std::int64_t row = 0; row < x.rows; ++row, to += given_rows) {
        const auto *from = x.first + row * x.stride + k * x.step;
        const auto *scale = first;
        auto rest = (block + 1) * g.block - k; // of the block
        for (std::int64_t i = 0; i < count; ++i, --rest, from += x.step) {
            if (rest == 0) {
                scale += g.scales_of_block;
                rest = g.block;
            }
            to[i] = *from * *scale;
        }
    }
}

/// Adds the products of one row of x by some rows of weights, within a block, to the accumulators of adjacent pairs of
/// panels: multiply_tile() would take as long to be called for each pair as for some of these rows.
template <typename V>
[[gnu::noinline]] void add_rows(const tile_call &t, std::int64_t pairs) {
    constexpr int vectors = 2 * panel_vectors;
    // Fields that stores may change, for all the compiler knows.
    const auto count = t.count, stride = t.weights_stride, x_step = t.x_step;
    const bool begins = t.begins;
    const auto *const x = t.x;
    const auto *weights = static_cast<const std::int8_t *>(t.weights);
    auto *accumulators = t.accumulators;
    for (; pairs > 0; --pairs, weights += vectors * V::lanes, accumulators += vectors * V::lanes) {
        typename V::reals sums[vectors];
        unroll<vectors>([&](int v) __attribute__((always_inline)) {
            sums[v] = begins ? V::splat(0.0F) : V::load(accumulators + v * V::lanes);
        });
        const auto *row = weights;
        const auto *of_row = x;
        for (std::int64_t k = 0; k < count; ++k, row += stride, of_row += x_step) {
            __builtin_prefetch(row + given_bytes_ahead);
            const auto of_x = V::splat(*of_row);
            unroll<vectors>([&](int v) __attribute__((always_inline)) {
                sums[v] = V::fma(of_x, V::to_reals(V::load(row + v * V::lanes)), sums[v]);
            });
        }
        unroll<vectors>([&](int v) __attribute__((always_inline)) { V::store(accumulators + v * V::lanes, sums[v]); });
    }
}

/// A panel and where it is, without a division from one to the next.
struct panel_cursor {
    panel_cursor(const weight_only_panels &p, std::int64_t panel, std::int64_t panel_columns)
        : groups(p.groups)
        , width(panel_columns)
        , panel(panel)
        , group(panel / groups.panels)
        , in_group(panel % groups.panels)
        , first(first_column(p, panel, panel_columns)) {}

    void advance(std::int64_t count) {
        panel += count;
        in_group += count;
        first += count * width;
        if (in_group < groups.panels) return;
        in_group = 0;
        first = ++group * groups.columns;
    }

    const column_groups &groups;
    std::int64_t width, panel, group, in_group, first;
};

/// Computes the columns of some panels of at most max_given_x_rows rows. What lies row by row is read so, for long
/// pieces of memory one after the other; what lies column by column is read panel by panel.
template <typename V>
void multiply_given(const weight_only_panels &p, const float_rows &x, parallel::range panels, float *y,
        std::int64_t y_stride, float *scratch_memory) {
    constexpr auto width = panel_columns<V>;
    const panel_scratch<V> scratch(scratch_memory);
    auto *const scaled = scratch_memory + weight_only_scratch_floats(width);
    auto *const accumulators = scaled + max_given_x_rows * given_rows;
    const auto element = element_of(p);
    const auto &given = p.given;
    const bool are_floats = widening_of(p, element, max_given_x_rows) == widening::to_floats;
    const bool are_in_place = !given.is_transposed && !given.are_nibbles && given.flip == 0 && !are_floats;
    const bool are_added = are_in_place && element == weight_element::s8;
    const auto at_once = x.rows == 1 ? 2 : 1; // panels
    const auto strip = given.is_transposed ? at_once : panels.end - panels.begin;
    constexpr auto buffered = widened_bytes / (2 * width) < given_rows ? widened_bytes / (2 * width) : given_rows;
    const auto chunk = given.is_transposed && !are_floats ? buffered : given_rows_of_all;

    alignas(64) float ones[width];
    for (auto &one : ones)
        one = 1;
    tile_call t;
    t.block = p.block;
    t.prefetched = are_in_place ? given_bytes_ahead : 0;
    t.parameters = p.are_weights_scaled ? weight_parameters {0, ones, nullptr} : p.parameters;
    t.x_stride = p.groups.scales ? given_rows : x.stride;
    t.x_step = p.groups.scales ? 1 : x.step;
    t.x_of_tile = weight_only_tile_rows * t.x_stride;
    for (auto begin = panels.begin; begin < panels.end; begin += strip) {
        const panel_cursor of_strip(p, begin, width);
        const auto end = panels.end - begin < strip ? panels.end : begin + strip;
        for (std::int64_t k = 0; k < p.inner; k += t.count) {
            take_chunk<V>(t, p, k, chunk, 0);
            const auto of_first = t.parameters;
            t.x = p.groups.scales ? scaled : x.first + k * x.step;
            std::int64_t group = -1;
            for (auto at = of_strip; at.panel < end;) {
                const bool are_two = x.rows == 1 && at.panel + 1 < end && at.in_group + 1 < p.groups.panels;
                const int count = are_two ? 2 : 1;
                if (p.groups.scales && at.group != group) {
                    group = at.group;
                    scale_part(x, p.groups, group, k, t.count, scaled);
                }
                const auto all = count * width, of_group = p.groups.columns - at.in_group * width,
                           of_columns = p.columns - at.first, rest = of_group < of_columns ? of_group : of_columns;
                t.columns = rest < all ? rest : all;
                if (are_two && are_added && !t.ends && t.columns == all) {
                    const auto of_end = (end - at.panel) / 2, whole = rest / all,
                               pairs = of_end < whole ? of_end : whole;
                    t.weights = given.data + k * given.stride + at.first;
                    t.weights_stride = given.stride;
                    t.accumulators = accumulators + (at.panel - begin) * width;
                    add_rows<V>(t, pairs);
                    at.advance(2 * pairs);
                    continue;
                }
                const bool is_padded = t.columns < all;
                t.sums = is_padded ? scratch.padded_sums : y + at.first;
                t.sums_stride = is_padded ? all : y_stride;
                t.accumulators = accumulators + (at.panel - begin) * x.rows * width;
                t.parameters = of_first;
                t.parameters.scales += at.panel * t.parameters.of_panel;
                if (t.parameters.zero_points) t.parameters.zero_points += at.panel * t.parameters.of_panel;
                t.weights_of_panel = width;
                if (are_in_place && !is_padded) {
                    t.weights = given.data + k * given.stride + at.first;
                    t.weights_stride = given.stride;
                } else {
                    // Rows of both panels, or each panel's rows where these become floats.
                    t.weights_stride = are_floats ? width : all;
                    t.weights = are_floats ? static_cast<const void *>(scratch.floats) : scratch.bytes;
                    if (are_floats) t.weights_of_panel = (t.count + 1) * width;
                    for (int i = 0; i < (are_floats ? count : 1); ++i) {
                        const auto columns =
                                are_floats ? (rest - i * width < width ? rest - i * width : width) : t.columns;
                        copy_given(given, {k, t.count, at.first + i * width, columns, scratch.bytes, t.weights_stride});
                        if (given.are_nibbles && !p.are_weights_scaled)
                            for (int j = 0; j < (are_floats ? 1 : count); ++j)
                                subtract_zero_points<V>(
                                        p, {k, t.count, at.panel + i + j}, scratch.bytes + j * width, t.weights_stride);
                        if (are_floats)
                            with_element(element, [&]<weight_element of>() {
                                widen_to_floats<V, of>(p, {k, t.count, at.panel + i}, scratch.bytes,
                                        scratch.floats + i * t.weights_of_panel);
                            });
                    }
                }
                with_element(are_floats ? weight_element::f32 : element, [&]<weight_element of>() {
                    if (are_two)
                        multiply_tile<V, 1, 2 * panel_vectors, of>(t);
                    else
                        multiply_rows<V, of>(t, x.rows, 1);
                });
                for (std::int64_t m = 0; m < x.rows && is_padded && k + t.count == p.inner; ++m)
                    std::memcpy(y + m * y_stride + at.first, scratch.padded_sums + m * all,
                            static_cast<std::size_t>(t.columns) * sizeof *y);
                at.advance(count);
            }
            t.parameters = of_first;
        }
    }
}

/// Sums of one rounding, as the definition has them.
template <typename V, typename Fused = simd::fused<V>>
constexpr weight_only_loop weight_only_of = {multiply_weight_only<Fused>, multiply_given<Fused>,
        multiply_windows<Fused>, panel_columns<Fused>, Fused::lanes};

} // namespace
} // namespace dynquant::layers
