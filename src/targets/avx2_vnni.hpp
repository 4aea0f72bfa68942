// AVX2 with VNNI: sums of four products of bytes. For processors without AVX-512.
#pragma once

#include "targets/avx2.hpp"

namespace dynquant::simd {
namespace {

struct avx2_vnni : avx2 {
    using of_32_bytes = avx2_vnni;
    static constexpr bool dot_saturates = false;
    /// Adds four products of u8 and s8 to each lane, wrapping.
    static integers dot(integers sums, integers a, integers b) { return _mm256_dpbusd_avx_epi32(sums, a, b); }
    /// g++ would load it again for each use.
    static integers load_to_register(const void *p) {
        auto result = load_bits(p);
        __asm__("" : "+x"(result));
        return result;
    }
};

} // namespace
} // namespace dynquant::simd
