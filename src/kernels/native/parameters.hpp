// Parameters as the formulas want them.
#pragma once

#include <cstdint>

#include "kernels/native/plan.hpp"

namespace dynquant::kernels::native {
namespace {

constexpr float two_to_22 = 4194304.0F, two_to_75 = 37778931862957161709568.0F;

/// Prepared parameters of a stretch of columns. On the stack: preparing them costs about as much as
/// quantizing one row, and memory that outlives the call would have to be found, grown and kept apart for
/// nested calls.
struct alignas(64) parameter_table {
    static constexpr std::int64_t capacity = 512;
    static constexpr std::int64_t margin = 64; // the widest block, which a partial one reads to its end

    float scale[capacity + margin], reciprocal[capacity + margin], limit[capacity + margin], zero[capacity + margin];
    std::int32_t zero_point[capacity + margin];
    /// All of them: 2^-75 <= scale <= 2^75 and |zero point| < 2^20. Negative scales would do with a second
    /// limit, which every element would pay for.
    int inside_guard;
    /// All of them: no difference with an s8 or u8 leaves s32.
    int narrow;
    /// All zero points are 0, and adding them would change nothing.
    int symmetric;
};

/// Prepares column i: what to multiply by, and whether the fast formulas apply.
inline void prepare(parameter_table &t, std::int64_t i, float scale, std::int32_t zero_point) {
    t.scale[i] = scale;
    t.reciprocal[i] = 1 / scale;
    t.limit[i] = scale * two_to_22;
    t.zero[i] = static_cast<float>(zero_point);
    t.zero_point[i] = zero_point;
    // Bitwise, so that the loop over columns has no branches.
    t.inside_guard &= static_cast<int>(scale >= 1 / two_to_75) & static_cast<int>(scale <= two_to_75)
            & static_cast<int>(zero_point < 1 << 20) & static_cast<int>(zero_point > -(1 << 20));
    t.symmetric &= static_cast<int>(zero_point == 0);
    t.narrow &= static_cast<int>(zero_point >= INT32_MIN + 256) & static_cast<int>(zero_point <= INT32_MAX - 256);
}

/// Prepares columns 0 to `count` with the parameters from index `first` on, `stride` apart.
inline void prepare(parameter_table &t, const call &c, std::int64_t first, std::int64_t stride, std::int64_t count) {
    t.inside_guard = t.narrow = t.symmetric = 1;
    const auto with_zero_points = [&](auto zero_point) {
        for (std::int64_t i = 0; i < count; ++i)
            prepare(t, i, c.scales[first + i * stride], zero_point(first + i * stride));
    };
    using kind = zero_points_view::kind;
    const void *data = c.zero_points.data;
    switch (c.zero_points.type) {
        case kind::s8: return with_zero_points([=](auto p) { return static_cast<const std::int8_t *>(data)[p]; });
        case kind::u8: return with_zero_points([=](auto p) { return static_cast<const std::uint8_t *>(data)[p]; });
        case kind::s32: return with_zero_points([=](auto p) { return static_cast<const std::int32_t *>(data)[p]; });
        case kind::none: break;
    }
    with_zero_points([](auto) { return 0; });
}

/// Fills what a partial block at the end of `count` columns reads but does not store.
inline void pad(parameter_table &t, std::int64_t count) {
    for (auto i = count; i < count + parameter_table::margin; ++i) {
        t.scale[i] = t.reciprocal[i] = 1;
        t.limit[i] = t.zero[i] = 0;
        t.zero_point[i] = 0;
    }
}

} // namespace
} // namespace dynquant::kernels::native
