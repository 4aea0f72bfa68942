// panel_product.hpp by AMX: up to 32 rows of x are two tiles, a panel's columns are two. Four tiles of sums hide the
// latency of a product (52 cycles, of which a tile takes 16), and each load serves two. Tile loads do not trigger the
// hardware prefetcher, so the loop prefetches weights; without that they take up to twice as long to arrive.
#include <cstring>

#include "layers/gemm/isa/end_sums.hpp"
#include "targets/amx_int8.hpp"
#include "targets/avx512.hpp"

namespace dynquant::layers {

extern const panel_loops avx512_vnni_panels;

namespace {

constexpr std::int64_t tile_rows = simd::tile_rows, depth = simd::tile_bytes, columns = 32;
/// Weights that a step multiplies, and of a row of a tile.
constexpr std::int64_t step_bytes = depth * columns, w_stride = 4 * columns;
/// One step to four measure the same.
constexpr std::int64_t prefetch_bytes = 2 * step_bytes;

/// The time of fewer rows is that of reading the weights, which vectors do as fast.
constexpr std::int64_t min_rows = 5;

// Tile numbers are literals, as the intrinsics require. 0 and 1 are sums of the first 16 rows, 2 and 3 of the others; 4
// and 5 are x of both; 6 and 7 are weights.

template <bool x_is_signed, bool is_second>
void add_products() {
    if constexpr (is_second && x_is_signed) {
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    } else if constexpr (is_second) {
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    } else if constexpr (x_is_signed) {
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
    } else {
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
    }
}

template <bool x_is_signed>
void add_step(const std::byte *x, std::int64_t stride, bool has_second, const std::int8_t *w) {
    for (std::int64_t i = 0; i < step_bytes; i += 64)
        _mm_prefetch(reinterpret_cast<const char *>(w + prefetch_bytes + i), _MM_HINT_T0);
    _tile_loadd(6, w, w_stride);
    _tile_loadd(7, w + 64, w_stride);
    _tile_loadd(4, x, stride);
    add_products<x_is_signed, false>();
    if (!has_second) return;
    _tile_loadd(5, x + tile_rows * stride, stride);
    add_products<x_is_signed, true>();
}

/// Computes the sums of a panel in tiles 0 to 3.
template <bool x_is_signed>
void multiply_panel(
        const panel_product &p, const indirect_rows &x, std::int64_t first, std::int64_t rows, std::int64_t panel) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    const bool has_second = rows > tile_rows;
    const auto whole = p.line_inner / depth * depth, remainder = p.line_inner - whole;
    alignas(64) std::byte remainders[2 * tile_rows][depth]; // of a line, with zeros
    for (std::int64_t i = 0; i < p.lines; ++i) {
        const auto *from = x.lines[i] + first * x.stride;
        const auto *w = p.weights + panel * p.panel_bytes + i * p.line_bytes;
        for (std::int64_t k = 0; k < whole; k += depth, w += step_bytes)
            add_step<x_is_signed>(from + k, x.stride, has_second, w);
        if (remainder == 0) continue;
        for (std::int64_t row = 0; row < rows; ++row)
            simd::copy_to_tile_row(from + whole + row * x.stride, remainder, remainders[row]);
        simd::order_tile_memory();
        add_step<x_is_signed>(remainders[0], depth, has_second, w);
        simd::order_tile_memory();
    }
}

void store(std::int32_t *y, std::int64_t stride, std::int64_t rows) {
    stride *= 4;
    _tile_stored(0, y, stride);
    _tile_stored(1, y + 16, stride);
    if (rows <= tile_rows) return;
    auto *const second = reinterpret_cast<std::byte *>(y) + tile_rows * stride;
    _tile_stored(2, second, stride);
    _tile_stored(3, second + 64, stride);
}

void multiply_rows(const panel_product &p, const indirect_rows &x, std::int64_t first, std::int64_t rows,
        parallel::range panels, std::int32_t *y, std::int64_t y_stride) {
    for (auto panel = panels.begin; panel < panels.end; ++panel) {
        p.x_is_signed ? multiply_panel<true>(p, x, first, rows, panel)
                      : multiply_panel<false>(p, x, first, rows, panel);
        const auto column = panel * columns, count = p.columns - column;
        if (count >= columns) {
            store(y + column, y_stride, rows);
            simd::order_tile_memory();
        } else {
            alignas(64) std::int32_t sums[2 * tile_rows][columns];
            store(sums[0], columns, rows);
            simd::order_tile_memory();
            for (std::int64_t r = 0; r < rows; ++r)
                std::memcpy(y + r * y_stride + column, sums[r], static_cast<std::size_t>(count) * sizeof *y);
        }
        end_sums<simd::avx512>(
                p, x, first, rows, column, count < columns ? count : columns, y - first * y_stride, y_stride);
    }
}

/// Weights that all rows use before the next ones are loaded: half of a second-level cache.
constexpr std::int64_t chunk_bytes = 512 * 1024;

void multiply_panels(const panel_product &p, const indirect_rows &x, parallel::range panels, std::int32_t *y,
        std::int64_t y_stride) {
    if (x.rows < min_rows) return avx512_vnni_panels.of[columns / 16 - 1].multiply(p, x, panels, y, y_stride);
    const auto chunk = 1 + chunk_bytes / (p.panel_bytes + 1);
    simd::tile_configuration tiles;
    for (auto begin = panels.begin; begin < panels.end; begin += chunk) {
        const auto end = panels.end - begin < chunk ? panels.end : begin + chunk;
        for (std::int64_t first = 0; first < x.rows; first += 2 * tile_rows) {
            const auto rows = x.rows - first < 2 * tile_rows ? x.rows - first : 2 * tile_rows;
            tiles.set(rows, depth);
            multiply_rows(p, x, first, rows, {begin, end}, y + first * y_stride, y_stride);
        }
    }
}

} // namespace

extern const panel_loops amx_int8_panels;
constinit const panel_loops amx_int8_panels {1, {{multiply_panels, columns, depth, 4}}};

} // namespace dynquant::layers
