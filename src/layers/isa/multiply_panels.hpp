// src/layers/isa: inner loops of int8 products, one source per instruction set, compiled with its flags.
// May include: immintrin.h and layers/panel_product.hpp, which is where to start.
// This header has the loops for vectors, amx_int8.cpp those for tiles. An instruction set V has
//     lanes, columns        s32 sums in a vector; columns of a panel, a multiple of lanes
//     rows                  rows of x whose sums of a panel fit in registers, or nearly
//     load(p), store(p, v)  a `vector`, unaligned
//     broadcast(x)          four bytes to each lane
//     dot(sums, x, w)       adds four products of u8 and s8 to each lane, wrapping
//     has_excess            whether dot saturates, so that weights need their excess split off
#pragma once

#include <cstring>

#include "layers/panel_product.hpp"

namespace dynquant::layers {
namespace {

/// Multiplies `rows` rows of x by a panel. The sums stay in registers, so all loops over them must be unrolled.
template <typename V, int rows, bool x_is_signed>
void multiply_rows(const panel_product &p, const std::byte *x, std::int64_t panel, std::int32_t *y) {
    constexpr int vectors = V::columns / V::lanes;
    constexpr std::int64_t step_bytes = 4 * V::columns;
    constexpr std::uint32_t flip = x_is_signed ? 0x80808080 : 0; // flipping the sign bit turns s8 into u8, 128 more
    const auto first = panel * V::columns, inner = p.inner, whole = inner / 4 * 4;
    typename V::vector sums[rows][vectors];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v)
            sums[r][v] = V::load(p.compensation + first + v * V::lanes);

    /// four_of(row): the four elements of a row that the weights multiply.
    const auto add = [&](const std::int8_t *weights, auto four_of) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            const auto broadcast = V::broadcast(four_of(x + r * inner) ^ flip);
#pragma GCC unroll 16
            for (int v = 0; v < vectors; ++v)
                sums[r][v] = V::dot(sums[r][v], broadcast, V::load(weights + v * V::lanes * 4));
        }
    };
    const auto *weights = p.weights + panel * p.panel_bytes;
    std::int64_t k = 0;
    const auto next = [&](std::size_t count) __attribute__((always_inline)) {
        add(
                weights, [&](const std::byte *row) __attribute__((always_inline)) {
                    std::uint32_t four = 0;
                    std::memcpy(&four, row + k, count);
                    return four;
                });
    };
    for (; k < whole; k += 4, weights += step_bytes)
        next(4);
    if (whole < inner) next(static_cast<std::size_t>(inner - whole));
    if constexpr (V::has_excess)
        for (auto s = p.excess.begin[panel]; s < p.excess.begin[panel + 1]; ++s)
            add(
                    p.excess.weights + s * step_bytes, [&](const std::byte *row) __attribute__((always_inline)) {
                        std::uint32_t four = 0;
                        for (unsigned i = 0; i < 4; ++i)
                            four |= static_cast<std::uint32_t>(row[p.excess.elements[4 * s + i]]) << 8 * i;
                        return four;
                    });

    const auto columns = p.columns - first < V::columns ? p.columns - first : V::columns;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
        alignas(64) std::int32_t all[V::columns];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v)
            V::store(all + v * V::lanes, sums[r][v]);
        std::memcpy(y + r * p.columns + first, all, static_cast<std::size_t>(columns) * sizeof *y);
    }
}

/// Multiplies V::rows rows, or the remaining `count` where that is less.
template <typename V, bool x_is_signed, int rows = V::rows>
void multiply_some_rows(
        const panel_product &p, const std::byte *x, std::int64_t count, std::int64_t panel, std::int32_t *y) {
    if constexpr (rows > 1)
        if (count < rows) return multiply_some_rows<V, x_is_signed, rows - 1>(p, x, count, panel, y);
    multiply_rows<V, rows, x_is_signed>(p, x, panel, y);
}

/// Weights per cache block: half of a small L2. All rows use a block before the next one is loaded.
constexpr std::int64_t chunk_bytes = 256 * 1024;

template <typename V, bool x_is_signed>
void multiply_chunks(const panel_product &p, const std::byte *x, parallel::range panels, std::int32_t *y) {
    const auto chunk = 1 + chunk_bytes / (p.panel_bytes + 1);
    for (auto begin = panels.begin; begin < panels.end; begin += chunk) {
        const auto end = panels.end - begin < chunk ? panels.end : begin + chunk;
        for (std::int64_t row = 0; row < p.rows; row += V::rows)
            for (auto panel = begin; panel < end; ++panel)
                multiply_some_rows<V, x_is_signed>(p, x + row * p.inner, p.rows - row, panel, y + row * p.columns);
    }
}

template <typename V>
void multiply_panels(const panel_product &p, const std::byte *x, parallel::range panels, std::int32_t *y) {
    p.x_is_signed ? multiply_chunks<V, true>(p, x, panels, y) : multiply_chunks<V, false>(p, x, panels, y);
}

} // namespace
} // namespace dynquant::layers
