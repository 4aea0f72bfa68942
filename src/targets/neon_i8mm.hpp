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
    static integers dot_small(integers sums, integers a, integers b) { return dot(sums, a, b); }

    // Two rows of x, of eight bytes each, by two columns of weights, of eight bytes each: sums of the first row and
    // both columns, then of the second row. They wrap.
    static integers join_rows(const void *first, const void *second) {
        const auto load = [](const void *p) { return vld1_s8(static_cast<const std::int8_t *>(p)); };
        return vreinterpretq_s32_s8(vcombine_s8(load(first), load(second)));
    }
    template <bool x_is_signed>
    static integers multiply_rows(integers sums, integers x, integers w) {
        if constexpr (x_is_signed)
            return vmmlaq_s32(sums, vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(w));
        else
            return vusmmlaq_s32(sums, vreinterpretq_u8_s32(x), vreinterpretq_s8_s32(w));
    }
    /// What is loaded from p on is loaded after v is there, in the order of instructions.
    template <typename T>
    static void order_loads(const T *&p, integers &v) {
        __asm__("" : "+r"(p), "+w"(v));
    }
    /// The first or second row of the sums of four columns.
    static integers row_of(integers two_columns, integers next_two, bool second) {
        const auto a = vreinterpretq_s64_s32(two_columns), b = vreinterpretq_s64_s32(next_two);
        return vreinterpretq_s32_s64(second ? vtrn2q_s64(a, b) : vtrn1q_s64(a, b));
    }
};

} // namespace
} // namespace dynquant::simd
