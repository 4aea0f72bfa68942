// Parameters as the formulas want them.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/native/plan.hpp"
#include "kernels/native/two_part_reciprocal.hpp"
#include "quantization/small_float.hpp"

namespace dynquant::kernels::native {
namespace {

constexpr float two_to_22 = 4194304.0F, two_to_75 = 37778931862957161709568.0F;

/// Which parameters: count of them from index `first` on, `stride` apart; with a period, those of an endless
/// repetition of `period` parameters, beginning with number `begin`.
struct parameter_run {
    std::int64_t first, stride, count, period = 0, begin = 0;

    [[gnu::always_inline]] constexpr bool operator==(const parameter_run &) const = default;
};

/// Whether formulas take the low parts of reciprocals from a table, or do where all zero points are 0.
enum class low_parts { unused, used_if_symmetric, used };

/// Prepared parameters of a stretch of columns. On the stack: preparing them costs about as much as
/// quantizing one row, and memory that outlives the call would have to be found, grown and kept apart for
/// nested calls.
template <std::int64_t Capacity>
struct alignas(64) parameter_columns {
    static constexpr std::int64_t size = Capacity + widest_block;

    float scale[size], reciprocal[size], limit[size], zero[size];
    std::int32_t zero_point[size];
    float low[size]; // of the reciprocals
    low_parts low_are = low_parts::unused;
    /// All of them: 2^-75 <= scale <= 2^75 and |zero point| < 2^20. Negative scales would do with a second
    /// limit, which every element would pay for.
    bool inside_guard = false;
    /// All of them: no difference with an s8 or u8 leaves s32.
    bool narrow = false;
    /// All zero points are 0, and adding them would change nothing.
    bool symmetric = false;
    /// All of them, which are floats, are 0 or -0, which changes the sign of 0 alone. In f32 and bf16 all scales are
    /// below 2, too, by which nothing but 0 is divided to 0: |x / s| > 2^-150 for x from 2^-149 on, and 2^-134 from
    /// 2^-133.
    bool zeros_are_signs = false;
    /// Which these are; none as yet.
    parameter_run holds = {0, 0, -1};
    std::int64_t filled = 0; // columns that have been written

    bool has_low() const {
        return low_are == low_parts::used || (low_are == low_parts::used_if_symmetric && symmetric);
    }
};

using parameter_table = parameter_columns<table_capacity>;

/// The least and the greatest of what they have seen.
struct bounds {
    std::int32_t least = INT32_MAX, greatest = INT32_MIN;

    void include(std::int32_t value) {
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    bool within(std::int32_t low, std::int32_t high) const { return low <= least && greatest <= high; }
};

inline std::int32_t bits_of(float value) {
    return __builtin_bit_cast(std::int32_t, value);
}

/// Elements of fewer than 8 bits: the first of a byte is in its low bits.
template <int bits>
std::int32_t packed_at(const void *packed, std::int64_t i) {
    constexpr int per_byte = 8 / bits;
    return static_cast<const unsigned char *>(packed)[i / per_byte] >> i % per_byte * bits & ((1 << bits) - 1);
}
/// The two's complement number that `bits` bits are.
template <int bits>
constexpr std::int32_t with_sign(std::int32_t value) {
    constexpr auto sign = 1 << (bits - 1);
    return (value ^ sign) - sign;
}

inline void unpack(const unsigned char *packed, std::int32_t *to, std::int64_t count) {
    for (std::int64_t i = 0; i < count / 2; ++i) {
        to[2 * i] = packed[i] & 0xf;
        to[2 * i + 1] = packed[i] >> 4;
    }
    if (count % 2 != 0) to[count - 1] = packed[count / 2] & 0xf;
}

/// As small_float.hpp's, by a product, which compilers make vectors of.
inline float widened_f16(std::uint16_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffU, sign = (bits & 0x8000U) << 16;
    const float value = __builtin_bit_cast(float, magnitude << 13) * 0x1p112F;
    const auto finite = __builtin_bit_cast(std::uint32_t, value);
    return __builtin_bit_cast(float, sign | (magnitude >= 0x7c00 ? finite | 0x7f800000U : finite));
}
inline float widened_bf16(std::uint16_t bits) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

/// Numbers of a data type to those of the division, of which they are as a rule.
inline void round_to_division(float *numbers, std::int64_t count, data_type type, precision division) {
    if (division == precision::f16 && type != data_type::f16)
        for (std::int64_t i = 0; i < count; ++i)
            numbers[i] = float16::from(numbers[i]).value();
    else if (division == precision::bf16 && type != data_type::bf16)
        for (std::int64_t i = 0; i < count; ++i)
            numbers[i] = bfloat16::from(numbers[i]).value();
}

/// Parameters that lie in rows: of each row `count`, from index `first` on, `stride` apart.
struct parameter_block {
    std::int64_t first, stride, count;
    std::int64_t rows = 1, next_row = 0; // to the next row's first
};

/// u32's are 2^31 less.
inline std::int32_t no_zero_point(const call &c) {
    return c.src_type == data_type::u32 || c.dst_type == data_type::u32 ? INT32_MIN : 0;
}

/// Fetches parameters into the columns from `begin` on, row after row: zero points to zero_point, those that are floats
/// to zero. Compilers do better without a loop around one row.
inline void fetch(auto &t, const call &c, const parameter_block &from, std::int64_t begin) {
    const auto fill_row = [&](auto *column, std::int64_t first, auto at) {
        const auto stride = from.stride, count = from.count;
        if (stride == 1) // worth a loop of its own: it becomes vectors
            for (std::int64_t i = 0; i < count; ++i)
                column[i] = at(first + i);
        else
            for (std::int64_t i = 0; i < count; ++i)
                column[i] = at(first + i * stride);
    };
    const auto fill = [&](auto *column, auto at) {
        if (from.rows == 1) return fill_row(column + begin, from.first, at);
        for (std::int64_t row = 0; row < from.rows; ++row)
            fill_row(column + begin + row * from.count, from.first + row * from.next_row, at);
    };
    const auto fill_zero_points = [&](const auto *p) { fill(t.zero_point, [=](auto i) { return p[i]; }); };
    const auto fill_scales = [&](const auto *p, auto convert) { fill(t.scale, [=](auto i) { return convert(p[i]); }); };
    if (c.scales.type == data_type::f32)
        fill_scales(static_cast<const float *>(c.scales.data), [](float s) { return s; });
    else if (c.scales.type == data_type::f16)
        fill_scales(static_cast<const std::uint16_t *>(c.scales.data), widened_f16);
    else
        fill_scales(static_cast<const std::uint16_t *>(c.scales.data), widened_bf16);
    const void *data = c.zero_points.data;
    round_to_division(t.scale + begin, from.rows * from.count, c.scales.type, c.division);
    if (!data) {
        for (auto i = begin, end = begin + from.rows * from.count; i < end; ++i)
            t.zero_point[i] = no_zero_point(c);
        return;
    }
    const auto fill_zeros = [&](const auto *p) {
        fill(t.zero, [=](auto i) { return p[i].value(); });
        round_to_division(t.zero + begin, from.rows * from.count, c.zero_points.type, c.division);
    };
    const auto fill_nibbles = [&] {
        if (from.stride == 1 && from.first % 2 == 0 && from.rows == 1)
            unpack(static_cast<const unsigned char *>(data) + from.first / 2, t.zero_point + begin, from.count);
        else
            fill(t.zero_point, [=](auto i) { return packed_at<4>(data, i); });
    };
    switch (c.zero_points.type) {
        case data_type::s8: return fill_zero_points(static_cast<const std::int8_t *>(data));
        case data_type::u8: return fill_zero_points(static_cast<const std::uint8_t *>(data));
        case data_type::s16: return fill_zero_points(static_cast<const std::int16_t *>(data));
        case data_type::u16: return fill_zero_points(static_cast<const std::uint16_t *>(data));
        case data_type::u4: return fill_nibbles();
        case data_type::s4:
            fill_nibbles();
            for (auto i = begin, end = begin + from.rows * from.count; i < end; ++i)
                t.zero_point[i] = with_sign<4>(t.zero_point[i]);
            return;
        case data_type::u2: return fill(t.zero_point, [=](auto i) { return packed_at<2>(data, i); });
        case data_type::s2: return fill(t.zero_point, [=](auto i) { return with_sign<2>(packed_at<2>(data, i)); });
        case data_type::u32: // less 2^31, which s32 holds
            return fill(t.zero_point, [=](auto i) { return static_cast<const std::int32_t *>(data)[i] ^ INT32_MIN; });
        case data_type::f16: return fill_zeros(static_cast<const float16 *>(data));
        case data_type::bf16: return fill_zeros(static_cast<const bfloat16 *>(data));
        case data_type::f8_e4m3: return fill_zeros(static_cast<const float8_e4m3 *>(data));
        case data_type::f8_e5m2: return fill_zeros(static_cast<const float8_e5m2 *>(data));
        case data_type::f8_e4m3fnuz: return fill_zeros(static_cast<const float8_e4m3fnuz *>(data));
        case data_type::f8_e5m2fnuz: return fill_zeros(static_cast<const float8_e5m2fnuz *>(data));
        case data_type::f4_e2m1:
            return fill(t.zero,
                    [=](auto i) { return float4_e2m1 {static_cast<std::uint8_t>(packed_at<4>(data, i))}.value(); });
        case data_type::f32:
        case data_type::s32:
        case data_type::f6_e2m3:
        case data_type::f6_e3m2:
        case data_type::f8_e8m0: return fill_zero_points(static_cast<const std::int32_t *>(data));
    }
}

/// From the scale in a column, and from the limit of quotients.
[[gnu::always_inline]] inline void derive_from_scale(auto &t, std::int64_t i, float limit) {
    t.reciprocal[i] = 1 / t.scale[i];
    t.limit[i] = t.scale[i] * limit;
}

[[gnu::always_inline]] inline bool are_inside_guard(const bounds &scales) {
    return scales.within(bits_of(1 / two_to_75), bits_of(two_to_75));
}

/// What to multiply by in the first `count` columns, and whether the fast formulas apply. One plain loop, which
/// compilers make vectors of.
[[gnu::always_inline]] inline void derive(auto &t, std::int64_t count) {
    bounds scales, zero_points;
    for (std::int64_t i = 0; i < count; ++i) {
        derive_from_scale(t, i, two_to_22);
        scales.include(bits_of(t.scale[i])); // positive numbers lie in the order of their bits, NaN after them
        t.zero[i] = static_cast<float>(t.zero_point[i]);
        zero_points.include(t.zero_point[i]);
    }
    t.inside_guard = are_inside_guard(scales) && zero_points.within(-(1 << 20) + 1, (1 << 20) - 1);
    t.symmetric = zero_points.within(0, 0);
    t.narrow = zero_points.within(INT32_MIN + 256, INT32_MAX - 256);
}

/// The low parts of the reciprocals in the first `count` columns, where they are used.
inline void derive_low_parts(auto &t, std::int64_t count) {
    if (!t.has_low()) return;
    for (std::int64_t i = 0; i < count; ++i)
        t.low[i] = low_part(t.scale[i], t.reciprocal[i]);
}

/// Copies the first `period` columns again and again, up to `count`.
inline void replicate(auto &t, std::int64_t period, std::int64_t count) {
    const auto extend = [=](auto *column) {
        for (auto filled = period; filled < count; filled *= 2)
            std::memcpy(column + filled, column,
                    static_cast<std::size_t>(filled < count - filled ? filled : count - filled) * sizeof(*column));
    };
    extend(t.scale);
    extend(t.reciprocal);
    extend(t.limit);
    extend(t.zero);
    extend(t.zero_point);
    if (t.has_low()) extend(t.low);
}

/// Fills what a partial block after `count` columns reads but does not store, once: older parameters do as well.
inline void pad(auto &t, std::int64_t count) {
    const auto end = count + widest_block;
    for (auto i = count > t.filled ? count : t.filled; i < end; ++i) {
        t.scale[i] = t.reciprocal[i] = 1;
        t.limit[i] = t.zero[i] = t.low[i] = 0;
        t.zero_point[i] = 0;
    }
    if (t.filled < end) t.filled = end;
}

/// From number `begin` to the last of a period, then from the first.
inline void fetch_period(auto &t, const call &c, const parameter_run &run) {
    const auto rest = run.period - run.begin;
    fetch(t, c, {run.first + run.begin * run.stride, run.stride, rest}, 0);
    fetch(t, c, {run.first, run.stride, run.period - rest}, rest);
}

/// All columns of a run, as they are.
inline void fetch_run(auto &t, const call &c, const parameter_run &run) {
    if (run.period == 0) return fetch(t, c, {run.first, run.stride, run.count}, 0);
    fetch_period(t, c, run);
    replicate(t, run.period, run.count);
}

/// Second scales, in place of the reciprocals, which nothing needs beside them.
inline void fetch_second_scales(auto &t, const call &c, const parameter_run &run) {
    const auto copy = [&](std::int64_t number, std::int64_t count, float *to) {
        const auto *const from = c.second_scales + run.first + number * run.stride;
        for (std::int64_t i = 0; i < count; ++i)
            to[i] = from[i * run.stride];
    };
    const auto count = run.period == 0 ? run.count : run.period - run.begin;
    copy(run.begin, count, t.reciprocal);
    copy(0, run.begin, t.reciprocal + count);
}
inline void fetch_second_scales(auto &t, const call &c, const parameter_block &block) {
    for (std::int64_t row = 0; row < block.rows; ++row)
        for (std::int64_t i = 0; i < block.count; ++i)
            t.reciprocal[row * block.count + i] =
                    c.second_scales[block.first + row * block.next_row + i * block.stride];
}

/// Prepares all columns of a run, unless the table holds them already.
inline void prepare(auto &t, const call &c, const parameter_run &run) {
    if (t.holds == run) return;
    t.holds = run;
    if (run.period == 0) {
        fetch(t, c, {run.first, run.stride, run.count}, 0);
        derive(t, run.count);
        derive_low_parts(t, run.count);
    } else {
        fetch_period(t, c, run);
        derive(t, run.period);
        derive_low_parts(t, run.period);
    }
    if (c.second_scales) fetch_second_scales(t, c, run);
    if (run.period > 0) replicate(t, run.period, run.count);
    if (run.count > 1) pad(t, run.count);
}

/// Prepares all columns of a block, row after row.
inline void prepare_block(auto &t, const call &c, const parameter_block &block) {
    const auto count = block.rows * block.count;
    fetch(t, c, block, 0);
    derive(t, count);
    derive_low_parts(t, count);
    if (c.second_scales) fetch_second_scales(t, c, block);
    pad(t, count);
}

/// Finds runs of parameters that come one after the other, each so far behind the last, and prepares as many at a time
/// as a table has room for: one by one, those of few rows or columns would take as long as what they serve.
class successive_runs {
  public:
    /// The first column of a run in a table that nothing else writes to; `more` runs may follow it, a `step` apart.
    std::int64_t find(
            parameter_table &t, const call &c, const parameter_run &run, std::int64_t more, std::int64_t step) {
        const auto distance = run.first - now_.first;
        const bool alike = run.count == now_.count && run.stride == now_.stride;
        if (alike && distance == 0) return base_;
        now_ = run;
        if (alike && left_ > 0 && distance == step_) {
            --left_;
            return base_ += run.count;
        }
        const auto room = table_capacity / run.count - 1;
        left_ = more < room ? more : room;
        step_ = step;
        base_ = 0;
        prepare_block(t, c, {run.first, run.stride, run.count, left_ + 1, step});
        return 0;
    }

  private:
    parameter_run now_ = {0, 0, -1};
    std::int64_t base_ = 0, left_ = 0, step_ = 0;
};

/// One of a type that plain rows have.
inline std::int32_t zero_point_at(const parameters_view &zero_points, std::int64_t i) {
    if (!zero_points.data) return 0;
    switch (zero_points.type) {
        case data_type::s8: return static_cast<const std::int8_t *>(zero_points.data)[i];
        case data_type::u8: return static_cast<const std::uint8_t *>(zero_points.data)[i];
        case data_type::f32:
        case data_type::s32:
        case data_type::f16:
        case data_type::bf16:
        case data_type::s4:
        case data_type::u4:
        case data_type::f8_e4m3:
        case data_type::f8_e5m2:
        case data_type::s16:
        case data_type::u16:
        case data_type::u32:
        case data_type::s2:
        case data_type::u2:
        case data_type::f4_e2m1:
        case data_type::f6_e2m3:
        case data_type::f6_e3m2:
        case data_type::f8_e4m3fnuz:
        case data_type::f8_e5m2fnuz:
        case data_type::f8_e8m0: break;
    }
    return static_cast<const std::int32_t *>(zero_points.data)[i];
}

/// Prepares parameter i in column 0: what small tensors wait for. Not for rows that are converted: their scales
/// may be narrower, and their zero points packed.
[[gnu::always_inline]] inline void prepare_one(auto &t, const call &c, std::int64_t i) {
    t.scale[0] = static_cast<const float *>(c.scales.data)[i];
    t.zero_point[0] = zero_point_at(c.zero_points, i);
    derive(t, 1);
    if (c.second_scales) t.reciprocal[0] = c.second_scales[i];
}

} // namespace
} // namespace dynquant::kernels::native
