// Tiles of AMX. They are no vectors: loops use the intrinsics of this header's include, as tile numbers are literals.
#pragma once

#include <atomic>
#include <cstdint>
#include <immintrin.h>

namespace dynquant::simd {
namespace {

/// The memory layout of LDTILECFG (Intel SDM).
struct alignas(64) tile_config {
    std::uint8_t palette = 0, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
};

/// Configures tiles of 64 bytes by `rows` rows, and of 16 rows from tile number `full` on. The destructor restores the
/// configuration that oneDNN may have loaded on this thread and rely on.
class tile_configuration {
  public:
    tile_configuration(std::int64_t rows, int full) {
        _tile_storeconfig(&saved_);
        tile_config config;
        config.palette = 1;
        for (int t = 0; t < 8; ++t) {
            config.row_bytes[t] = 64;
            config.rows[t] = static_cast<std::uint8_t>(t < full ? rows : 16);
        }
        std::atomic_signal_fence(std::memory_order_seq_cst); // the compiler does not know what LDTILECFG reads
        _tile_loadconfig(&config);
    }
    tile_configuration(const tile_configuration &) = delete;
    tile_configuration &operator=(const tile_configuration &) = delete;
    ~tile_configuration() { _tile_loadconfig(&saved_); }

  private:
    tile_config saved_;
};

} // namespace
} // namespace dynquant::simd
