// AVX2 with VNNI: sums of four products of bytes. For processors without AVX-512.
#pragma once

#include "targets/avx2.hpp"

namespace dynquant::simd {
namespace {

struct avx2_vnni : avx2 {
    using of_32_bytes = avx2_vnni;
    static constexpr bool dot_saturates = false, dot_is_signed = false;
    /// Adds four products of u8 and s8 to each lane, wrapping.
    static integers dot(integers sums, integers a, integers b) { return _mm256_dpbusd_avx_epi32(sums, a, b); }
    // Small numbers need no parts.
    static constexpr std::int64_t most_small_dots = INT64_MAX / 4;
    static integers dot_small(integers sums, integers a, integers b) { return dot(sums, a, b); }
    static integers sums_of_small(integers sums, std::int16_t) { return sums; }
};

} // namespace
} // namespace dynquant::simd
