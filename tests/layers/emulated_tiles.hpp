// Tiles in memory, by the Intel SDM, volume 2: LDTILECFG, STTILECFG, TILELOADD, TILESTORED, TILEZERO, TDPBSSD, TDPBSUD,
// TDPBUSD. A loop for AMX that is included behind this header has them in place of the processor's.
#pragma once

#include <cstdint>
#include <cstring>
#include <immintrin.h>

#include "emulated.hpp"

namespace dynquant::test {

struct emulated_tiles {
    struct tile {
        std::uint8_t bytes[16][64];
    };
    /// Counts what would be a fault of the processor.
    void expect(bool is_right) { faults += is_right ? 0 : 1; }

    void load_configuration(const void *from) {
        std::memcpy(&now, from, sizeof now);
        std::memset(all, 0, sizeof all);
        expect(now.palette <= 1);
        for (int t = 0; t < 8 && now.palette == 1; ++t) {
            expect(now.rows[t] <= 16);
            expect(now.row_bytes[t] <= 64);
            expect((now.rows[t] == 0) == (now.row_bytes[t] == 0));
        }
    }
    void store_configuration(void *to) const { std::memcpy(to, &now, sizeof now); }
    void load(int t, const void *from, std::int64_t stride) {
        zero(t);
        for (int r = 0; r < now.rows[t]; ++r)
            std::memcpy(all[t].bytes[r], static_cast<const std::byte *>(from) + r * stride, now.row_bytes[t]);
    }
    void store(int t, void *to, std::int64_t stride) const {
        for (int r = 0; r < now.rows[t]; ++r)
            std::memcpy(static_cast<std::byte *>(to) + r * stride, all[t].bytes[r], now.row_bytes[t]);
    }
    void zero(int t) { std::memset(&all[t], 0, sizeof all[t]); }

    /// A is of X, B of W, which are s8 or u8.
    template <typename X, typename W>
    void multiply(int sums, int a, int b) {
        ++products;
        expect(now.palette == 1);
        expect(now.rows[sums] == now.rows[a]);
        expect(now.row_bytes[sums] == now.row_bytes[b]);
        expect(now.row_bytes[a] == 4 * now.rows[b]);
        for (int m = 0; m < now.rows[a]; ++m)
            for (int n = 0; n < now.row_bytes[b] / 4; ++n) {
                std::uint32_t sum = 0;
                std::memcpy(&sum, all[sums].bytes[m] + 4 * n, 4);
                for (int k = 0; k < now.row_bytes[a]; ++k) {
                    const int x = static_cast<X>(all[a].bytes[m][k]);
                    sum += static_cast<std::uint32_t>(x * static_cast<W>(all[b].bytes[k / 4][4 * n + k % 4]));
                }
                std::memcpy(all[sums].bytes[m] + 4 * n, &sum, 4);
            }
    }

    emulated_tile_configuration now = {};
    int faults = 0, products = 0;
    tile all[8] = {};
};

inline thread_local emulated_tiles emulated;

} // namespace dynquant::test

#undef _tile_loadconfig
#undef _tile_storeconfig
#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#define _tile_loadconfig(from) dynquant::test::emulated.load_configuration(from)
#define _tile_storeconfig(to) dynquant::test::emulated.store_configuration(to)
#define _tile_loadd(t, from, stride) dynquant::test::emulated.load(t, from, stride)
#define _tile_stored(t, to, stride) dynquant::test::emulated.store(t, to, stride)
#define _tile_zero(t) dynquant::test::emulated.zero(t)
#define _tile_dpbssd(sums, a, b) dynquant::test::emulated.multiply<std::int8_t, std::int8_t>(sums, a, b)
#define _tile_dpbsud(sums, a, b) dynquant::test::emulated.multiply<std::int8_t, std::uint8_t>(sums, a, b)
#define _tile_dpbusd(sums, a, b) dynquant::test::emulated.multiply<std::uint8_t, std::int8_t>(sums, a, b)
