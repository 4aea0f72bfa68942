// Tiles of AMX. They are no vectors: loops use the intrinsics of this header's include, as tile numbers are literals.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

namespace dynquant::simd {
namespace {

inline constexpr std::int64_t tile_rows = 16, tile_bytes = 64; // of a row

/// Between what tiles do with memory and what others do with the same: the compiler does not know what the instructions
/// read and write.
inline void order_tile_memory() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// The memory layout of LDTILECFG (Intel SDM).
struct alignas(64) tile_config {
    std::uint8_t palette = 0, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
};

/// Configures tiles of up to 64 bytes by up to 16 rows. The destructor restores the configuration that another library
/// may have loaded on this thread and rely on.
class tile_configuration {
  public:
    tile_configuration() { _tile_storeconfig(&saved_); }
    tile_configuration(const tile_configuration &) = delete;
    tile_configuration &operator=(const tile_configuration &) = delete;
    ~tile_configuration() { _tile_loadconfig(&saved_); }

    /// Of `rows` rows, up to 32, tiles 0, 1 and 4 have the first 16, and 2, 3 and 5 the others, or 16 where there are
    /// none. Rows of 4 and 5 have `depth` bytes, a multiple of 4, which 6 and 7 have in rows of four by 16 columns.
    /// Loading a configuration clears all tiles, and takes longer than a product.
    void set(std::int64_t rows, std::int64_t depth) {
        if (rows == rows_ && depth == depth_) return;
        rows_ = rows;
        depth_ = depth;
        const auto first = rows < tile_rows ? rows : tile_rows,
                   second = rows > tile_rows ? rows - tile_rows : tile_rows;
        const auto rows_of = [&](int tile) { return tile < 2 || tile == 4 ? first : tile < 6 ? second : depth / 4; };
        tile_config config;
        config.palette = 1;
        for (int t = 0; t < 8; ++t) {
            config.row_bytes[t] = static_cast<std::uint16_t>(t == 4 || t == 5 ? depth : tile_bytes);
            config.rows[t] = static_cast<std::uint8_t>(rows_of(t));
        }
        order_tile_memory();
        _tile_loadconfig(&config);
    }

  private:
    tile_config saved_;
    std::int64_t rows_ = 0, depth_ = 0;
};

/// The first `count` bytes, of at most 64, and zeros.
inline void copy_to_tile_row(const std::byte *from, std::int64_t count, std::byte *to) {
    _mm512_store_si512(to, _mm512_maskz_loadu_epi8((std::uint64_t {1} << count) - 1, from)); // of fewer than 64
}

} // namespace
} // namespace dynquant::simd
