// Parameters: fetched from any type and stride, prepared a chunk at a time.
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

/// Rounds numbers of a data type to the division's type, in place. A no-op if they are of that type, the usual case.
/// For scales in f64 there is split().
void round_to_division(void *numbers, std::int64_t count, data_type type, precision division) {
    auto *const rounded = static_cast<float *>(numbers);
    const auto each = [=](const auto *from, const auto &round) {
        for (std::int64_t i = 0; i < count; ++i)
            rounded[i] = round(from[i]);
    };
    if (type == data_type::s32)
        each(static_cast<const std::int32_t *>(numbers),
                [=](auto x) { return static_cast<float>(numerics_contract::rounded(x, division)); });
    else if (division == precision::f16 && type != data_type::f16)
        each(rounded, [](float x) { return float16::from(x).value(); });
    else if (division == precision::bf16 && type != data_type::bf16)
        each(rounded, [](float x) { return bfloat16::from(x).value(); });
}

/// Scales in f64 as the sums of two f32: s32 may have more bits than one.
void split(const fetched_parameters &p, std::int64_t count, data_type type) {
    std::fill_n(p.second, count, -0.0F); // keeps the sign of a scale of 0
    if (type != data_type::s32) return;
    const auto *const exact = reinterpret_cast<const std::int32_t *>(p.scale);
    for (std::int64_t i = 0; i < count; ++i) {
        const double number = exact[i];
        p.scale[i] = static_cast<float>(number);
        if (number != p.scale[i]) p.second[i] = static_cast<float>(number - p.scale[i]);
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

/// The address may be unaligned, since oneDNN accepts any.
template <typename T>
T element_at(const void *data, std::int64_t number) {
    T value;
    std::memcpy(&value, static_cast<const std::byte *>(data) + number * std::int64_t {sizeof(T)}, sizeof(T));
    return value;
}

/// Reads T as Number.
template <typename Number, typename T>
void copy(const parameter_grid &from, const void *data, void *column) {
    auto *const to = static_cast<Number *>(column);
    if (from.rows > 1 || from.stride != 1)
        return for_each(from, [=](std::int64_t at, std::int64_t number) { to[at] = element_at<T>(data, number); });
    if constexpr (sizeof(T) == sizeof(Number)) // no loop: the speed of so short a one depends on its address
        std::memcpy(to, static_cast<const T *>(data) + from.first, static_cast<std::size_t>(from.count) * sizeof(T));
    else
        for (std::int64_t i = 0; i < from.count; ++i) // a separate loop, so that compilers vectorize it
            to[i] = element_at<T>(data, from.first + i);
}

/// Reads floats as f32, integers as s32, u32 less 2^31. Contiguous ones go through the codecs.
void read(const plan &p, const parameter_grid &from, const void *data, data_type type, void *column) {
    if (type == data_type::f32) return copy<float, float>(from, data, column);
    if (type == data_type::s32) return copy<std::int32_t, std::int32_t>(from, data, column);
    if (type == data_type::u8) return copy<std::int32_t, std::uint8_t>(from, data, column);
    if (type == data_type::s8) return copy<std::int32_t, std::int8_t>(from, data, column);
    auto *const reals = static_cast<float *>(column);
    auto *const integers = static_cast<std::int32_t *>(column);
    const auto codec = p.loops->code.read[type];
    const bool integral = traits(type).integral, to_bytes = integral && traits(type).bits < 8;
    std::int8_t bytes[chunk_capacity + 2 * widest_step];
    if (codec && (from.stride == 1 || from.count == 1)) {
        for (std::int64_t row = 0; row < from.rows; ++row) {
            const auto to = row * from.count;
            codec(data, from.first + row * from.next_row, from.count,
                    to_bytes ? static_cast<void *>(bytes) : integers + to);
            for (std::int64_t i = 0; to_bytes && i < from.count; ++i)
                integers[to + i] = bytes[i];
        }
        return;
    }
    for_each(from, [=](std::int64_t at, std::int64_t number) {
        const auto value = load(type, data, number);
        if (!integral)
            reals[at] = static_cast<float>(value);
        else
            integers[at] = static_cast<std::int32_t>(type == data_type::u32 ? value - 0x1p31 : value);
    });
}

void fetch_zero_points(const plan &p, const call &c, const parameter_grid &from, const parameter_columns &to) {
    const auto all = from.rows * from.count;
    const auto reals = to.as<fetched_reals>();
    const bool are_real = p.formulas->has_real_zero_points;
    if (c.zero_points) {
        read(p, from, c.zero_points, p.zero_points, reals.zero_point);
        if (are_real) round_to_division(reals.zero_point, all, p.zero_points, p.division);
    } else if (are_real) {
        std::fill_n(reals.zero_point, all, p.formulas->no_zero_point);
    } else {
        std::fill_n(to.as<fetched_parameters>().zero_point, all, p.no_zero_point);
    }
}

} // namespace

void fetch(const plan &p, const call &c, const parameter_grid &from, const parameter_columns &to) {
    const auto all = from.rows * from.count;
    const auto columns = to.as<fetched_parameters>();
    read(p, from, c.scales, p.scales, columns.scale);
    if (p.division == precision::f64)
        split(columns, all, p.scales);
    else
        round_to_division(columns.scale, all, p.scales, p.division);
    if (p.has_global_scale) {
        const auto global = element_at<float>(c.second_scales, 0);
        for (std::int64_t i = 0; i < all; ++i)
            columns.scale[i] *= global;
    } else if (c.second_scales) {
        read(p, from, c.second_scales, data_type::f32, columns.second);
    }
    fetch_zero_points(p, c, from, to);
}

void chunk::prepare(const parameter_grid &from) {
    fetch(p, c, from, columns_);
    state_ = p.formulas->prepare(from.rows * from.count, columns_);
}

/// Initializes what a partial vector after `count` columns reads but does not store. Stale parameters do there, so each
/// column is initialized once. Codes are computed four vectors at a time.
void chunk::pad(std::int64_t count) {
    const auto end = count + (p.encoding ? widest_step : p.loops->lanes);
    const auto first = std::max(count, filled_);
    for (auto *const column : columns_.column)
        if (first < end) std::fill(static_cast<float *>(column) + first, static_cast<float *>(column) + end, 1.0F);
    filled_ = std::max(filled_, end);
}

std::int64_t chunk::prepare_ahead(const parameter_grid &wanted) {
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

void chunk::prepare_all(const parameter_grid &wanted) {
    now_.count = -1; // matches nothing, so prepare_ahead() prepares
    prepare_ahead(wanted);
}

void chunk::extend(void *column, const walk &w, std::int64_t width) {
    auto *const bytes = static_cast<std::byte *>(column);
    auto filled = w.period > 0 ? std::min(w.period, width) : width;
    if (w.group_length > 1) p.loops->expand(filled, {w.index.data(), w.first.data()}, column);
    for (; filled < width; filled *= 2)
        std::memcpy(bytes + filled * 4, bytes, static_cast<std::size_t>(std::min(filled, width - filled)) * 4);
}

void chunk::prepare_columns(const walk &w, std::int64_t first, std::int64_t width) {
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
        for (auto *const column : columns_.column)
            extend(column, w, width);
    pad(width);
}

} // namespace dynquant::kernels::native
