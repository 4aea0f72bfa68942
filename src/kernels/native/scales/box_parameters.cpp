#include "kernels/native/scales/box_parameters.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "elements/packed.hpp"

namespace dynquant::kernels::native {
namespace {

/// The values of f8_e4m3, by code.
struct e4m3_values {
    float at[256];
};
constexpr e4m3_values values_of_e4m3() {
    e4m3_values result = {};
    for (unsigned code = 0; code < 256; ++code)
        result.at[code] = float8_e4m3 {static_cast<std::uint8_t>(code)}.value();
    return result;
}

} // namespace

parameter_formulas::parameter_formulas(const quantization &q, const instruction_set &set)
    : formula_(q)
    , set_(set)
    , src_(q.src.type)
    , dst_(q.dst.type)
    , has_global_(q.second_scales.has_value())
    , has_zero_points_(q.zero_points.has_value()) {
    // f16 overflows to infinity, f8_e4m3 saturates.
    const bool saturates = q.scales.type == data_type::f8_e4m3;
    write_ = (saturates ? set.code.write_saturated : set.code.write)[q.scales.type];
}

void parameter_formulas::clear(std::int64_t count, box_parameters &p) const {
    if (traits(src_).bits == 32)
        std::fill_n(p.first, count, lowest_bits);
    else
        std::fill_n(p.first, (count + 1) / 2, lowest_bits | lowest_bits >> 16);
    std::memset(p.second, 0, static_cast<std::size_t>(count) * sizeof(p.second[0]));
}

void parameter_formulas::widen(std::int64_t count, box_parameters &p) const {
    if (src_ == data_type::f32) return;
    std::uint16_t bits[box_capacity];
    for (auto *const bounds : {p.first, p.second}) {
        std::memcpy(bits, bounds, static_cast<std::size_t>(count) * sizeof(bits[0]));
        if (src_ == data_type::f16)
            set_.code.read[src_](bits, 0, count, bounds);
        else // not by the codec: loading a vector just after storing a part of it stalls
            for (std::int64_t i = 0; i < count; ++i)
                bounds[i] = static_cast<std::uint32_t>(bits[i]) << 16;
    }
}

bool parameter_formulas::has_nonfinite(std::int64_t count, const box_parameters &p) {
    std::uint32_t any = 0; // the highest bit: of one that is at least infinity
    for (std::int64_t i = 0; i < count; ++i)
        any |= ((p.first[i] & ~lowest_bits) + (lowest_bits - infinity_bits))
                | (p.second[i] + (lowest_bits - infinity_bits));
    return (any & lowest_bits) != 0;
}

bool parameter_formulas::compute(
        const arguments &args, std::int64_t first, std::int64_t count, box_parameters &p) const {
    alignas(64) float range[box_capacity + widest_step], scale[box_capacity + widest_step];
    std::int32_t zero_point[box_capacity + widest_step];
    float global = 1;
    if (has_global_) std::memcpy(&global, args.second_scales, sizeof global);
    const computed_parameters all = {count, global, reinterpret_cast<float *>(p.first),
            reinterpret_cast<float *>(p.second), range, scale, has_zero_points_ ? zero_point : nullptr};
    set_.find_scales(formula_, all);
    round_and_write(count, scale, args.computed_scales, first);
    const bool are_regular = set_.find_operands(formula_, all);
    if (has_zero_points_) {
        write_zero_points(zero_point, count, args.computed_zero_points, first);
        write_zero_points(zero_point, count, p.zero_points, 0);
    }
    return are_regular;
}

void parameter_formulas::round_and_write(std::int64_t count, float *scale, void *scales, std::int64_t first) const {
    if (formula_.scale_type == data_type::f32) {
        std::memcpy(static_cast<std::byte *>(scales) + first * 4, scale, static_cast<std::size_t>(count) * 4);
        return;
    }
    auto *const codes = static_cast<std::uint8_t *>(scales) + first;
    if (formula_.scale_type == data_type::f8_e8m0) { // codes are exponents
        for (std::int64_t i = 0; i < count; ++i)
            codes[i] = static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(scale[i]) >> 23);
        return;
    }
    write_(scale, count, scales, first, false);
    if (formula_.scale_type != data_type::f8_e4m3)
        return set_.code.read[formula_.scale_type](scales, first, count, scale);
    static constexpr auto values = values_of_e4m3();
    for (std::int64_t i = 0; i < count; ++i)
        scale[i] = values.at[codes[i]];
}

void parameter_formulas::write_zero_points(
        const std::int32_t *zero_point, std::int64_t count, void *to, std::int64_t first) const {
    auto *const bytes = static_cast<std::uint8_t *>(to);
    if (traits(dst_).bits == 8) {
        for (std::int64_t i = 0; i < count; ++i)
            bytes[first + i] = static_cast<std::uint8_t>(zero_point[i]);
        return;
    }
    std::int64_t i = 0;
    if (first % 2 != 0) put_packed(to, 4, first, static_cast<unsigned>(zero_point[i++]));
    for (; i + 2 <= count; i += 2)
        bytes[(first + i) / 2] = static_cast<std::uint8_t>((zero_point[i] & 15) | (zero_point[i + 1] & 15) << 4);
    if (i < count) put_packed(to, 4, first + i, static_cast<unsigned>(zero_point[i]));
}

} // namespace dynquant::kernels::native
