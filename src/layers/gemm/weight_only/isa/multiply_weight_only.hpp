// The loops of weight_only_panels.hpp over vectors V, see targets/simd.hpp. A panel is four vectors wide. Weights
// become floats in one of four ways, `widening`: bytes in registers, as they are multiplied; 4-bit weights as a chunk
// of bytes in the first-level cache before it is multiplied or, for one row of x, while the chunk before it is; and
// weights that are scaled one by one and, for some rows of x, s8 with zero points and float8, as a chunk of floats
// there, as all weights in short blocks do for many rows.
#pragma once

#include <cstring>
#include <type_traits>

#include "elements/ceil_div.hpp"
#include "elements/small_float.hpp"
#include "layers/gemm/isa/row_tiles.hpp"
#include "layers/gemm/weight_only/weight_only_panels.hpp"
#include "targets/lanes.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

using simd::unroll;

constexpr int panel_vectors = 4;
template <typename V>
constexpr std::int64_t panel_columns = panel_vectors *V::lanes;

/// How far ahead weights are prefetched, where rows are so few that they wait for them.
constexpr std::int64_t prefetched_bytes = 2048;

/// A tile's vectors: one row takes two panels, so that eight sums do not wait for each other; others as many as leave
/// registers, of 16, or 32 of AVX-512.
template <typename V>
constexpr int vectors_for(int rows) {
    return rows == 1 ? 2 * panel_vectors
            : rows <= (V::registers == 32     ? 6
                              : V::lanes == 1 ? 1
                                              : 3)
            ? panel_vectors
            : panel_vectors / 2;
}

/// What the weights of a tile are, which become floats in registers.
enum class weight_element { f32, s8, s8_with_zero_points, f8_e4m3, f8_e5m2 };
template <weight_element of>
using stored = std::conditional_t<of == weight_element::f32, float,
        std::conditional_t<of == weight_element::s8 || of == weight_element::s8_with_zero_points, std::int8_t,
                std::uint8_t>>;

/// A vector of them. zero_points: of its columns.
template <typename V, weight_element of>
[[gnu::always_inline]] inline typename V::reals load_weights(
        const stored<of> *p, [[maybe_unused]] const std::int32_t *zero_points) {
    using enum weight_element;
    if constexpr (of == f32)
        return V::load(p);
    else if constexpr (of == s8)
        return V::to_reals(V::load(p));
    else if constexpr (of == s8_with_zero_points)
        return V::to_reals(V::subtract(V::load(p), V::load(zero_points)));
    else if constexpr (V::lanes == 1)
        return float_of<(of == f8_e4m3 ? data_type::f8_e4m3 : data_type::f8_e5m2)> {*p}.value();
    else if constexpr (of == f8_e4m3)
        return V::load_as_small_float16(p) * V::splat(256.0F); // an f16 of the same number but for the bias; no NaN
    else
        return V::load_as_upper_byte(p);
}

/// Some rows of weights, of one block or of whole blocks, by some rows of x.
struct tile_call {
    const void *weights;
    std::int64_t weights_of_panel, weights_stride; // elements from panel to panel, and from row to row
    std::int64_t prefetched = prefetched_bytes;    // ahead, of bytes
    std::int64_t count, block;                     // rows of weights
    const float *x;
    std::int64_t x_stride, x_step, x_of_tile; // elements from row to row, in a row, and from tile to tile
    weight_parameters parameters;
    float *accumulators; // rows of panel_columns<V>
    float *sums;
    std::int64_t sums_stride;
    /// Whether the chunk begins a block; ends one; whether its first block is the first of the columns.
    bool begins, ends, is_first;
    std::int64_t columns; // that are not padding
};

/// vectors: of columns, from the tile's first one on.
template <typename V, int rows, int vectors, weight_element of>
[[gnu::noinline]] void multiply_tile(const tile_call &t) { // inlined, it would leave too few registers
    using reals = typename V::reals;
    constexpr auto row_elements = panel_columns<V>;
    const auto *weights = static_cast<const stored<of> *>(t.weights);
    const auto *x = t.x;
    auto parameters = t.parameters;
    bool is_first = t.is_first;
    const auto place = [](int v, std::int64_t of_panel) __attribute__((always_inline)) {
        return v / panel_vectors * of_panel + v % panel_vectors * V::lanes;
    };
    // Fields that stores may change, for all the compiler knows.
    float *const accumulators = t.accumulators, *const scaled_sums = t.sums;
    const auto sums_stride = t.sums_stride;
    const bool ends = t.ends;
    const auto x_step = t.x_step, weights_stride = t.weights_stride, prefetched = t.prefetched;
    const auto for_each_sum = [](auto f) __attribute__((always_inline)) {
        unroll<rows * vectors>([&](int i) __attribute__((always_inline)) { f(i / vectors, i % vectors); });
    };
    std::int32_t zero_points[vectors * V::lanes];
    for (std::int64_t k = 0; k < t.count;) {
        const auto end = t.count - k < t.block ? t.count : k + t.block;
        if constexpr (of == weight_element::s8_with_zero_points)
            unroll<vectors>([&](int v) __attribute__((always_inline)) {
                V::store(zero_points + v * V::lanes, V::load(parameters.zero_points + place(v, parameters.of_panel)));
            });
        reals sums[rows][vectors];
        for_each_sum([&](int r, int v) __attribute__((always_inline)) {
            sums[r][v] = t.begins ? V::splat(0.0F) : V::load(accumulators + r * row_elements + place(v, row_elements));
        });
        for (; k < end; ++k, x += x_step, weights += weights_stride) {
            if constexpr (rows == 1 && of != weight_element::f32) // which waits for weights
                for (std::int64_t i = 0; i < vectors; i += panel_vectors)
                    __builtin_prefetch(weights + place(static_cast<int>(i), t.weights_of_panel) + prefetched);
            const auto weight = [&](int v) __attribute__((always_inline)) {
                return load_weights<V, of>(weights + place(v, t.weights_of_panel), zero_points + v * V::lanes);
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
        if (!ends) {
            for_each_sum([&](int r, int v) __attribute__((always_inline)) {
                V::store(accumulators + r * row_elements + place(v, row_elements), sums[r][v]);
            });
        } else {
            reals scales[vectors];
            unroll<vectors>([&](int v) __attribute__((always_inline)) {
                scales[v] = V::load(parameters.scales + place(v, parameters.of_panel));
            });
            const auto store_sums = [&](auto scaled) __attribute__((always_inline)) {
                for_each_sum([&](int r, int v) __attribute__((always_inline)) {
                    auto *const to = scaled_sums + r * sums_stride + v * V::lanes;
                    V::store(to, scaled(sums[r][v], scales[v], to));
                });
            };
            if (is_first)
                store_sums([](reals sum, reals scale, const float *)
                                __attribute__((always_inline)) { return sum * scale; });
            else
                store_sums([](reals sum, reals scale, const float *to)
                                __attribute__((always_inline)) { return V::fma(sum, scale, V::load(to)); });
        }
        is_first = false;
        parameters.scales += row_elements;
        if constexpr (of == weight_element::s8_with_zero_points) parameters.zero_points += row_elements;
    }
}

/// All columns of a panel, or of two, but for tiles of padding.
template <typename V, int rows, weight_element of>
void multiply_columns(tile_call t, int panels) {
    constexpr int vectors = vectors_for<V>(rows);
    if constexpr (rows == 1)
        if (panels == 1) return multiply_tile<V, 1, panel_vectors, of>(t);
    if constexpr (rows == weight_only_tile_rows && V::lanes > 1) {
        // Others have few tiles, which are not worth code of their own: widening_of() makes floats of those that have
        // more.
        constexpr bool has_many_tiles = of == weight_element::f32 || of == weight_element::s8;
        if constexpr (has_many_tiles)
            if (t.columns <= V::lanes) return multiply_tile<V, rows, 1, of>(t);
        if constexpr (vectors == panel_vectors) {
            if (t.columns <= 2 * V::lanes) return multiply_tile<V, rows, 2, of>(t);
            if constexpr (has_many_tiles)
                if (t.columns <= 3 * V::lanes) return multiply_tile<V, rows, 3, of>(t);
        }
    }
    for (int v = 0; v < panel_vectors && v * V::lanes < t.columns; v += vectors) {
        multiply_tile<V, rows, vectors, of>(t);
        constexpr auto columns = vectors * V::lanes;
        t.weights = static_cast<const stored<of> *>(t.weights) + columns;
        t.parameters.scales += columns;
        if constexpr (of == weight_element::s8_with_zero_points) t.parameters.zero_points += columns;
        t.accumulators += columns;
        t.sums += columns;
    }
}

template <typename V, weight_element of>
void multiply_rows(const tile_call &all, std::int64_t rows, int panels) {
    static_assert(weight_only_tile_rows == 6);
    const auto multiply_some = [&](auto count, std::int64_t row) {
        auto t = all;
        t.x += row / weight_only_tile_rows * t.x_of_tile + row % weight_only_tile_rows * t.x_stride;
        t.accumulators += row * panel_columns<V>;
        t.sums += row * t.sums_stride;
        multiply_columns<V, count, of>(t, panels);
    };
    if constexpr (V::lanes == 1) // fma() in software takes the time, of which code for more rows would save nothing
        for_each_row_tile<1>(rows, multiply_some);
    else
        for_each_row_tile<weight_only_tile_rows, 5, 4, 3, 2, 1>(rows, multiply_some);
}

/// Some rows of a panel, from one of a block on.
struct rows_of_panel {
    std::int64_t first, count, panel;
};

/// A byte for each column of a panel.
template <typename V>
using row_of_bytes = simd::lanes_of<std::uint8_t, static_cast<int>(panel_columns<V>)>;

/// Two adjacent rows of 4 bits as s8, less their zero points.
template <typename V>
[[gnu::always_inline]] inline void widen_pair(const std::byte *from,
        const typename row_of_bytes<V>::vector &zero_points, const typename row_of_bytes<V>::vector &of_second,
        std::int8_t *to) {
    using bytes = row_of_bytes<V>;
    const auto pair = bytes::load(from);
    bytes::store(to, (pair & bytes::splat(15)) - zero_points);
    bytes::store(to + panel_columns<V>, (pair >> 4) - of_second);
}

/// Two adjacent rows of a group of columns, less the zero point of each.
template <typename V>
[[gnu::always_inline]] inline void widen_pair(const std::byte *from, const std::int8_t *zero_points, std::int8_t *to) {
    using bytes = row_of_bytes<V>;
    widen_pair<V>(from, bytes::splat(static_cast<std::uint8_t>(zero_points[0])),
            bytes::splat(static_cast<std::uint8_t>(zero_points[1])), to);
}

/// The zero points of a panel's rows, those of its group of columns; null: it has none of this kind.
inline const std::int8_t *row_zero_points(const weight_only_panels &p, std::int64_t panel) {
    return p.groups.zero_points ? p.groups.zero_points + panel / p.groups.panels * p.groups.zero_points_of_group
                                : nullptr;
}

/// Elements of 4 bits as s8, less their zero points. Writes a row more where the last block's rows are odd.
template <typename V>
void widen_nibbles(const weight_only_panels &p, const rows_of_panel &rows, std::int8_t *to) {
    constexpr int columns = panel_columns<V>;
    const auto block_bytes = ceil_div(p.block, 2) * columns, first_block = rows.first / p.block;
    auto first = rows.first % p.block; // in its block
    const auto *from_block = p.weights + rows.panel * p.panel_bytes + first_block * block_bytes;
    if (const auto *const of_rows = row_zero_points(p, rows.panel)) { // one block has all rows
        const auto *from = from_block + first / 2 * columns;
        for (auto k = rows.first; k < rows.first + rows.count; k += 2, from += columns, to += 2 * columns)
            widen_pair<V>(from, of_rows + k, to);
        return;
    }
    const bool has_zero_points = p.parameters.zero_points && !p.are_weights_scaled;
    const std::int8_t none[columns] = {}, *zero_points_of_block = none;
    if (has_zero_points)
        zero_points_of_block = p.parameters.zero_points + rows.panel * p.parameters.of_panel + first_block * columns;
    for (auto rest = rows.count; rest > 0; from_block += block_bytes, first = 0) {
        const auto in_block = p.block - first, count = rest < in_block ? rest : in_block;
        const auto *from = from_block + first / 2 * columns;
        const auto zero_points = row_of_bytes<V>::load(zero_points_of_block);
        if (has_zero_points) zero_points_of_block += columns;
        for (std::int64_t i = 0; i < count; i += 2, from += columns)
            widen_pair<V>(from, zero_points, zero_points, to + i * columns);
        to += count * columns;
        rest -= count;
    }
}

/// Elements of 8 bits, or what widen_nibbles() made, as floats: less their zero points, and times their scales where
/// each row has its own, rounded where that is float16. strip_vectors: of columns, whose rows lie together.
template <typename V, weight_element of, int strip_vectors = panel_vectors>
void widen_to_floats(const weight_only_panels &p, const rows_of_panel &rows, const void *weights, float *to) {
    constexpr auto strip_columns = strip_vectors * V::lanes;
    const auto of_strip = rows.count * strip_columns;
    constexpr auto columns = panel_columns<V>;
    const auto *from = static_cast<const stored<of> *>(weights);
    const auto *const of_rows = row_zero_points(p, rows.panel);
    const auto block = of_rows ? 1 : p.parameter_block;
    auto parameter = rows.panel * p.parameters.of_panel + rows.first / block * columns;
    auto in_block = block - rows.first % block;
    std::int32_t zero_points[columns] = {};
    for (auto rest = rows.count; rest > 0; parameter += columns, in_block = block) {
        const auto count = rest < in_block ? rest : in_block;
        typename V::reals scales[panel_vectors];
        unroll<panel_vectors>([&](int vector) __attribute__((always_inline)) {
            const auto v = vector * V::lanes;
            if constexpr (of == weight_element::s8_with_zero_points) {
                if (of_rows)
                    for (int lane = 0; lane < V::lanes; ++lane)
                        zero_points[v + lane] = of_rows[(rows.first + rows.count - rest) * p.groups.zero_points_of_row];
                else
                    V::store(zero_points + v, V::load(p.parameters.zero_points + parameter + v));
            }
            scales[vector] = p.are_weights_scaled ? V::load(p.parameters.scales + parameter + v) : V::splat(1.0F);
        });
        const auto convert = [&](auto scaled) __attribute__((always_inline)) {
            for (std::int64_t i = 0; i < count; ++i, from += columns, to += strip_columns)
                unroll<panel_vectors>([&](int v) __attribute__((always_inline)) {
                    const auto w = load_weights<V, of>(from + v * V::lanes, zero_points + v * V::lanes);
                    V::store(to + v / strip_vectors * of_strip + v % strip_vectors * V::lanes, scaled(w, scales[v]));
                });
        };
        using reals = typename V::reals;
        if (!p.are_weights_scaled)
            convert([](reals w, reals) __attribute__((always_inline)) { return w; });
        else if (!p.are_float16)
            convert([](reals w, reals scale) __attribute__((always_inline)) { return w * scale; });
        else
            convert([](reals w, reals scale) __attribute__((always_inline)) {
                return V::rounded(static_cast<const simd::float16_bits *>(nullptr), w * scale);
            });
        rest -= count;
    }
}

/// A panel of 4 bits, or two, by one row of x. While some rows are multiplied, those behind them are widened. sums: of
/// all columns, with padding. bytes: widened_bytes.
template <typename V, int panels, bool has_row_zero_points>
[[gnu::noinline]] void multiply_nibbles(
        const weight_only_panels &p, const float_rows &x, std::int64_t panel, float *sums, std::int8_t *bytes) {
    using reals = typename V::reals;
    constexpr auto columns = panel_columns<V>;
    constexpr int vectors = panels * panel_vectors;
    constexpr auto most = widened_bytes / (4 * panels * columns); // rows at once, of a block
    static constexpr std::int8_t none[columns] = {};
    const auto inner = p.inner, block = p.block, panel_bytes = p.panel_bytes, of_panel = p.parameters.of_panel;
    const auto *const of_x = x.first;
    const auto x_step = x.step;
    const auto *scales = p.parameters.scales + panel * of_panel;
    auto *now = bytes, *next = bytes + most * panels * columns;

    const auto *from = p.weights + panel * panel_bytes; // of the rows behind, as their zero points
    const bool has_zero_points = p.parameters.zero_points != nullptr;
    const auto *zero_points = has_zero_points ? p.parameters.zero_points + panel * of_panel : none;
    const auto zero_points_of_panel = has_zero_points ? of_panel : 0,
               zero_points_of_block = has_zero_points ? columns : 0;
    const auto *zero_points_of_rows = row_zero_points(p, panel);
    const auto widen = [&](std::int8_t * to) __attribute__((always_inline)) {
        unroll<panels>([&](int i) __attribute__((always_inline)) {
            __builtin_prefetch(from + i * panel_bytes + prefetched_bytes);
            if constexpr (has_row_zero_points) {
                widen_pair<V>(from + i * panel_bytes, zero_points_of_rows, to + i * 2 * columns);
            } else {
                const auto both = row_of_bytes<V>::load(zero_points + i * zero_points_of_panel);
                widen_pair<V>(from + i * panel_bytes, both, both, to + i * 2 * columns);
            }
        });
        from += columns;
        if constexpr (has_row_zero_points) zero_points_of_rows += 2;
    };
    const auto rows_at = [=](std::int64_t k, std::int64_t in_block) {
        const auto in_inner = inner - k, rest = block - in_block, rows = rest < in_inner ? rest : in_inner;
        return rows < most ? rows : most;
    };
    auto rows = rows_at(0, 0);
    for (std::int64_t i = 0; i < rows; i += 2)
        widen(now + i * panels * columns);

    reals accumulators[vectors];
    unroll<vectors>([&](int v) __attribute__((always_inline)) { accumulators[v] = V::splat(0.0F); });
    const auto multiply = [&](const std::int8_t *weights, float x_of_row) __attribute__((always_inline)) {
        const auto of_row = V::splat(x_of_row);
        unroll<vectors>([&](int v) __attribute__((always_inline)) {
            const auto *const at = weights + v / panel_vectors * 2 * columns + v % panel_vectors * V::lanes;
            accumulators[v] = V::fma(of_row, V::to_reals(V::load(at)), accumulators[v]);
        });
    };
    for (std::int64_t k = 0, in_block = 0; k < inner;) {
        const auto *const x_of_rows = of_x + k * x_step;
        k += rows;
        in_block += rows;
        const bool ends = in_block == block || k == inner;
        if (ends) {
            in_block = 0;
            zero_points += zero_points_of_block;
        }
        const auto next_rows = k < inner ? rows_at(k, in_block) : 0;
        const auto pairs = (rows < next_rows ? rows : next_rows) / 2 * 2;
        std::int64_t i = 0;
        for (; i < pairs; i += 2) {
            widen(next + i * panels * columns);
            multiply(now + i * panels * columns, x_of_rows[i * x_step]);
            multiply(now + i * panels * columns + columns, x_of_rows[(i + 1) * x_step]);
        }
        for (auto rest = i; rest < rows; ++rest)
            multiply(now + rest / 2 * 2 * panels * columns + rest % 2 * columns, x_of_rows[rest * x_step]);
        for (; i < next_rows; i += 2)
            widen(next + i * panels * columns);
        if (ends) {
            const bool is_first = k <= block;
            unroll<vectors>([&](int v) __attribute__((always_inline)) {
                const auto scale = V::load(scales + v / panel_vectors * of_panel + v % panel_vectors * V::lanes);
                auto *const to = sums + v * V::lanes;
                V::store(to, is_first ? accumulators[v] * scale : V::fma(accumulators[v], scale, V::load(to)));
                accumulators[v] = V::splat(0.0F);
            });
            scales += columns;
        }
        auto *const of_rows = now;
        now = next;
        next = of_rows;
        rows = next_rows;
    }
}

template <typename V>
void multiply_nibbles(const weight_only_panels &p, const float_rows &x, std::int64_t panel, int panels, float *sums,
        std::int8_t *bytes) {
    const auto call = [&](auto f) { f(p, x, panel, sums, bytes); };
    if (p.groups.zero_points)
        call(panels == 1 ? multiply_nibbles<V, 1, true> : multiply_nibbles<V, 2, true>);
    else
        call(panels == 1 ? multiply_nibbles<V, 1, false> : multiply_nibbles<V, 2, false>);
}

/// What widen_nibbles() leaves: bytes.
inline weight_element element_of(const weight_only_panels &p) {
    using enum weight_element;
    switch (p.code) {
        case weight_code::f8_e4m3: return f8_e4m3;
        case weight_code::f8_e5m2: return f8_e5m2;
        case weight_code::u4:
            if (!p.are_weights_scaled) return s8;
            [[fallthrough]];
        case weight_code::s8: return p.parameters.zero_points || p.groups.zero_points ? s8_with_zero_points : s8;
    }
    return s8; // no enumerator
}

/// How weights become floats: in registers, for each tile again; as bytes or floats in the first-level cache before
/// they are multiplied; or, nibbles of one row of x, as bytes while those before them are multiplied.
enum class widening { in_registers, to_bytes, to_floats, beside };

/// To widen s8 costs a tile less than to load floats, as measured with AVX2.
inline widening widening_of(const weight_only_panels &p, weight_element element, std::int64_t rows) {
    using enum weight_element;
    const bool is_float8 = element == f8_e4m3 || element == f8_e5m2;
    if (p.are_weights_scaled
            || (element == s8_with_zero_points && (p.groups.zero_points || rows > 4 * weight_only_tile_rows))
            || (is_float8 && rows > 2 * weight_only_tile_rows))
        return widening::to_floats;
    if (p.code != weight_code::u4) return widening::in_registers;
    return rows == 1 ? widening::beside : widening::to_bytes;
}

/// Calls f<element>.
template <typename F>
void with_element(weight_element element, F f) {
    using enum weight_element;
    switch (element) {
        case f32: return f.template operator()<f32>();
        case s8: return f.template operator()<s8>();
        case s8_with_zero_points: return f.template operator()<s8_with_zero_points>();
        case f8_e4m3: return f.template operator()<f8_e4m3>();
        case f8_e5m2: return f.template operator()<f8_e5m2>();
    }
}

/// A part's memory, as weight_only_scratch_floats() counts it.
template <typename V>
struct panel_scratch {
    static constexpr auto buffer = weight_only_buffer_floats(panel_columns<V>);
    explicit panel_scratch(float *first)
        : bytes(reinterpret_cast<std::int8_t *>(first))
        , floats(first + buffer)
        , accumulators(first + 3 * buffer)
        , padded_sums(accumulators + max_weight_only_rows * panel_columns<V>) {}

    std::int8_t *bytes;
    float *floats, *accumulators, *padded_sums;
};

/// Rows of weights that are multiplied at a time, at most. Bytes that are read once are one chunk. Others are of an
/// even number of rows.
template <typename V>
std::int64_t chunk_rows(const weight_only_panels &p, widening how, std::int64_t rows_of_x, int panels) {
    const bool is_one_chunk = how == widening::in_registers && rows_of_x <= weight_only_tile_rows
            && vectors_for<V>(static_cast<int>(rows_of_x)) >= panel_vectors;
    return is_one_chunk ? p.inner : widened_bytes / (panel_columns<V> * panels * (how == widening::to_floats ? 4 : 1));
}

/// The rows of weights from k on that are multiplied next: whole blocks, or a part of one.
template <typename V>
void take_chunk(tile_call &t, const weight_only_panels &p, std::int64_t k, std::int64_t chunk, std::int64_t panel) {
    const auto in_block = k % p.block, rest = p.inner - k;
    t.count = p.block <= chunk ? chunk / p.block * p.block : p.block - in_block < chunk ? p.block - in_block : chunk;
    if (t.count > rest) t.count = rest;
    t.begins = in_block == 0;
    t.ends = t.count == rest || (k + t.count) % p.block == 0;
    t.is_first = k < p.block;
    if (p.are_weights_scaled) return;
    const auto first = panel * p.parameters.of_panel + k / p.block * panel_columns<V>;
    t.parameters.scales = p.parameters.scales + first;
    if (p.parameters.zero_points) t.parameters.zero_points = p.parameters.zero_points + first;
}

/// Sets the chunk's weights, which begin at row k: where they lie, or widened in the scratch memory.
template <typename V>
void widen_chunk(tile_call &t, const weight_only_panels &p, widening how, weight_element element, std::int64_t k,
        std::int64_t panel, int panels, const panel_scratch<V> &scratch) {
    const auto *const given = p.weights + panel * p.panel_bytes + k * panel_columns<V>; // of bytes
    if (how == widening::in_registers) {
        t.weights = given;
        t.weights_of_panel = p.panel_bytes;
        return;
    }
    t.weights = how == widening::to_floats ? static_cast<const void *>(scratch.floats) : scratch.bytes;
    t.weights_of_panel = (t.count + 1) * panel_columns<V>;
    for (int i = 0; i < panels; ++i) {
        const rows_of_panel rows = {k, t.count, panel + i};
        const void *weights = given + i * p.panel_bytes;
        if (p.code == weight_code::u4) {
            auto *const bytes = scratch.bytes + i * t.weights_of_panel;
            widen_nibbles<V>(p, rows, bytes);
            weights = bytes;
        }
        if (how == widening::to_floats)
            with_element(element, [&]<weight_element of>() {
                widen_to_floats<V, of>(p, rows, weights, scratch.floats + i * t.weights_of_panel);
            });
    }
}

/// One panel, or two beside each other.
template <typename V>
void multiply_panel(const weight_only_panels &p, const float_rows &x, std::int64_t x_of_tile, std::int64_t panel,
        int panels, float *y, std::int64_t y_stride, float *scratch_memory) {
    const auto element = element_of(p);
    const auto how = widening_of(p, element, x.rows);
    const panel_scratch<V> scratch(scratch_memory);
    const auto chunk = chunk_rows<V>(p, how, x.rows, panels);
    const auto first = first_column(p, panel, panel_columns<V>), all = panels * panel_columns<V>;

    tile_call t;
    t.block = p.block;
    t.weights_stride = panel_columns<V>;
    t.x_stride = x.stride;
    t.x_step = x.step;
    t.x_of_tile = x_of_tile;
    t.accumulators = scratch.accumulators;
    t.columns = all - panel_columns<V> + columns_of(p, panel + panels - 1, panel_columns<V>);
    const bool is_padded = t.columns < all;
    t.sums = is_padded ? scratch.padded_sums : y + first;
    t.sums_stride = is_padded ? all : y_stride;
    t.parameters = p.parameters;
    alignas(64) float ones[panel_columns<V>]; // the scales of weights that have been scaled
    if (p.are_weights_scaled) {
        for (auto &one : ones)
            one = 1;
        t.parameters = {0, ones, nullptr};
    }
    if (how == widening::beside)
        multiply_nibbles<V>(p, x, panel, panels, t.sums, scratch.bytes);
    else
        for (std::int64_t k = 0; k < p.inner; k += t.count) {
            take_chunk<V>(t, p, k, chunk, panel);
            t.x = x.first + k * x.step;
            widen_chunk(t, p, how, element, k, panel, panels, scratch);
            with_element(how == widening::to_floats ? weight_element::f32 : element,
                    [&]<weight_element of>() { multiply_rows<V, of>(t, x.rows, panels); });
        }
    const auto size = static_cast<std::size_t>(t.columns) * sizeof *y;
    for (std::int64_t m = 0; m < x.rows && (is_padded || p.inner == 0); ++m)
        if (p.inner == 0)
            std::memset(y + m * y_stride + first, 0, size);
        else
            std::memcpy(y + m * y_stride + first, scratch.padded_sums + m * all, size);
}

/// Elements of at most weight_only_tile_rows rows, of each row weight_only_tile_rows apart.
inline void copy_tile(const float *x, std::int64_t step, std::int64_t rows, std::int64_t inner, float *to) {
    for (std::int64_t k = 0; k < inner; ++k, x += step, to += weight_only_tile_rows)
        if (rows >= weight_only_tile_rows)
            std::memcpy(to, x, weight_only_tile_rows * sizeof *x); // of known size: two loads and stores
        else
            std::memcpy(to, x, static_cast<std::size_t>(rows) * sizeof *x);
}

/// Rows of x times the scales of a group of columns, each in one piece.
inline void scale_rows(const float_rows &x, const column_groups &g, std::int64_t group, std::int64_t inner, float *to) {
    const auto *const scales = g.scales + group * g.scales_of_group;
    for (std::int64_t row = 0; row < x.rows; ++row, to += inner) {
        const auto *const from = x.first + row * x.stride;
        if (g.block == 1 && x.step == 1)
            for (std::int64_t k = 0; k < inner; ++k)
                to[k] = from[k] * scales[k];
        else
            for (std::int64_t k = 0, block = 0; k < inner; ++block)
                for (const auto end = inner - k < g.block ? inner : k + g.block; k < end; ++k)
                    to[k] = from[k * x.step] * scales[block];
    }
}

/// Calls f(rows, first row) for tiles of weight_only_tile_rows, but where one to three rows would be left, for two of
/// nearly as many each: the sums of so few rows would wait for each other. rows: at least as many as two tiles.
template <typename F>
[[gnu::always_inline]] inline void for_each_even_tile(std::int64_t rows, const F &f) {
    constexpr std::int64_t most = weight_only_tile_rows;
    static_assert(most == 6);
    const auto rest = rows % most, last = rest == 0 || rest > 3 ? rest : most + rest, first = rows - last;
    for (std::int64_t row = 0; row < first; row += most)
        f(std::integral_constant<int, most>(), row);
    const auto of_last = [&](auto count, std::int64_t row) { f(count, first + row); };
    if (last == 9)
        for_each_row_tile<5, 4, 3, 2, 1>(last, of_last);
    else if (last > most)
        for_each_row_tile<4, 3, 2, 1>(last, of_last);
    else
        for_each_row_tile<5, 4, 3, 2, 1>(last, of_last);
}

/// Copies `count` rows of x, so that elements of all of them are adjacent.
template <typename V, int count>
void copy_rows(const float_rows &x, std::int64_t first, std::int64_t inner, float *to) {
    const auto *const from = x.first + first * x.stride;
    constexpr int lanes = V::lanes, vectors = ceil_div(count, lanes); // of an element of all rows
    std::int64_t k = 0;
    if (x.step == 1)
        for (; k + lanes <= inner; k += lanes) {
            typename V::reals rows[vectors][lanes];
            unroll<vectors>([&](int v) __attribute__((always_inline)) {
                unroll<lanes>([&](int lane) __attribute__((always_inline)) {
                    const auto r = v * lanes + lane;
                    rows[v][lane] = r < count ? V::load(from + r * x.stride + k) : V::splat(0.0F);
                });
                V::transpose_reals(rows[v]);
            });
            unroll<lanes>([&](int i) __attribute__((always_inline)) {
                unroll<vectors>([&](int v) __attribute__((always_inline)) {
                    V::store(to + v * lanes, rows[v][i]); // what is behind the rows is overwritten
                });
                to += count;
            });
        }
    for (; k < inner; ++k, to += count)
        for (std::int64_t r = 0; r < count; ++r)
            to[r] = from[r * x.stride + k * x.step];
}

/// Many rows of x by some panels. Weights become floats in strips of as many columns as a tile has, which all rows take
/// from the first-level cache; each tile of x is one stream; and sums of a panel stay in that cache until they are
/// whole.
template <typename V>
void multiply_many(const weight_only_panels &p, const float_rows &x, parallel::range panels, float *y,
        std::int64_t y_stride, float *scratch_memory) {
    constexpr int vectors = vectors_for<V>(weight_only_tile_rows);
    constexpr std::int64_t width = panel_columns<V>, strip = vectors * V::lanes;
    constexpr auto chunk = widened_bytes / static_cast<std::int64_t>(strip * sizeof(float));
    static_assert(max_many_block <= chunk); // so that chunks have whole blocks
    const panel_scratch<V> scratch(scratch_memory);
    auto *const copied = scratch_memory + weight_only_scratch_floats(width), *const sums = scratch.padded_sums;
    for_each_even_tile(x.rows,
            [&](auto count, std::int64_t row) { copy_rows<V, count>(x, row, p.inner, copied + row * p.inner); });
    tile_call t;
    t.block = p.block;
    t.weights_stride = t.sums_stride = strip;
    t.x_stride = 1;
    t.accumulators = scratch.accumulators;
    t.parameters = p.parameters;
    const auto element = element_of(p);
    for (auto panel = panels.begin; panel < panels.end; ++panel) {
        const auto columns = columns_of(p, panel, width);
        for (std::int64_t k = 0; k < p.inner; k += t.count) {
            take_chunk<V>(t, p, k, chunk, panel);
            const rows_of_panel rows = {k, t.count, panel};
            const void *weights = p.weights + panel * p.panel_bytes + k * width;
            if (p.code == weight_code::u4) {
                widen_nibbles<V>(p, rows, scratch.bytes);
                weights = scratch.bytes;
            }
            with_element(element,
                    [&]<weight_element of>() { widen_to_floats<V, of, vectors>(p, rows, weights, scratch.floats); });
            for (std::int64_t n = 0; n < columns; n += strip) {
                auto of_tile = t;
                of_tile.weights = scratch.floats + n * t.count;
                of_tile.parameters.scales += n;
                for_each_even_tile(x.rows, [&](auto count, std::int64_t row) {
                    of_tile.x = copied + row * p.inner + k * count;
                    of_tile.x_step = count;
                    of_tile.sums = sums + n * x.rows + row * strip;
                    multiply_tile<V, count, vectors, weight_element::f32>(of_tile);
                });
            }
        }
        for (std::int64_t n = 0; n < columns; n += strip) {
            auto *to = y + first_column(p, panel, width) + n;
            const auto *from = sums + n * x.rows;
            for (std::int64_t row = 0; row < x.rows; ++row, from += strip, to += y_stride)
                if (columns - n >= strip)
                    std::memcpy(to, from, strip * sizeof *y); // of known size: loads and stores
                else
                    std::memcpy(to, from, static_cast<std::size_t>(columns - n) * sizeof *y);
        }
    }
}

template <typename V>
void multiply_weight_only(const weight_only_panels &p, const float_rows &given, parallel::range panels, float *y,
        std::int64_t y_stride, float *scratch) {
    if constexpr (V::lanes > 1)
        if (given.rows >= min_many_rows && panels.end - panels.begin >= min_many_panels && p.inner > 0
                && p.block <= max_many_block && !p.are_weights_scaled && !p.groups.scales)
            return multiply_many<V>(p, given, panels, y, y_stride, scratch);
    auto x = given;
    auto x_of_tile = weight_only_tile_rows * x.stride;
    // Each tile has its elements together, in fewer lines of the first-level cache.
    if (x.step != 1 && !p.groups.scales) {
        auto *const copied = scratch + weight_only_scratch_floats(panel_columns<V>);
        x_of_tile = weight_only_tile_rows * p.inner;
        for (std::int64_t first = 0; first < x.rows; first += weight_only_tile_rows)
            copy_tile(x.first + first, x.step, x.rows - first, p.inner, copied + first * p.inner);
        x = {copied, x.rows, 1, weight_only_tile_rows};
    }
    for (auto panel = panels.begin; panel < panels.end;) {
        const auto in_group = panel % p.groups.panels;
        if (p.groups.scales && (in_group == 0 || panel == panels.begin)) {
            auto *const scaled = scratch + weight_only_scratch_floats(panel_columns<V>);
            scale_rows(given, p.groups, panel / p.groups.panels, p.inner, scaled);
            x = {scaled, given.rows, p.inner};
            x_of_tile = weight_only_tile_rows * p.inner;
        }
        const int count = x.rows == 1 && panel + 1 < panels.end && in_group + 1 < p.groups.panels ? 2 : 1;
        multiply_panel<V>(p, x, x_of_tile, panel, count, y, y_stride, scratch);
        panel += count;
    }
}

} // namespace
} // namespace dynquant::layers
