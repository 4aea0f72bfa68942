// NEON with USDOT and USMMLA: sums of products of u8 and s8. An extension of Armv8.2, which Armv8.6 has.
#pragma once

#include "targets/neon_dot.hpp"

namespace dynquant::simd {
namespace {

struct neon_i8mm : neon_dot {
    using of_32_bytes = neon_i8mm;
    /// Adds four products of u8 and s8 to each lane, wrapping.
    static constexpr bool dot_is_signed = false;
    static integers dot(integers sums, integers a, integers b) {
        return vusdotq_s32(sums, vreinterpretq_u8_s32(a), vreinterpretq_s8_s32(b));
    }
    static integers dot_small(integers sums, integers a, integers b) { return dot(sums, a, b); }
};

} // namespace
} // namespace dynquant::simd
