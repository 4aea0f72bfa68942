// block_panels.hpp by AMX: up to 32 rows of x are two tiles, half of a panel's columns are two. The sums of a block go
// from tiles through memory to vectors, which scale them. Weights are packed as for AVX-512 VNNI: a row of a tile is
// the four rows of 16 columns.
#include "targets/amx_int8.hpp"
#include "targets/avx512_vnni.hpp"

#include "layers/gemm/by_blocks/isa/multiply_blocks.hpp"

namespace dynquant::layers {

extern const block_loop avx512_vnni_block;

namespace {

using vectors = simd::avx512_vnni;

constexpr std::int64_t rows_of_tiles = 2 * simd::tile_rows, columns_of_tiles = 32;
constexpr std::int64_t w_stride = 4 * panel_columns<vectors>;

/// VNNI has 12 instructions for a row, 16 columns and a block of 32: eight products and four that scale their sum, two
/// in a cycle. Tiles take 16 cycles for the products of one to 16 rows, and then the same four instructions a row. So
/// they gain where 6 * rows > 16 + 2 * rows. By longer blocks they gain sooner.
constexpr std::int64_t min_rows = 5;

/// The rows that tiles multiply: all, or those before the last few.
constexpr std::int64_t rows_by_tiles(std::int64_t rows) {
    const auto last = rows % rows_of_tiles;
    return last < min_rows ? rows - last : rows;
}

/// Rows of weights that a product of tiles takes.
constexpr std::int64_t depth_of(const block_panels &p) {
    return p.block < simd::tile_bytes ? p.block : simd::tile_bytes;
}

/// Calls f for each of the pairs of tiles of rows.
template <typename F>
void for_each_pair(const block_panels &p, const block_rows &x, const F &f) {
    for (std::int64_t row = 0; row < x.rows; row += rows_of_tiles)
        f(rows_from(p, x, row, rows_of_tiles), row);
}

// Tile numbers are literals, as the intrinsics require. 0 and 1 are sums of the first 16 rows, 2 and 3 of the others; 4
// and 5 are x of both; 6 and 7 are weights.

void add_step(const std::int8_t *x, std::int64_t stride, bool has_second, const std::byte *w) {
    _tile_loadd(6, w, w_stride);
    _tile_loadd(7, w + simd::tile_bytes, w_stride);
    _tile_loadd(4, x, stride);
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
    if (!has_second) return;
    _tile_loadd(5, x + simd::tile_rows * stride, stride);
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
}

void store(std::int32_t (*sums)[columns_of_tiles], bool has_second) {
    constexpr std::int64_t stride = sizeof *sums;
    _tile_stored(0, sums[0], stride);
    _tile_stored(1, sums[0] + 16, stride);
    if (!has_second) return;
    _tile_stored(2, sums[simd::tile_rows], stride);
    _tile_stored(3, sums[simd::tile_rows] + 16, stride);
}

/// Multiplies a pair of tiles of rows by half of a panel, from a column on. prefetches: weights, which tile loads do
/// not make the hardware prefetch. y: of the first row and the column.
void multiply_pair(const wide_blocks &w, const block_rows &x, std::int64_t column, bool prefetches, float *y,
        std::int64_t y_stride) {
    const auto &p = w.p;
    const auto depth = depth_of(p);
    const bool has_second = x.rows > simd::tile_rows;
    alignas(64) std::int32_t sums[rows_of_tiles][columns_of_tiles];
    for (std::int64_t i = 0; i < w.count; ++i) {
        const auto block = w.first + i;
        const auto *const codes = x.codes + block * p.block * x.rows;
        const auto *const weights = w.weights + i * w.weights_of_block + 4 * column;
        const auto *const later = weights + 2 * w.weights_of_block;
        for (std::int64_t at = 0; prefetches && at < p.block / 4 * w_stride; at += w_stride) {
            _mm_prefetch(reinterpret_cast<const char *>(later + at), _MM_HINT_T0);
            _mm_prefetch(reinterpret_cast<const char *>(later + at + simd::tile_bytes), _MM_HINT_T0);
        }
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (std::int64_t k = 0; k < p.block; k += depth)
            add_step(codes + k, p.block, has_second, weights + k / 4 * w_stride);
        store(sums, has_second);
        simd::order_tile_memory();
        const block_parameters<vectors, 2> parameters(p, w.of_block + i * p.block_bytes, column);
        for (std::int64_t r = 0; r < x.rows; ++r) {
            const auto sum_of_x = vectors::splat(x.sums[r * p.blocks + block]);
            const auto scale_of_x = vectors::splat(x.scales[r * p.blocks + block]);
            unroll<2>([&](int v) __attribute__((always_inline)) {
                const auto at = v * vectors::lanes;
                parameters.add(v, vectors::load(sums[r] + at), sum_of_x, scale_of_x, y + r * y_stride + at);
            });
        }
        simd::order_tile_memory();
    }
}

/// Multiplies rows of x by some blocks of a panel.
void multiply_wide(simd::tile_configuration &tiles, const wide_blocks &w, const block_rows &x, std::int64_t panel,
        float *y, std::int64_t y_stride) {
    const auto &p = w.p;
    const auto columns = p.columns - panel * panel_columns<vectors>;
    simd::order_tile_memory();
    for (std::int64_t n = 0; n < panel_columns<vectors> && n < columns; n += columns_of_tiles)
        for_each_pair(p, x, [&](const block_rows &pair, std::int64_t row) {
            tiles.set(pair.rows, depth_of(p));
            multiply_pair(w, pair, n, !p.are_nibbles && row == 0, y + row * y_stride + n, y_stride);
        });
}

void multiply(const block_panels &p, const block_rows &x, parallel::range panels, float *y, std::int64_t y_stride) {
    const auto rows = rows_by_tiles(x.rows);
    if (rows == 0) return avx512_vnni_block.multiply(p, x, panels, y, y_stride);
    const auto first = rows_from(p, x, 0, rows), last = rows_from(p, x, rows, x.rows - rows);
    simd::tile_configuration tiles;
    for (auto panel = panels.begin; panel < panels.end; ++panel) {
        for_whole_panel<vectors, rows_of_tiles>(
                p, first, panel, y, y_stride, [&](const block_rows &of, float *to, std::int64_t stride) {
                    for_wide_blocks<vectors>(
                            p, panel, [&](const wide_blocks &w) { multiply_wide(tiles, w, of, panel, to, stride); });
                });
        if (last.rows > 0) avx512_vnni_block.multiply(p, last, {panel, panel + 1}, y + rows * y_stride, y_stride);
    }
}

void quantize(const block_panels &p, const float *x, std::int64_t inner, std::int64_t stride, const block_rows &to) {
    const auto rows = rows_by_tiles(to.rows);
    for_each_pair(p, rows_from(p, to, 0, rows), [&](const block_rows &pair, std::int64_t row) {
        quantize_tile<vectors>(p, x + row * stride, inner, stride, pair, 0, pair.rows, p.block, 4);
    });
    avx512_vnni_block.quantize(p, x + rows * stride, inner, stride, rows_from(p, to, rows, to.rows - rows));
}

} // namespace

extern const block_loop amx_int8_block;
constinit const block_loop amx_int8_block {quantize, multiply, panel_columns<vectors>, rows_of_tiles};

} // namespace dynquant::layers
