// Plain loops, which compilers vectorize.
#include "kernels/native/computed/parameters.hpp"

#include <algorithm>
#include <cstring>

#include "quantization/elements.hpp"

namespace dynquant::kernels::native {
namespace {

/// 1.5 * 2^23: adding it to a number below 2^22 rounds that to an integer.
constexpr float rounder = 12582912.0F;

std::int32_t bits_of(float x) {
    return std::bit_cast<std::int32_t>(x);
}

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
    , dst_(q.dst.type)
    , has_global_(q.second_scales.has_value())
    , has_zero_points_(q.zero_points.has_value())
    , is_narrow_(formula_.integral && formula_.rule.narrow)
    , read_(set.code.read[static_cast<int>(q.scales.type)])
    , write_(set.code.write_saturated[static_cast<int>(q.scales.type)]) {
    // f16 overflows to infinity, f8_e4m3 saturates.
    if (q.scales.type == data_type::f16 || q.scales.type == data_type::bf16)
        write_ = set.code.write[static_cast<int>(q.scales.type)];
}

bool parameter_formulas::compute(
        const arguments &args, std::int64_t first, std::int64_t count, box_parameters &p) const {
    alignas(64) float range[box_capacity], scale[box_capacity + widest_block];
    float global = 1;
    if (has_global_) std::memcpy(&global, args.second_scales, sizeof global);
    find_ranges(count, p, range);
    if (formula_.scale_type == data_type::f8_e8m0) {
        find_powers_of_two(count, range, scale, static_cast<std::uint8_t *>(args.computed_scales) + first);
    } else {
        find_scales(count, range, global, scale);
        round_and_write(count, scale, args.computed_scales, first);
    }
    std::uint8_t zero_point[box_capacity];
    const auto *const low = reinterpret_cast<const float *>(p.first);
    if (has_zero_points_) {
        find_zero_points(count, low, scale, zero_point);
        write_zero_points(zero_point, count, args.computed_zero_points, first);
        write_zero_points(zero_point, count, p.zero_points, 0);
    }
    auto *const operand = reinterpret_cast<float *>(p.second);
    find_operands(count, range, scale, global, operand);
    const bool regular = !is_narrow_ || are_regular(count, range, low, scale, operand, zero_point);
    // Multipliers of integers stand beside scales, which limit src.
    const bool multiplies = formula_.rule.quotient != scale_quotient::divide && formula_.integral;
    for (std::int64_t i = 0; i < count; ++i)
        scale[i] = multiplies ? scale[i] * global : operand[i];
    std::memcpy(p.first, scale, static_cast<std::size_t>(count) * sizeof(float));
    return regular;
}

void parameter_formulas::find_ranges(std::int64_t count, const box_parameters &p, float *range) const {
    if (formula_.rule.range == scale_range::minmax) {
        for (std::int64_t i = 0; i < count; ++i)
            range[i] = std::bit_cast<float>(p.second[i]) - std::bit_cast<float>(p.first[i]);
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) { // NaN is the greatest
        const auto low = static_cast<std::int32_t>(p.first[i] & 0x7fffffff),
                   high = static_cast<std::int32_t>(p.second[i]);
        range[i] = std::bit_cast<float>(low > high ? low : high);
    }
}

void parameter_formulas::find_scales(std::int64_t count, const float *range, float global, float *scale) const {
    const float divisor = formula_.divisor, least = formula_.least, of_zero = formula_.of_zero;
    const bool divides = global != 1; // saves a division
    for (std::int64_t i = 0; i < count; ++i)
        scale[i] = range[i] / divisor;
    for (std::int64_t i = 0; divides && i < count; ++i)
        scale[i] = scale[i] / global;
    for (std::int64_t i = 0; i < count; ++i) {
        const float v = scale[i] < least ? least : scale[i];
        const float number = v == v ? v : __builtin_nanf("");
        scale[i] = range[i] == 0 ? of_zero : number;
    }
}

void parameter_formulas::find_powers_of_two(
        std::int64_t count, const float *range, float *scale, std::uint8_t *to) const {
    const bool by_quotient = formula_.rule.rounding == scale_rounding::rceil;
    const std::int32_t less = by_quotient ? 0 : formula_.exponent;
    std::uint32_t added = 0;
    std::int32_t least_power = -1; // rceil: 2^-127 and less give 2^-127
    switch (formula_.rule.rounding) {
        case scale_rounding::ceil: added = (1 << 23) - 1; break;
        case scale_rounding::rceil:
            added = (1 << 23) - 1;
            least_power = 1 << 22;
            break;
        case scale_rounding::even: added = 1U << (22 - formula_.fraction_bits); break;
        case scale_rounding::nearest:
        case scale_rounding::floor: break;
    }
    const float divisor = by_quotient ? formula_.largest : 1;
    for (std::int64_t i = 0; i < count; ++i) {
        const float v = range[i] / divisor;
        const auto bits = bits_of(v);
        const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits) + added); // NaN would overflow
        const auto k = ((bits <= least_power ? 0 : sum) >> 23) - less;
        const auto clamped = k < 0 ? 0 : k > 254 ? 254 : k;
        const auto biased = bits >= static_cast<std::int32_t>(infinity_bits) ? 255 : clamped;
        const auto power = biased == 0 ? 1 << 22 : biased << 23;
        scale[i] = std::bit_cast<float>(biased == 255 ? 0x7fc00000 : power);
        to[i] = static_cast<std::uint8_t>(biased);
    }
}

void parameter_formulas::round_and_write(std::int64_t count, float *scale, void *scales, std::int64_t first) const {
    if (formula_.scale_type == data_type::f32) {
        std::memcpy(static_cast<std::byte *>(scales) + first * 4, scale, static_cast<std::size_t>(count) * 4);
        return;
    }
    write_(scale, count, scales, first, false);
    if (formula_.scale_type != data_type::f8_e4m3) return read_(scales, first, count, scale);
    static constexpr auto values = values_of_e4m3();
    const auto *const codes = static_cast<const std::uint8_t *>(scales) + first;
    for (std::int64_t i = 0; i < count; ++i)
        scale[i] = values.at[codes[i]];
}

void parameter_formulas::find_zero_points(
        std::int64_t count, const float *low, const float *scale, std::uint8_t *zero_point) const {
    const auto codes = static_cast<float>(formula_.highest - formula_.lowest);
    const float offset = static_cast<float>(formula_.lowest) - rounder;
    for (std::int64_t i = 0; i < count; ++i) {
        const float steps = -(low[i] / scale[i]);
        const float positive = steps > 0 ? steps : 0; // NaN too
        const float limited = positive < codes ? positive : codes;
        zero_point[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(limited + rounder + offset));
    }
}

void parameter_formulas::write_zero_points(
        const std::uint8_t *zero_point, std::int64_t count, void *to, std::int64_t first) const {
    auto *const bytes = static_cast<std::uint8_t *>(to);
    if (traits(dst_).bits == 8) {
        std::memcpy(bytes + first, zero_point, static_cast<std::size_t>(count));
        return;
    }
    std::int64_t i = 0;
    for (; i + 2 <= count; i += 2)
        bytes[(first + i) / 2] = static_cast<std::uint8_t>((zero_point[i] & 15) | zero_point[i + 1] << 4);
    if (i == count) return;
    auto &last = bytes[(first + i) / 2];
    last = static_cast<std::uint8_t>((last & 0xf0) | (zero_point[i] & 15));
}

void parameter_formulas::find_operands(
        std::int64_t count, const float *range, const float *scale, float global, float *operand) const {
    const float divisor = formula_.divisor, inverse = 1 / global;
    switch (formula_.rule.quotient) {
        case scale_quotient::divide:
            for (std::int64_t i = 0; i < count; ++i)
                operand[i] = scale[i] * global;
            break;
        case scale_quotient::multiply_reciprocal:
            for (std::int64_t i = 0; i < count; ++i)
                operand[i] = inverse / scale[i];
            break;
        case scale_quotient::multiply_range:
            for (std::int64_t i = 0; i < count; ++i)
                operand[i] = divisor / range[i];
            break;
    }
    for (std::int64_t i = 0; i < count; ++i)
        operand[i] = range[i] == 0 ? 1 : operand[i];
}

bool parameter_formulas::are_regular(std::int64_t count, const float *range, const float *low, const float *scale,
        const float *operand, const std::uint8_t *zero_point) const {
    constexpr float infinity = __builtin_inff();
    const bool divides = formula_.rule.quotient == scale_quotient::divide;
    std::int32_t irregular = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        // The element of the lowest code: that is -128 if it is half a step beyond -127.
        const float x = has_zero_points_ ? -low[i] : range[i];
        const float quotient = x / operand[i], product = x * operand[i], steps = divides ? quotient : product;
        const auto zero = has_zero_points_ ? static_cast<std::int32_t>(static_cast<std::int8_t>(zero_point[i])) : 0;
        const float limit = static_cast<float>(zero - formula_.lowest) + 0.5F;
        irregular += (steps < 0 ? -steps : steps) < limit ? 0 : 1;
        irregular += scale[i] < infinity ? 0 : 1;
        irregular += operand[i] < infinity ? 0 : 1;
    }
    return irregular == 0;
}

} // namespace dynquant::kernels::native
