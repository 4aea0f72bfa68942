// The loops of narrow_panels.hpp over vectors V, see targets/simd.hpp. A panel is four vectors wide. Few rows multiply
// bytes, which are widened in registers; for more rows, and for floats, a chunk of a panel is widened once, into the
// first-level cache.
#pragma once

#include <cstring>
#include <type_traits>

#include "elements/small_float.hpp"
#include "layers/narrow/narrow_panels.hpp"
#include "targets/lanes.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

constexpr int panel_vectors = 4;
template <typename V>
constexpr std::int64_t panel_columns = panel_vectors *V::lanes;

/// Rows of x that have their accumulators in registers at once.
constexpr int tile_rows = 6;

/// More rows multiply floats.
constexpr std::int64_t most_direct_rows = 8;

/// A tile's vectors: one row takes two panels, so that eight sums do not wait for each other; others as many as leave
/// registers, of 16, or 32 of AVX-512.
template <typename V>
constexpr int vectors_for(int rows) {
    return rows == 1 ? 2 * panel_vectors : rows <= (V::lanes == 16 ? 6 : 3) ? panel_vectors : panel_vectors / 2;
}

/// Some rows of weights, of one block or of whole blocks, by some rows of x.
struct tile_call {
    const void *weights;
    std::int64_t weights_of_panel; // elements from panel to panel
    std::int64_t count, block;     // rows of weights
    const float *x;
    std::int64_t x_stride;
    narrow_parameters parameters;
    float *accumulators, *sums;  // rows of panel_columns<V>
    bool begins, ends, is_first; // of the block
};

/// vectors: of columns, from the tile's first one on.
template <typename V, int rows, int vectors, bool has_zero_points, typename Element>
void multiply_tile(const tile_call &t) {
    using reals = typename V::reals;
    constexpr auto row_elements = panel_columns<V>;
    const auto *weights = static_cast<const Element *>(t.weights);
    const auto *x = t.x;
    auto parameters = t.parameters;
    bool is_first = t.is_first;
    const auto place = [](int v, std::int64_t of_panel) __attribute__((always_inline)) {
        return v / panel_vectors * of_panel + v % panel_vectors * V::lanes;
    };
    [[maybe_unused]] std::int32_t zero_points[has_zero_points ? vectors * V::lanes : 1];
    for (std::int64_t k = 0; k < t.count;) {
        const auto end = t.count - k < t.block ? t.count : k + t.block;
        if constexpr (has_zero_points)
            unroll<vectors>([&](int v) __attribute__((always_inline)) {
                V::store(zero_points + v * V::lanes, V::load(parameters.zero_points + place(v, parameters.of_panel)));
            });
        reals sums[rows][vectors];
        unroll<rows * vectors>([&](int i) __attribute__((always_inline)) {
            const int r = i / vectors, v = i % vectors;
            sums[r][v] =
                    t.begins ? V::splat(0.0F) : V::load(t.accumulators + r * row_elements + place(v, row_elements));
        });
        for (; k < end; ++k, ++x, weights += row_elements) {
            const auto weight = [&](int v) __attribute__((always_inline)) {
                const auto w = V::load(weights + place(v, t.weights_of_panel));
                if constexpr (std::is_same_v<Element, float>)
                    return w;
                else if constexpr (has_zero_points)
                    return V::to_reals(V::subtract(w, V::load(zero_points + v * V::lanes)));
                else
                    return V::to_reals(w);
            };
            if constexpr (rows < vectors) { // what is fewer stays in registers
                reals of_x[rows];
                unroll<rows>([&](int r) __attribute__((always_inline)) { of_x[r] = V::splat(x[r * t.x_stride]); });
                unroll<vectors>([&](int v) __attribute__((always_inline)) {
                    const auto w = weight(v);
                    unroll<rows>([&](int r)
                                    __attribute__((always_inline)) { sums[r][v] = V::fma(of_x[r], w, sums[r][v]); });
                });
            } else {
                reals w[vectors];
                unroll<vectors>([&](int v) __attribute__((always_inline)) { w[v] = weight(v); });
                unroll<rows>([&](int r) __attribute__((always_inline)) {
                    const auto of_x = V::splat(x[r * t.x_stride]);
                    unroll<vectors>([&](int v)
                                    __attribute__((always_inline)) { sums[r][v] = V::fma(of_x, w[v], sums[r][v]); });
                });
            }
        }
        unroll<rows * vectors>([&](int i) __attribute__((always_inline)) {
            const int r = i / vectors, v = i % vectors;
            const auto at = r * row_elements + place(v, row_elements);
            if (!t.ends) return V::store(t.accumulators + at, sums[r][v]);
            const auto scale = V::load(parameters.scales + place(v, parameters.of_panel));
            V::store(t.sums + at, is_first ? sums[r][v] * scale : V::fma(sums[r][v], scale, V::load(t.sums + at)));
        });
        is_first = false;
        parameters.scales += row_elements;
        if constexpr (has_zero_points) parameters.zero_points += row_elements;
    }
}

/// All columns of a panel, or of two.
template <typename V, int rows, bool has_zero_points, typename Element>
void multiply_columns(tile_call t, int panels) {
    constexpr int vectors = vectors_for<V>(rows);
    if constexpr (rows == 1)
        if (panels == 1) return multiply_tile<V, 1, panel_vectors, has_zero_points, Element>(t);
    for (int v = 0; v < panel_vectors; v += vectors) {
        multiply_tile<V, rows, vectors, has_zero_points, Element>(t);
        constexpr auto columns = vectors * V::lanes;
        t.weights = static_cast<const Element *>(t.weights) + columns;
        t.parameters.scales += columns;
        if constexpr (has_zero_points) t.parameters.zero_points += columns;
        t.accumulators += columns;
        t.sums += columns;
    }
}

/// Tiles of nearly as many rows each.
template <typename V, bool has_zero_points, typename Element>
void multiply_rows(tile_call t, std::int64_t rows, int panels) {
    for (auto tiles = (rows + tile_rows - 1) / tile_rows; tiles > 0; --tiles) {
        const auto count = (rows + tiles - 1) / tiles;
        switch (count) {
            case 1: multiply_columns<V, 1, has_zero_points, Element>(t, panels); break;
            case 2: multiply_columns<V, 2, has_zero_points, Element>(t, panels); break;
            case 3: multiply_columns<V, 3, has_zero_points, Element>(t, panels); break;
            case 4: multiply_columns<V, 4, has_zero_points, Element>(t, panels); break;
            case 5: multiply_columns<V, 5, has_zero_points, Element>(t, panels); break;
            default: multiply_columns<V, tile_rows, has_zero_points, Element>(t, panels); break;
        }
        rows -= count;
        t.x += count * t.x_stride;
        t.accumulators += count * panel_columns<V>;
        t.sums += count * panel_columns<V>;
    }
}

/// Some rows of a panel, from one of a block on.
struct rows_of_panel {
    std::int64_t first, count, panel;
};

/// Elements of 4 bits as s8, less their zero points. Writes a row more where the last block's rows are odd.
template <typename V>
void widen_nibbles(const narrow_panels &p, const rows_of_panel &rows, std::int8_t *to) {
    constexpr int columns = panel_columns<V>;
    using bytes = simd::lanes_of<std::uint8_t, columns>;
    const auto pairs_of_block = (p.block + 1) / 2;
    for (std::int64_t k = rows.first; k < rows.first + rows.count;) {
        const auto block = k / p.block, rest = rows.first + rows.count - k, of_block = (block + 1) * p.block - k;
        const auto count = rest < of_block ? rest : of_block;
        const auto *from =
                p.weights + rows.panel * p.panel_bytes + (block * pairs_of_block + k % p.block / 2) * columns;
        auto zero_points = bytes::splat(0);
        if (p.parameters.zero_points && !p.are_weights_scaled)
            zero_points = bytes::load(p.parameters.zero_points + rows.panel * p.parameters.of_panel + block * columns);
        for (std::int64_t i = 0; i < count; i += 2, from += columns) {
            const auto pair = bytes::load(from);
            bytes::store(to + i * columns, (pair & bytes::splat(15)) - zero_points);
            bytes::store(to + (i + 1) * columns, (pair >> 4) - zero_points);
        }
        to += count * columns;
        k += count;
    }
}

template <typename V>
[[gnu::always_inline]] inline typename V::reals load_float8(const std::uint8_t *p, narrow_code code) {
    using e5m2 = float_of<data_type::f8_e5m2>;
    using e4m3 = float_of<data_type::f8_e4m3>;
    if constexpr (V::lanes == 1) {
        return code == narrow_code::f8_e5m2 ? e5m2 {*p}.value() : e4m3 {*p}.value();
    } else {
        if (code == narrow_code::f8_e5m2) return V::load_as_upper_byte(p);
        // An f16 of the same number but for the bias. What is beyond the highest number is NaN.
        constexpr float highest = 448, rebiased = 256;
        const auto value = V::load_as_small_float16(p) * V::splat(rebiased);
        return V::select_less(V::splat(highest), V::abs(value), V::splat(__builtin_nanf("")), value);
    }
}

/// Elements of 8 bits, or what widen_nibbles() made, as floats: less their zero points, and scaled if weights are.
/// has_zero_points: which are not subtracted yet.
template <typename V>
void widen_bytes(
        const narrow_panels &p, const rows_of_panel &rows, const std::byte *from, bool has_zero_points, float *to) {
    constexpr auto columns = panel_columns<V>;
    const auto block = p.are_weights_scaled ? 1 : p.block; // of parameters
    const bool is_integer = p.code == narrow_code::s8 || p.code == narrow_code::u4;
    for (std::int64_t k = rows.first; k < rows.first + rows.count;) {
        const auto rest = rows.first + rows.count - k, of_block = block - k % block;
        const auto count = rest < of_block ? rest : of_block;
        const auto parameters = rows.panel * p.parameters.of_panel + k / block * columns;
        for (std::int64_t v = 0; v < columns; v += V::lanes) {
            const auto scale = V::load(p.parameters.scales + parameters + v);
            auto zero_point = V::splat(0);
            if (has_zero_points) zero_point = V::load(p.parameters.zero_points + parameters + v);
            const auto store = [&](auto load) __attribute__((always_inline)) {
                for (std::int64_t i = v; i < v + count * columns; i += columns)
                    V::store(to + i, p.are_weights_scaled ? load(i) * scale : load(i));
            };
            if (is_integer)
                store([&](std::int64_t i) __attribute__((always_inline)) {
                    return V::to_reals(
                            V::subtract(V::load(reinterpret_cast<const std::int8_t *>(from) + i), zero_point));
                });
            else
                store([&](std::int64_t i) __attribute__((always_inline)) {
                    return load_float8<V>(reinterpret_cast<const std::uint8_t *>(from) + i, p.code);
                });
        }
        from += count * columns;
        to += count * columns;
        k += count;
    }
}

/// One panel, or two beside each other.
template <typename V>
void multiply_panel(const narrow_panels &p, const float_rows &x, std::int64_t panel, int panels, float *y,
        std::int64_t y_stride, narrow_cache_line *scratch) {
    constexpr auto columns = panel_columns<V>;
    alignas(64) static constexpr auto ones = [] {
        struct {
            float values[panel_columns<V>];
        } result = {};
        for (auto &one : result.values)
            one = 1;
        return result;
    }();
    const bool has_nibbles = p.code == narrow_code::u4;
    const bool is_direct =
            (p.code == narrow_code::s8 || has_nibbles) && !p.are_weights_scaled && x.rows <= most_direct_rows;
    const bool has_zero_points = p.parameters.zero_points && !(has_nibbles && !p.are_weights_scaled);
    constexpr auto buffer_lines = narrow_buffer_lines(columns);
    auto *const bytes = reinterpret_cast<std::int8_t *>(scratch);
    auto *const floats = scratch[buffer_lines].values, *const accumulators = scratch[2 * buffer_lines].values,
                *const sums = accumulators + most_narrow_rows * columns;
    const auto chunk = widened_bytes / (columns * panels * (is_direct ? 1 : 4)); // even

    tile_call t;
    t.block = p.block;
    t.x_stride = x.stride;
    t.accumulators = accumulators;
    t.sums = sums;
    t.parameters = p.parameters;
    if (p.inner == 0) std::memset(sums, 0, static_cast<std::size_t>(x.rows * columns) * sizeof *sums);
    for (std::int64_t k = 0; k < p.inner; k += t.count) {
        const auto in_block = k % p.block, rest = p.inner - k;
        t.count = p.block <= chunk           ? chunk / p.block * p.block
                : p.block - in_block < chunk ? p.block - in_block
                                             : chunk;
        if (t.count > rest) t.count = rest;
        t.begins = in_block == 0;
        t.ends = t.count == rest || (k + t.count) % p.block == 0;
        t.is_first = k < p.block;
        t.x = x.first + k;
        const auto first_parameter = panel * p.parameters.of_panel + k / p.block * columns;
        if (p.are_weights_scaled) {
            t.parameters = {0, ones.values, nullptr};
        } else {
            t.parameters.scales = p.parameters.scales + first_parameter;
            t.parameters.zero_points = has_zero_points ? p.parameters.zero_points + first_parameter : nullptr;
        }
        if (is_direct && !has_nibbles) {
            t.weights = p.weights + panel * p.panel_bytes + k * columns;
            t.weights_of_panel = p.panel_bytes;
        } else {
            t.weights_of_panel = (t.count + 1) * columns;
            t.weights = is_direct ? static_cast<const void *>(bytes) : floats;
            for (int i = 0; i < panels; ++i) {
                const rows_of_panel rows = {k, t.count, panel + i};
                const auto *from = p.weights + rows.panel * p.panel_bytes + k * columns;
                if (has_nibbles) {
                    auto *const to = bytes + i * t.weights_of_panel;
                    widen_nibbles<V>(p, rows, to);
                    from = reinterpret_cast<const std::byte *>(to);
                }
                if (!is_direct) widen_bytes<V>(p, rows, from, has_zero_points, floats + i * t.weights_of_panel);
            }
        }
        if (!is_direct)
            multiply_rows<V, false, float>(t, x.rows, panels);
        else if (has_zero_points)
            multiply_rows<V, true, std::int8_t>(t, x.rows, panels);
        else
            multiply_rows<V, false, std::int8_t>(t, x.rows, panels);
    }
    const auto first = panel * columns, rest = p.columns - first, all = panels * columns;
    const auto size = static_cast<std::size_t>(rest < all ? rest : all) * sizeof *y;
    for (std::int64_t m = 0; m < x.rows; ++m)
        std::memcpy(y + m * y_stride + first, sums + m * columns, size);
}

template <typename V>
void multiply_narrow(const narrow_panels &p, const float_rows &x, parallel::range panels, float *y,
        std::int64_t y_stride, narrow_cache_line *scratch) {
    for (auto panel = panels.begin; panel < panels.end;) {
        const int count = x.rows == 1 && panel + 1 < panels.end ? 2 : 1;
        multiply_panel<V>(p, x, panel, count, y, y_stride, scratch);
        panel += count;
    }
}

template <typename V>
constexpr narrow_kind narrow_kind_of() {
    return {multiply_narrow<V>, panel_columns<V>};
}

} // namespace
} // namespace dynquant::layers
