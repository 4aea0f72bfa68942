// The loops of block_panels.hpp over vectors V, see targets/simd.hpp, by V::dot_small(); amx_int8.cpp has those for
// tiles.
#pragma once

#include <cstring>
#include <limits>

#include "layers/gemm/by_blocks/block_panels.hpp"
#include "layers/gemm/isa/row_tiles.hpp"
#include "targets/as_read.hpp"

namespace dynquant::layers {
namespace {

using simd::as_read;
using simd::unroll;

inline constexpr int vectors_of_panel = 4;
template <typename V>
constexpr std::int64_t panel_columns = vectors_of_panel *V::lanes;

/// Of several rows of x those that have their sums in registers together, in this many vectors: as many as registers
/// suffice for.
template <typename V>
constexpr int most_rows = V::registers == 32 ? 6 : 4;
template <typename V>
constexpr int tile_vectors = V::registers == 32 ? 4 : 2;

/// Calls f(rows, first row) for the tiles of rows, as for_each_row_tile().
template <typename V, typename F>
[[gnu::always_inline]] inline void for_each_tile(const block_rows &x, const F &f) {
    if (V::lanes == 1 || x.are_alone)
        for_each_row_tile<1>(x.rows, f);
    else if constexpr (most_rows<V> == 6)
        for_each_row_tile<6, 4, 2, 1>(x.rows, f);
    else
        for_each_row_tile<4, 2, 1>(x.rows, f);
}

/// Whether V adds products of bytes in parts of 16 bits, which hold those of halves of bytes only.
template <typename V>
constexpr bool has_parts = V::dot_saturates;

/// Rows of weights whose products are added up in parts.
template <typename V>
std::int64_t segment_rows(std::int64_t block) {
    constexpr auto most = 4 * V::most_small_dots;
    return block < most ? block : most;
}

[[gnu::always_inline]] inline std::int32_t four_bytes(const std::int8_t *from) {
    std::int32_t four = 0;
    std::memcpy(&four, from, sizeof four);
    return four;
}

/// The scales and zero points of a block, of some vectors of columns. The latter have 16 bits, as the sums of codes
/// have. reads_signed: weights of u8 are read as s8, 128 less.
template <typename V, int vectors, bool reads_signed = false>
struct block_parameters {
    static_assert(max_block * 127 <= INT16_MAX);
    typename V::reals scales[vectors];
    typename V::integers zero_points[vectors];

    /// of_block: of the panel.
    [[gnu::always_inline]] block_parameters(const block_panels &p, const std::byte *of_block, std::int64_t column) {
        const auto *const floats = reinterpret_cast<const float *>(of_block + p.scales_at) + column;
        const auto *const halves = reinterpret_cast<const simd::float16_bits *>(of_block + p.scales_at) + column;
        const auto *const bytes = reinterpret_cast<const std::uint8_t *>(of_block) + p.zero_points_at + column;
        if (p.are_scales_float16)
            unroll<vectors>([&](int v) __attribute__((always_inline)) { scales[v] = V::load(halves + v * V::lanes); });
        else
            unroll<vectors>([&](int v) __attribute__((always_inline)) { scales[v] = V::load(floats + v * V::lanes); });
        if (p.have_zero_points)
            unroll<vectors>([&](int v)
                            __attribute__((always_inline)) { zero_points[v] = V::load(bytes + v * V::lanes); });
        else
            unroll<vectors>([&](int v) __attribute__((always_inline)) { zero_points[v] = V::splat(p.zero_point); });
        if constexpr (reads_signed)
            unroll<vectors>([&](int v) __attribute__((always_inline)) {
                zero_points[v] = V::bit_and(V::subtract(zero_points[v], V::splat(128)), V::splat(0xffff));
            });
    }

    /// Adds the sums of a row of x, for a vector of columns, to y: less the zero points, times both scales.
    [[gnu::always_inline]] void add(int v, typename V::integers sums, typename V::integers sum_of_x,
            typename V::reals scale_of_x, float *y) const {
        const auto d = V::to_reals(V::dot_pairs(sums, zero_points[v], sum_of_x));
        V::store(y, V::fma(d, scale_of_x * scales[v], V::load(y)));
    }
};

/// One row of x by a panel. Weights are widened in registers.
template <typename V, bool are_nibbles>
[[gnu::noinline]] void multiply_row(const block_panels &p, const block_rows &x, std::int64_t panel, float *y) {
    using integers = typename V::integers;
    constexpr bool has_halves = !are_nibbles && has_parts<V>;
    constexpr std::int64_t step_bytes = 4 * panel_columns<V>, step = are_nibbles ? 8 : 4;
    const auto *of_block = p.data + panel * p.panel_bytes();
    const auto *codes = x.codes;
    const auto low_half = V::splat(0x0f0f0f0f);
    const auto rows_of_segment = segment_rows<V>(p.block);
    for (std::int64_t block = 0; block < p.blocks; ++block, of_block += p.block_bytes) {
        const auto *weights = of_block;
        integers sums[vectors_of_panel];
        unroll<vectors_of_panel>([&](int v) __attribute__((always_inline)) { sums[v] = V::splat(0); });
        for (const auto *const block_end = codes + p.block; codes < block_end;) {
            integers low[vectors_of_panel], high[vectors_of_panel]; // sums; high: of the high halves of bytes
            unroll<vectors_of_panel>([&](int v) __attribute__((always_inline)) { low[v] = high[v] = V::splat(0); });
            for (const auto *const end = codes + rows_of_segment; codes < end; codes += step, weights += step_bytes) {
                const auto first = V::splat(four_bytes(codes)), second = V::splat(four_bytes(codes + step - 4));
                unroll<vectors_of_panel>([&](int v) __attribute__((always_inline)) {
                    const auto w = V::load_bits(weights + v * 4 * V::lanes);
                    if constexpr (are_nibbles || has_halves) {
                        auto &other = has_halves ? high[v] : low[v];
                        low[v] = V::dot_small(low[v], V::bit_and(w, low_half), first);
                        other = V::dot_small(other, V::bit_and(V::template shift_right<4>(w), low_half), second);
                    } else {
                        low[v] = V::dot(low[v], as_read<V>(w), first);
                    }
                });
            }
            unroll<vectors_of_panel>([&](int v) __attribute__((always_inline)) {
                sums[v] = V::add(sums[v], V::sums_of_small(low[v], 1));
                if constexpr (has_halves) sums[v] = V::add(sums[v], V::sums_of_small(high[v], 16));
            });
        }
        const block_parameters<V, vectors_of_panel, V::dot_is_signed && !are_nibbles> parameters(p, of_block, 0);
        const auto sum_of_x = V::splat(x.sums[block]);
        const auto scale_of_x = V::splat(x.scales[block]);
        unroll<vectors_of_panel>([&](int v) __attribute__((always_inline)) {
            parameters.add(v, sums[v], sum_of_x, scale_of_x, y + v * V::lanes);
        });
    }
}

/// Some blocks of a panel, of which weights are a byte each: four rows after four, in segments. Where bytes are in
/// halves, each segment of high ones is followed by that of low ones.
struct wide_blocks {
    const block_panels &p;
    const std::byte *weights, *of_block; // of the first block: widened, and of the panel
    std::int64_t weights_of_block;       // bytes from block to block
    std::int64_t first, count;
    std::int64_t segment_rows, segments; // of a block
    bool have_halves;
};

/// Whether V multiplies w by a lane of x.
template <typename V>
constexpr bool multiplies_by_lane = requires {
    typename V::template four_of_rows<2>;
};

/// Multiplies rows of x by some vectors of a panel, from a column on. x: from the first row on. y: of that and the
/// column. reads_signed: as block_parameters.
template <typename V, int rows, bool reads_signed>
[[gnu::noinline]] void multiply_tile(
        const wide_blocks &w, const block_rows &x, std::int64_t column, float *y, std::int64_t y_stride) {
    using integers = typename V::integers;
    constexpr int vectors = tile_vectors<V>;
    constexpr std::int64_t step_bytes = 4 * panel_columns<V>;
    alignas(64) std::int32_t totals[rows][vectors * V::lanes] = {}; // of the segments before the last one
    const auto &p = w.p;
    const auto blocks = p.blocks;
    const auto *of_block = w.of_block;
    const auto *codes = x.codes + w.first * p.block * rows;
    for (std::int64_t i = 0; i < w.count; ++i, of_block += p.block_bytes) {
        const auto block = w.first + i;
        const auto *weights = w.weights + i * w.weights_of_block + 4 * column;
        for (std::int64_t segment = 0; segment < w.segments; ++segment) {
            integers sums[rows][vectors];
            unroll<rows>([&](int r) __attribute__((always_inline)) {
                unroll<vectors>([&](int v) __attribute__((always_inline)) { sums[r][v] = V::splat(0); });
            });
            const bool is_high = w.have_halves && segment % 2 == 0;
            const auto *const end = codes + w.segment_rows * rows;
            const auto *four = codes;
            if (!is_high) codes = end;
            for (; four < end; four += 4 * rows, weights += step_bytes) {
                integers of_w[vectors];
                unroll<vectors>([&](int v) __attribute__((always_inline)) {
                    of_w[v] = V::load_to_register(weights + v * 4 * V::lanes);
                    if constexpr (reads_signed) of_w[v] = as_read<V>(of_w[v]);
                });
                if constexpr (multiplies_by_lane<V> && rows % 2 == 0) {
                    const typename V::template four_of_rows<rows> of_x(four);
                    unroll<vectors>([&](
                            int v) __attribute__((always_inline)) { V::template add_rows<V>(sums, v, of_w[v], of_x); });
                    continue;
                }
                unroll<rows>([&](int r) __attribute__((always_inline)) {
                    const auto of_x = V::splat(four_bytes(four + 4 * r));
                    unroll<vectors>([&](int v) __attribute__((always_inline)) {
                        sums[r][v] = V::dot_small(sums[r][v], of_w[v], of_x);
                    });
                });
            }
            const auto for_each_sum = [&](auto f) __attribute__((always_inline)) {
                unroll<vectors>([&](int v) __attribute__((always_inline)) {
                    unroll<rows>([&](int r)
                                    __attribute__((always_inline)) { f(r, v, sums[r][v], totals[r] + v * V::lanes); });
                });
            };
            const std::int16_t factor = is_high ? 16 : 1;
            for_each_sum([&](int, int, integers &sum, const std::int32_t *)
                            __attribute__((always_inline)) { sum = V::sums_of_small(sum, factor); });
            if (segment > 0)
                for_each_sum([&](int, int, integers &sum, const std::int32_t *total)
                                __attribute__((always_inline)) { sum = V::add(sum, V::load(total)); });
            if (segment + 1 < w.segments) {
                for_each_sum([&](int, int, integers sum, std::int32_t *total)
                                __attribute__((always_inline)) { V::store(total, sum); });
                continue;
            }
            const block_parameters<V, vectors, reads_signed> parameters(p, of_block, column);
            unroll<rows>([&](int r) __attribute__((always_inline)) {
                const auto sum_of_x = V::splat(x.sums[r * blocks + block]);
                const auto scale_of_x = V::splat(x.scales[r * blocks + block]);
                unroll<vectors>([&](int v) __attribute__((always_inline)) {
                    parameters.add(v, sums[r][v], sum_of_x, scale_of_x, y + r * y_stride + v * V::lanes);
                });
            });
        }
    }
}

/// Bytes of widened weights, which stay in a first-level cache.
inline constexpr std::int64_t max_wide_bytes = 16 * 1024;

/// Widens the weights of a block. Writes halves of bytes as wide_blocks says.
template <typename V>
void widen(const block_panels &p, const std::byte *from, std::int64_t segment, std::byte *to) {
    constexpr std::int64_t step_bytes = 4 * panel_columns<V>;
    const auto low_half = V::splat(0x0f0f0f0f);
    const auto segment_bytes = segment * panel_columns<V>;
    const auto low_at = p.are_nibbles ? 0 : segment_bytes, high_at = p.are_nibbles ? step_bytes : 0,
               step = p.are_nibbles ? 2 * step_bytes : step_bytes,
               of_segment = p.are_nibbles ? segment_bytes : 2 * segment_bytes;
    for (auto rest = p.block; rest > 0; rest -= segment, to += of_segment)
        for (std::int64_t at = 0; at < segment_bytes; at += step)
            unroll<vectors_of_panel>([&](int v) __attribute__((always_inline)) {
                const auto w = V::load_bits(from);
                from += 4 * V::lanes;
                V::store(to + at + low_at + v * 4 * V::lanes, V::bit_and(w, low_half));
                V::store(to + at + high_at + v * 4 * V::lanes, V::bit_and(V::template shift_right<4>(w), low_half));
            });
}

/// Calls f for the blocks of a panel, some at a time, of which weights are a byte each.
template <typename V, typename F>
[[gnu::always_inline]] inline void for_wide_blocks(const block_panels &p, std::int64_t panel, const F &f) {
    constexpr auto columns = panel_columns<V>;
    const bool are_bytes = !p.are_nibbles && !has_parts<V>; // as the loop takes them
    const bool have_halves = !p.are_nibbles && !are_bytes;
    const auto rows_of_segment = are_bytes ? p.block : segment_rows<V>(p.block);
    const auto wide_bytes = p.block * columns * (have_halves ? 2 : 1);
    const auto most = are_bytes ? p.blocks : max_wide_bytes / wide_bytes;
    alignas(64) std::byte wide[max_wide_bytes];
    const auto *of_block = p.data + panel * p.panel_bytes();
    for (std::int64_t first = 0; first < p.blocks; first += most) {
        const auto rest = p.blocks - first, count = rest < most ? rest : most;
        for (std::int64_t i = 0; i < count && !are_bytes; ++i)
            widen<V>(p, of_block + i * p.block_bytes, rows_of_segment, wide + i * wide_bytes);
        const wide_blocks w = {p, are_bytes ? of_block : wide, of_block, are_bytes ? p.block_bytes : wide_bytes, first,
                count, rows_of_segment, p.block / rows_of_segment * (have_halves ? 2 : 1), have_halves};
        of_block += count * p.block_bytes;
        f(w);
    }
}

/// Several rows of x by a panel.
template <typename V>
void multiply_rows(const block_panels &p, const block_rows &x, std::int64_t panel, float *y, std::int64_t y_stride) {
    constexpr auto columns = panel_columns<V>;
    for_wide_blocks<V>(
            p, panel, [&](const wide_blocks &w) __attribute__((always_inline)) {
                for (std::int64_t n = 0; n < columns && panel * columns + n < p.columns;
                        n += tile_vectors<V> * V::lanes)
                    for_each_tile<V>(x, [&](auto rows, std::int64_t row) {
                        const auto of_tile = rows_from(p, x, row, rows);
                        auto *const to = y + row * y_stride + n;
                        if (V::dot_is_signed && !p.are_nibbles && !has_parts<V>)
                            multiply_tile<V, rows, V::dot_is_signed>(w, of_tile, n, to, y_stride);
                        else
                            multiply_tile<V, rows, false>(w, of_tile, n, to, y_stride);
                    });
            });
}

template <typename V>
void multiply_panel(const block_panels &p, const block_rows &x, std::int64_t panel, float *y, std::int64_t y_stride) {
    if (x.rows > 1 && !x.are_alone) return multiply_rows<V>(p, x, panel, y, y_stride);
    const auto multiply = p.are_nibbles ? multiply_row<V, true> : multiply_row<V, false>;
    for (std::int64_t row = 0; row < x.rows; ++row)
        multiply(p, rows_from(p, x, row, 1), panel, y + row * y_stride);
}

/// Calls f(x, y, y_stride), which adds the products of rows of x by a panel to y. tile_rows: those whose codes lie
/// together.
template <typename V, std::int64_t tile_rows, typename F>
[[gnu::always_inline]] inline void for_whole_panel(
        const block_panels &p, const block_rows &x, std::int64_t panel, float *y, std::int64_t y_stride, const F &f) {
    const auto multiply = [&](const block_rows &rows, float *to, std::int64_t stride) {
        for (std::int64_t row = 0; row < rows.rows; ++row)
            std::memset(to + row * stride, 0, panel_columns<V> * sizeof *to);
        f(rows, to, stride);
    };
    const auto first = panel * panel_columns<V>, columns = p.columns - first;
    if (columns >= panel_columns<V>) return multiply(x, y + first, y_stride);
    alignas(64) float padded[tile_rows][panel_columns<V>]; // the last columns of the panel are padding
    for (std::int64_t row = 0; row < x.rows; row += tile_rows) {
        const auto rest = x.rows - row, rows = rest < tile_rows ? rest : tile_rows;
        multiply(rows_from(p, x, row, rows), padded[0], panel_columns<V>);
        for (std::int64_t r = 0; r < rows; ++r)
            std::memcpy(y + (row + r) * y_stride + first, padded[r], static_cast<std::size_t>(columns) * sizeof *y);
    }
}

template <typename V>
void multiply_blocks(
        const block_panels &p, const block_rows &x, parallel::range panels, float *y, std::int64_t y_stride) {
    for (auto panel = panels.begin; panel < panels.end; ++panel)
        for_whole_panel<V, most_rows<V>>(
                p, x, panel, y, y_stride, [&](const block_rows &rows, float *to, std::int64_t stride) {
                    multiply_panel<V>(p, rows, panel, to, stride);
                });
}

/// Quantizes a block of a row, and returns its scale. sum: of the codes.
template <typename V>
float quantize_block(const float *x, std::int64_t block, std::int8_t *codes, std::int32_t &sum) {
    auto largest = V::splat(0); // as bits, which grow as floats do, and are largest for NaN
    for (std::int64_t k = 0; k < block; k += V::lanes) {
        const auto bits = V::as_integers(V::abs(V::load(x + k)));
        largest = V::select_less(largest, bits, bits, largest);
    }
    alignas(64) std::int32_t lanes[V::lanes];
    V::store(lanes, largest);
    std::int32_t most = 0;
    for (const auto lane : lanes)
        most = most < lane ? lane : most;
    const auto m = __builtin_bit_cast(float, most);
    constexpr auto highest = std::numeric_limits<float>::max();
    const bool is_finite = m <= highest;
    const auto reciprocal = 127 / m;
    const auto r = V::splat(m == 0 ? 0 : reciprocal < highest ? reciprocal : highest);
    const auto low = V::splat(-127.0F), high = V::splat(127.0F);
    auto sums = V::splat(0);
    const auto all = V::first_lanes(V::lanes);
    for (std::int64_t k = 0; k < block; k += V::lanes) {
        const auto scaled = V::load(x + k) * r;
        const auto code = is_finite ? V::to_integers(V::min(high, V::max(low, scaled))) : V::splat(0);
        V::store_low_bytes(codes + k, all, code);
        sums = V::add(sums, code);
    }
    V::store(lanes, sums);
    sum = 0;
    for (const auto lane : lanes)
        sum += lane;
    return is_finite ? m / 127 : std::numeric_limits<float>::quiet_NaN();
}

/// Quantizes the rows of a tile, the first one of which is `first`. The codes of a row are `row_step` bytes behind
/// those of the one before, and its fours of codes `four_step` apart.
template <typename V>
[[gnu::always_inline]] inline void quantize_tile(const block_panels &p, const float *x, std::int64_t inner,
        std::int64_t stride, const block_rows &to, std::int64_t first, std::int64_t rows, std::int64_t row_step,
        std::int64_t four_step) {
    alignas(64) float rest[max_block];
    alignas(64) std::int8_t codes[max_block];
    for (std::int64_t i = 0; i < rows * p.blocks; ++i) {
        const auto row = first + i / p.blocks, block = i % p.blocks, k = block * p.block;
        const auto *from = x + row * stride + k;
        if (inner - k < p.block) {
            std::memset(rest, 0, sizeof rest);
            std::memcpy(rest, from, static_cast<std::size_t>(inner - k) * sizeof *x);
            from = rest;
        }
        std::int32_t sum = 0;
        to.scales[first * p.blocks + i] = quantize_block<V>(from, p.block, codes, sum);
        to.sums[first * p.blocks + i] = -sum;
        auto *at = to.codes + (first * p.blocks + block * rows) * p.block + (row - first) * row_step;
        for (std::int64_t q = 0; q < p.block; q += 4, at += four_step)
            std::memcpy(at, codes + q, 4);
    }
}

template <typename V>
void quantize_rows(
        const block_panels &p, const float *x, std::int64_t inner, std::int64_t stride, const block_rows &to) {
    for_each_tile<V>(to, [&](auto rows, std::int64_t first) {
        quantize_tile<V>(p, x, inner, stride, to, first, rows, 4, 4 * rows);
    });
}

/// Without sums in parts few rows were not measured. With them, on a Zen 4 with AVX2 alone: 1024 x 1024 weights in
/// blocks of 32 take 37 us a row of 8 bits and 23 of 4, together 159 and 53 for two rows, 255 for six, 75 for four of 4
/// bits.
template <typename V>
constexpr block_loop block_of = {quantize_rows<V>, multiply_blocks<V>, panel_columns<V>, most_rows<V>,
        has_parts<V> ? 3 : 1, has_parts<V> ? 8 : 1};

} // namespace
} // namespace dynquant::layers
