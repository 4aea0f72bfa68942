// NEON with USDOT, SMMLA and USMMLA: sums of four products of u8 and s8, and products of small matrices of bytes. An
// extension of Armv8.2, which Armv8.6 has.
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
    template <int lane>
    static integers dot_lane(integers sums, integers w, integers x) {
        return vusdotq_laneq_s32(sums, vreinterpretq_u8_s32(w), vreinterpretq_s8_s32(x), lane);
    }
    template <int lane>
    static integers dot_lane(integers sums, integers w, int8x8_t x) {
        return vusdotq_lane_s32(sums, vreinterpretq_u8_s32(w), x, lane);
    }
    static integers dot_small(integers sums, integers a, integers b) { return dot(sums, a, b); }

    // Two rows of x, of eight bytes each, by two columns of weights, of eight bytes each: sums of the first row and
    // both columns, then of the second row. They wrap.
    template <bool x_is_signed>
    static integers multiply_rows(integers sums, integers x, integers w) {
        if constexpr (x_is_signed)
            return vmmlaq_s32(sums, vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(w));
        else
            return vusmmlaq_s32(sums, vreinterpretq_u8_s32(x), vreinterpretq_s8_s32(w));
    }
    /// The first or second pairs of lanes of a and b. Of two columns' sums and the next two columns' that is the first
    /// or second row, and of both rows the sums of two columns.
    static integers pairs_of(integers a, integers b, bool second) {
        const auto x = vreinterpretq_s64_s32(a), y = vreinterpretq_s64_s32(b);
        return vreinterpretq_s32_s64(second ? vtrn2q_s64(x, y) : vtrn1q_s64(x, y));
    }
};

} // namespace
} // namespace dynquant::simd
