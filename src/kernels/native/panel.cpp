// Parameters: fetched from any type and stride, prepared a panel at a time.
#include <algorithm>
#include <cstring>

#include "elements/load_store.hpp"
#include "elements/small_float.hpp"
#include "elements/table.hpp"
#include "kernels/native/plan.hpp"
#include "quantization/numerics.hpp"
#include "quantization/shape.hpp"

namespace dynquant::kernels::native {
namespace {

/// Rounds numbers of a data type, s32 given as bits, to the division's type. A no-op if they are of that type, the
/// usual case. For scales in f64 there is split().
void round_to_division(float *numbers, std::int64_t count, data_type type, precision division) {
    const auto to = [=](const auto &rounded) {
        for (std::int64_t i = 0; i < count; ++i)
            numbers[i] = rounded(numbers[i]);
    };
    if (type == data_type::s32)
        to([=](float bits) {
            const auto exact = __builtin_bit_cast(std::int32_t, bits);
            return static_cast<float>(numerics_contract::rounded(exact, division));
        });
    else if (division == precision::f16 && type != data_type::f16)
        to([](float x) { return float16::from(x).value(); });
    else if (division == precision::bf16 && type != data_type::bf16)
        to([](float x) { return bfloat16::from(x).value(); });
}

/// Scales as the sums of two f32 (any_quotient): s32, given as bits, may have more bits than one.
void split(float *scale, float *rest, std::int64_t count, bool integral) {
    for (std::int64_t i = 0; i < count; ++i) {
        rest[i] = -0.0F; // keeps the sign of a scale of 0
        if (!integral) continue;
        const double exact = __builtin_bit_cast(std::int32_t, scale[i]);
        scale[i] = static_cast<float>(exact);
        if (exact != scale[i]) rest[i] = static_cast<float>(exact - scale[i]);
    }
}

/// Calls put(column, number) for each parameter.
template <typename Put>
void for_each(const parameter_grid &from, const Put &put) {
    std::int64_t column = 0;
    for (std::int64_t row = 0; row < from.rows; ++row)
        for (std::int64_t i = 0; i < from.count; ++i, ++column)
            put(column, from.first + row * from.next_row + i * from.stride);
}

float as_bits(auto integer) {
    return __builtin_bit_cast(float, static_cast<std::int32_t>(integer));
}

/// The address may be unaligned, since oneDNN accepts any.
template <typename T>
T element_at(const void *data, std::int64_t number) {
    T value;
    std::memcpy(&value, static_cast<const std::byte *>(data) + number * std::int64_t {sizeof(T)}, sizeof(T));
    return value;
}

template <typename T>
void copy(const parameter_grid &from, const void *data, float *to) {
    const auto put = [=](std::int64_t column, std::int64_t number) {
        const auto value = element_at<T>(data, number);
        if constexpr (sizeof(T) == 4)
            to[column] = __builtin_bit_cast(float, value);
        else
            to[column] = as_bits(value);
    };
    if (from.rows > 1 || from.stride != 1) return for_each(from, put);
    if constexpr (sizeof(T) == 4) // no loop: the speed of so short a one depends on its address
        std::memcpy(to, static_cast<const T *>(data) + from.first, static_cast<std::size_t>(from.count) * sizeof(T));
    else
        for (std::int64_t i = 0; i < from.count; ++i) // a separate loop, so that compilers vectorize it
            put(i, from.first + i);
}

/// Reads floats as f32 and integers as the bits of s32, u32 less 2^31. Contiguous ones go through the codecs.
void read(const plan &p, const parameter_grid &from, const void *data, data_type type, float *to) {
    if (type == data_type::f32 || type == data_type::s32) return copy<float>(from, data, to);
    if (type == data_type::u8) return copy<std::uint8_t>(from, data, to);
    if (type == data_type::s8) return copy<std::int8_t>(from, data, to);
    const auto codec = p.set->code.read[type];
    const auto bits = traits(type).bits;
    const bool integral = traits(type).integral, to_bytes = integral && bits < 8;
    std::int8_t bytes[panel_capacity + 2 * widest_step];
    if (codec && (from.stride == 1 || from.count == 1)) {
        for (std::int64_t row = 0; row < from.rows; ++row, to += from.count) {
            codec(data, from.first + row * from.next_row, from.count, to_bytes ? static_cast<void *>(bytes) : to);
            for (std::int64_t i = 0; to_bytes && i < from.count; ++i)
                to[i] = as_bits(bytes[i]);
        }
        return;
    }
    for_each(from, [=](std::int64_t column, std::int64_t number) {
        const auto value = load(type, data, number);
        to[column] = !integral ? static_cast<float>(value) : as_bits(type == data_type::u32 ? value - 0x1p31 : value);
    });
}

} // namespace

void fetch(
        const plan &p, const call &c, const parameter_grid &from, float *scale, float *reciprocal, float *zero_points) {
    const auto all = from.rows * from.count;
    read(p, from, c.scales, p.scales, scale);
    if (p.division == precision::f64)
        split(scale, reciprocal, all, p.scales == data_type::s32);
    else
        round_to_division(scale, all, p.scales, p.division);
    if (p.has_global_scale) {
        const auto global = element_at<float>(c.second_scales, 0);
        for (std::int64_t i = 0; i < all; ++i)
            scale[i] *= global;
    } else if (c.second_scales) {
        read(p, from, c.second_scales, data_type::f32, reciprocal);
    }
    if (!c.zero_points) {
        for (std::int64_t i = 0; i < all; ++i)
            zero_points[i] = p.no_zero;
        return;
    }
    read(p, from, c.zero_points, p.zero_points, zero_points);
    if (p.formulas->is_f32_zero) round_to_division(zero_points, all, p.zero_points, p.division);
}

void panel::prepare(const parameter_grid &from) {
    fetch(p, c, from, scale_, reciprocal_, of_family_);
    bound_ = p.bound;
    state_ = p.formulas->prepare(from.rows * from.count, scale_, reciprocal_, of_family_, &bound_);
}

/// Initializes what a partial vector after `count` columns reads but does not store. Stale parameters do there, so each
/// column is initialized once. Codes are computed four vectors at a time.
void panel::pad(std::int64_t count) {
    const auto end = count + (p.encoding ? widest_step : p.set->lanes);
    for (auto i = std::max(count, filled_); i < end; ++i) {
        scale_[i] = reciprocal_[i] = 1;
        of_family_[i] = 0;
    }
    filled_ = std::max(filled_, end);
}

std::int64_t panel::prepare_ahead(const parameter_grid &wanted) {
    const auto distance = wanted.first - now_.first;
    const bool alike = wanted.count == now_.count && wanted.stride == now_.stride && width_ == 0;
    if (alike && distance == 0) return base_;
    now_ = {wanted.first, wanted.stride, wanted.count};
    width_ = 0;
    if (alike && rows_left_ > 0 && distance == next_row_) {
        --rows_left_;
        return base_ += wanted.count;
    }
    rows_left_ = wanted.next_row == 0 ? 0 : std::min(wanted.rows, capacity_ / wanted.count) - 1;
    next_row_ = wanted.next_row;
    base_ = 0;
    prepare({wanted.first, wanted.stride, wanted.count, rows_left_ + 1, wanted.next_row});
    if (wanted.count > 1) pad(wanted.count * (rows_left_ + 1));
    return 0;
}

void panel::prepare_all(const parameter_grid &wanted) {
    now_.count = -1; // matches nothing, so prepare_ahead() prepares
    prepare_ahead(wanted);
}

void panel::extend(float *column, const walk &w, std::int64_t width) {
    auto filled = w.period > 0 ? std::min(w.period, width) : width;
    if (w.group_length > 1) p.set->expand(filled, {w.index.data(), w.first.data()}, column);
    for (; filled < width; filled *= 2)
        std::memcpy(
                column + filled, column, static_cast<std::size_t>(std::min(filled, width - filled)) * sizeof(float));
}

void panel::prepare_columns(const walk &w, std::int64_t first, std::int64_t width) {
    const auto columns = w.period > 0 ? std::min(w.period, width) : width;
    const auto count = ceil_div(columns, w.group_length), stride = w.axes.row.parameter_stride;
    const parameter_grid wanted = {first, stride, count};
    if (wanted == now_ && width_ == width) return;
    prepare(wanted);
    now_ = wanted;
    width_ = width;
    base_ = rows_left_ = 0;
    if (w.group_length > 1) pad(count);
    if (w.group_length > 1 || columns < width)
        for (auto *const column : {scale_, reciprocal_, of_family_})
            extend(column, w, width);
    pad(width);
}

} // namespace dynquant::kernels::native
