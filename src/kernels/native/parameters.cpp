// Parameters: fetched from every type and stride, prepared a panel at a time.
#include <algorithm>
#include <cstring>

#include "kernels/native/plan.hpp"
#include "quantization/elements.hpp"
#include "quantization/small_float.hpp"

namespace dynquant::kernels::native {
namespace {

/// As small_float.hpp's, by a product, which compilers make vectors of.
float widened_f16(std::uint16_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffU, sign = (bits & 0x8000U) << 16;
    const float value = __builtin_bit_cast(float, magnitude << 13) * 0x1p112F;
    const auto finite = __builtin_bit_cast(std::uint32_t, value);
    return __builtin_bit_cast(float, sign | (magnitude >= 0x7c00 ? finite | 0x7f800000U : finite));
}
float widened_bf16(std::uint16_t bits) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

/// Numbers of a data type to those of the division, of which they are as a rule.
void round_to_division(float *numbers, std::int64_t count, data_type type, precision division) {
    if (division == precision::f16 && type != data_type::f16)
        for (std::int64_t i = 0; i < count; ++i)
            numbers[i] = float16::from(numbers[i]).value();
    else if (division == precision::bf16 && type != data_type::bf16)
        for (std::int64_t i = 0; i < count; ++i)
            numbers[i] = bfloat16::from(numbers[i]).value();
}

/// Calls put(column, number) for each parameter.
template <typename Put>
void for_each(const parameter_block &from, const Put &put) {
    std::int64_t column = 0;
    for (std::int64_t row = 0; row < from.rows; ++row)
        for (std::int64_t i = 0; i < from.count; ++i, ++column)
            put(column, from.first + row * from.next_row + i * from.stride);
}

/// Of any address: oneDNN takes them all.
template <typename T>
T element_at(const void *data, std::int64_t number) {
    T value;
    std::memcpy(&value, static_cast<const std::byte *>(data) + number * std::int64_t {sizeof(T)}, sizeof(T));
    return value;
}

template <typename T, typename Convert>
void fill(const parameter_block &from, const void *data, float *to, const Convert &convert) {
    if (from.rows == 1 && from.stride == 1) { // worth a loop of its own: it becomes vectors
        for (std::int64_t i = 0; i < from.count; ++i)
            to[i] = convert(element_at<T>(data, from.first + i));
        return;
    }
    for_each(
            from, [&](std::int64_t column, std::int64_t number) { to[column] = convert(element_at<T>(data, number)); });
}

/// 32 bits as they are.
void copy(const parameter_block &from, const void *data, float *to) {
    fill<float>(from, data, to, [](float value) { return value; });
}

float as_bits(std::int32_t value) {
    return __builtin_bit_cast(float, value);
}

template <typename Integer>
void fill_integers(const parameter_block &from, const void *data, float *to) {
    fill<Integer>(from, data, to, [](Integer value) { return as_bits(static_cast<std::int32_t>(value)); });
}

/// Types of zero points that are rare.
void fill_reals(const parameter_block &from, const void *data, data_type type, float *to) {
    for_each(from, [&](std::int64_t column, std::int64_t number) {
        to[column] = static_cast<float>(load(type, data, number));
    });
}

/// Integers of 2 and 4 bits.
void fill_packed(const plan &p, const parameter_block &from, const void *data, float *to) {
    const auto as_integer = [](auto value) { return as_bits(static_cast<std::int32_t>(value)); };
    if (from.rows > 1 || from.stride != 1 || from.count > panel_capacity)
        return for_each(from, [&](std::int64_t column, std::int64_t number) {
            to[column] = as_integer(load(p.zero_points, data, number));
        });
    std::int8_t bytes[panel_capacity + 2 * widest_block];
    p.set->code.read[static_cast<int>(p.zero_points)](data, from.first, from.count, bytes);
    for (std::int64_t i = 0; i < from.count; ++i)
        to[i] = as_integer(bytes[i]);
}

void fill_zero_points(const plan &p, const parameter_block &from, const void *data, float *to) {
    switch (p.zero_points) {
        case data_type::s8: return fill_integers<std::int8_t>(from, data, to);
        case data_type::u8: return fill_integers<std::uint8_t>(from, data, to);
        case data_type::s16: return fill_integers<std::int16_t>(from, data, to);
        case data_type::u16: return fill_integers<std::uint16_t>(from, data, to);
        case data_type::s32: return copy(from, data, to);
        case data_type::u32: // less 2^31, which s32 holds
            return fill<std::int32_t>(from, data, to, [](std::int32_t value) { return as_bits(value ^ INT32_MIN); });
        case data_type::s4:
        case data_type::u4:
        case data_type::s2:
        case data_type::u2: return fill_packed(p, from, data, to);
        case data_type::f16:
        case data_type::bf16:
        case data_type::f8_e4m3:
        case data_type::f8_e5m2:
        case data_type::f8_e4m3fnuz:
        case data_type::f8_e5m2fnuz:
        case data_type::f4_e2m1: return fill_reals(from, data, p.zero_points, to);
        case data_type::f32:
        case data_type::f6_e2m3:
        case data_type::f6_e3m2:
        case data_type::f8_e8m0: break; // zero points of no statement that is computed here
    }
}

} // namespace

void fetch(const plan &p, const call &c, const parameter_block &from, float *scale, float *reciprocal, float *zero) {
    const auto all = from.rows * from.count;
    if (p.scales == data_type::f32)
        copy(from, c.scales, scale);
    else if (p.scales == data_type::f16)
        fill<std::uint16_t>(from, c.scales, scale, widened_f16);
    else
        fill<std::uint16_t>(from, c.scales, scale, widened_bf16);
    round_to_division(scale, all, p.scales, p.division);
    if (c.second_scales) copy(from, c.second_scales, reciprocal);
    if (!c.zero_points) {
        for (std::int64_t i = 0; i < all; ++i)
            zero[i] = p.no_zero;
        return;
    }
    fill_zero_points(p, from, c.zero_points, zero);
    if (p.is_f32_zero) round_to_division(zero, all, p.zero_points, p.division);
}

const microkernels &formulas_of(const family &f, preparation state, float scale, std::int64_t elements) {
    switch (state) {
        case preparation::symmetric: return f.symmetric;
        case preparation::general: return f.general;
        case preparation::fast: break;
    }
    return f.is_exact && elements >= f.worth_asking && f.is_exact(scale) ? f.exact : f.fast;
}

void panel::prepare(const parameter_block &from) {
    fetch(p, c, from, scale_, reciprocal_, zero_);
    bound_ = p.bound;
    state_ = p.formulas->prepare(from.rows * from.count, scale_, reciprocal_, zero_, &bound_);
}

/// What a partial vector after `count` columns reads but does not store, once: older parameters do as well. Codes are
/// computed in whole blocks.
void panel::pad(std::int64_t count) {
    const auto end = count + (p.writes_codes ? widest_block : p.set->lanes);
    for (auto i = std::max(count, filled_); i < end; ++i) {
        scale_[i] = reciprocal_[i] = 1;
        zero_[i] = 0;
    }
    filled_ = std::max(filled_, end);
}

std::int64_t panel::find(
        std::int64_t first, std::int64_t stride, std::int64_t count, std::int64_t more, std::int64_t step) {
    const auto distance = first - now_.first;
    const bool alike = count == now_.count && stride == now_.stride && width_ == 0;
    if (alike && distance == 0) return base_;
    now_ = {first, stride, count};
    width_ = 0;
    if (alike && left_ > 0 && distance == step_) {
        --left_;
        return base_ += count;
    }
    left_ = step == 0 ? 0 : std::min(more, capacity_ / count - 1);
    step_ = step;
    base_ = 0;
    prepare({first, stride, count, left_ + 1, step});
    if (count > 1) pad(count * (left_ + 1));
    return 0;
}

std::int64_t panel::find_all(
        std::int64_t first, std::int64_t stride, std::int64_t count, std::int64_t more, std::int64_t step) {
    now_.count = -1; // nothing that is held will do
    return find(first, stride, count, more, step);
}

void panel::extend(float *column, const walk &w, std::int64_t width) {
    auto filled = w.period > 0 ? std::min(w.period, width) : width;
    if (w.repeat > 1) p.set->expand(filled, {w.index.data(), w.first.data()}, column);
    for (; filled < width; filled *= 2)
        std::memcpy(
                column + filled, column, static_cast<std::size_t>(std::min(filled, width - filled)) * sizeof(float));
}

void panel::find_columns(const walk &w, std::int64_t first, std::int64_t width) {
    const auto columns = w.period > 0 ? std::min(w.period, width) : width;
    const auto count = (columns + w.repeat - 1) / w.repeat, stride = w.axes.row.parameter_stride;
    const parameter_block wanted = {first, stride, count};
    if (wanted == now_ && width_ == width) return;
    prepare(wanted);
    now_ = wanted;
    width_ = width;
    base_ = left_ = 0;
    if (w.repeat > 1) pad(count);
    if (w.repeat > 1 || columns < width)
        for (auto *const column : {scale_, reciprocal_, zero_})
            extend(column, w, width);
    pad(width);
}

} // namespace dynquant::kernels::native
