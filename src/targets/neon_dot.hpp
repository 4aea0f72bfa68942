// NEON with SDOT: sums of four products of s8. An extension of Armv8.2.
#pragma once

#include "targets/neon.hpp"

namespace dynquant::simd {
namespace {

struct neon_dot : neon {
    using of_32_bytes = neon_dot;
    /// Adds four products of s8 to each lane, wrapping.
    static constexpr bool dot_saturates = false, dot_is_signed = true;
    static integers dot(integers sums, integers a, integers b) {
        return vdotq_s32(sums, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b));
    }
    // Small numbers need no parts.
    static constexpr std::int64_t most_small_dots = INT64_MAX / 4;
    static integers dot_small(integers sums, integers a, integers b) { return dot(sums, a, b); }
    static integers sums_of_small(integers sums, std::int16_t) { return sums; }
};

} // namespace
} // namespace dynquant::simd
