// NEON with SDOT: sums of four products of s8. An extension of Armv8.2.
#pragma once

#include <utility>

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
    // dot() of w and a lane of x, which is then s8.
    template <int lane>
    static integers dot_lane(integers sums, integers w, integers x) {
        return vdotq_laneq_s32(sums, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(x), lane);
    }
    template <int lane>
    static integers dot_lane(integers sums, integers w, int8x8_t x) {
        return vdotq_lane_s32(sums, vreinterpretq_s8_s32(w), x, lane);
    }
    /// Four elements of each row, row after row, of an even number of rows. They multiply w by lane: no instruction
    /// repeats them, which would take the place of a product.
    template <int slots>
    struct four_of_rows {
        static_assert(slots % 2 == 0);
        static constexpr int whole = slots / 4 * 4;
        integers first;
        int8x8_t last;
        explicit four_of_rows(const void *p)
            : first(whole > 0 ? load_bits(p) : splat(0))
            , last(vld1_s8(static_cast<const std::int8_t *>(p) + 4 * (slots - 2))) {}
        template <typename V, int row>
        integers added_to(integers sums, integers w) const {
            if constexpr (row < whole)
                return V::template dot_lane<row % 4>(sums, w, first);
            else
                return V::template dot_lane<row % 2>(sums, w, last);
        }
    };
    /// Adds the products of w and of each row to sums[row][v].
    template <typename V, int rows, int vectors, int slots>
    static void add_rows(integers (&sums)[rows][vectors], int v, integers w, const four_of_rows<slots> &x) {
        [&]<int... row>(std::integer_sequence<int, row...>) __attribute__((always_inline)) {
            ((sums[row][v] = x.template added_to<V, row>(sums[row][v], w)), ...);
        }
        (std::make_integer_sequence<int, rows>());
    }
    // Small numbers need no parts.
    static constexpr std::int64_t most_small_dots = INT64_MAX / 4;
    static integers dot_small(integers sums, integers a, integers b) { return dot(sums, a, b); }
    static integers sums_of_small(integers sums, std::int16_t) { return sums; }
};

} // namespace
} // namespace dynquant::simd
