// AVX-512 VBMI: tables of 256 bytes.
#pragma once

#include "targets/avx512.hpp"

namespace dynquant::simd {
namespace {

struct avx512_vbmi : avx512 {
    struct table_of_256 {
        integers quarters[4];
    };
    static table_of_256 load_table(const std::uint8_t *p) {
        return {load_bits(p), load_bits(p + 64), load_bits(p + 128), load_bits(p + 192)};
    }
    /// VPERMI2B selects by seven bits of x, and the eighth blends two results.
    static integers look_up(const table_of_256 &t, integers x) {
        const auto low = _mm512_permutex2var_epi8(t.quarters[0], x, t.quarters[1]);
        const auto high = _mm512_permutex2var_epi8(t.quarters[2], x, t.quarters[3]);
        return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
    }
};

} // namespace
} // namespace dynquant::simd
