// panel_product.hpp by AMX: up to 16 rows of x are one tile. Tile loads do not trigger the hardware prefetcher, so the
// loop prefetches weights; without that they take up to twice as long to arrive.
#include <atomic>
#include <cstring>

#include "layers/panel_product.hpp"
#include "targets/amx_int8.hpp"

namespace dynquant::layers {
namespace {

/// Elements of a row of x in a tile, and bytes of the weights that a tile of x multiplies.
constexpr std::int64_t depth = amx_depth, step_bytes = depth * amx_columns;

/// Prefetch distance in bytes. One step to four measure the same.
constexpr std::int64_t prefetch_bytes = 2 * step_bytes;

// Tile numbers are literals, as the intrinsics require.

/// Adds the products of a tile of x and four tiles of weights to the sums. Tiles 0 to 3 are sums of 16 columns each, 4
/// is x, 5 to 7 are weights.
template <bool x_is_signed>
void add_products(const std::byte *x, std::int64_t x_stride, const std::int8_t *w) {
    constexpr std::int64_t w_stride = 4 * amx_columns;
    _tile_loadd(4, x, x_stride);
    _tile_loadd(5, w, w_stride);
    _tile_loadd(6, w + 64, w_stride);
    if constexpr (x_is_signed) {
        _tile_dpbssd(0, 4, 5);
        _tile_dpbssd(1, 4, 6);
    } else {
        _tile_dpbusd(0, 4, 5);
        _tile_dpbusd(1, 4, 6);
    }
    _tile_loadd(7, w + 128, w_stride);
    _tile_loadd(5, w + 192, w_stride);
    if constexpr (x_is_signed) {
        _tile_dpbssd(2, 4, 7);
        _tile_dpbssd(3, 4, 5);
    } else {
        _tile_dpbusd(2, 4, 7);
        _tile_dpbusd(3, 4, 5);
    }
}

void store(std::int32_t *y, std::int64_t stride_bytes) {
    _tile_stored(0, y, stride_bytes);
    _tile_stored(1, y + 16, stride_bytes);
    _tile_stored(2, y + 32, stride_bytes);
    _tile_stored(3, y + 48, stride_bytes);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// The remainder of each row of x, padded with zeros to a tile's depth.
struct alignas(64) row_remainders {
    row_remainders(const panel_product &p, const std::byte *x) {
        const auto whole = p.line_inner / depth * depth;
        for (std::int64_t r = 0; r < p.rows && whole < p.line_inner; ++r)
            std::memcpy(bytes[r], x + r * p.x_stride + whole, static_cast<std::size_t>(p.line_inner - whole));
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    std::byte bytes[amx_rows][depth] = {};
};

/// Computes the sums of a panel in tiles 0 to 3. `remainders` has the remainder of the inner dimension.
template <bool x_is_signed>
void multiply_panel(
        const panel_product &p, const std::byte *x, const row_remainders &remainders, const std::int8_t *w) {
    const auto add = [&](const std::byte *from, std::int64_t stride) {
        for (std::int64_t i = 0; i < step_bytes; i += 64)
            _mm_prefetch(reinterpret_cast<const char *>(w + prefetch_bytes + i), _MM_HINT_T0);
        add_products<x_is_signed>(from, stride, w);
        w += step_bytes;
    };
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    const auto whole = p.line_inner / depth * depth;
    for (std::int64_t k = 0; k < whole; k += depth)
        add(x + k, p.x_stride);
    if (whole < p.line_inner) add(remainders.bytes[0], depth);
}

void multiply_panels(const panel_product &p, const std::byte *const *lines, parallel::range panels, std::int32_t *y) {
    const auto *const x = lines[0];
    const simd::tile_configuration tiles(p.rows, 5);
    const row_remainders remainders(p, x);
    for (auto panel = panels.begin; panel < panels.end; ++panel) {
        const auto *w = p.weights + panel * p.panel_bytes;
        p.x_is_signed ? multiply_panel<true>(p, x, remainders, w) : multiply_panel<false>(p, x, remainders, w);
        const auto first = panel * amx_columns, columns = p.columns - first;
        if (columns >= amx_columns) {
            store(y + first, p.y_stride * 4);
            continue;
        }
        alignas(64) std::int32_t sums[amx_rows][amx_columns];
        store(sums[0], sizeof sums[0]);
        for (std::int64_t r = 0; r < p.rows; ++r)
            std::memcpy(y + r * p.y_stride + first, sums[r], static_cast<std::size_t>(columns) * sizeof *y);
    }
}

} // namespace

constinit const multiply_panels_function amx_int8_multiply_panels = multiply_panels;

} // namespace dynquant::layers
