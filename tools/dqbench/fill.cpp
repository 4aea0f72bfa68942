#include "fill.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numbers>

#include "elements/load_store.hpp"
#include "elements/table.hpp"

namespace dqbench {
namespace {

using dynquant::data_type_traits, dynquant::traits;
using float_limits = std::numeric_limits<float>;

constexpr float special_values[] = {
        float_limits::quiet_NaN(),
        -float_limits::quiet_NaN(),
        float_limits::infinity(),
        -float_limits::infinity(),
        0.0f,
        -0.0f,
        float_limits::denorm_min(),
        -float_limits::denorm_min(),
        float_limits::min(),
        float_limits::max(),
        float_limits::lowest(),
        2147483648.0f, // where conversions to s32 wrap
        -2147483904.0f,
        8388608.5f,
};

float to_float(double value) {
    constexpr double most = float_limits::max();
    return static_cast<float>(std::clamp(value, -most, most));
}

/// By Box and Muller.
double standard_normal(std::uint64_t index) {
    const auto uniform = [](std::uint64_t bits) { return static_cast<double>((bits >> 11) + 1) * 0x1p-53; }; // (0, 1]
    return std::sqrt(-2 * std::log(uniform(mix(index)))) * std::cos(2 * std::numbers::pi * uniform(mix(~index)));
}

} // namespace

float draw_real(
        std::uint64_t index, filling kind, float scale, std::int32_t zero_point, double lowest, double highest) {
    const double margin = highest - lowest < 8 ? 2 : 16; // integers beyond either end, which saturate
    const auto bits = mix(index);
    const double unit = std::isfinite(scale) && scale != 0 ? double {scale} : 1;
    if (kind == filling::normal) {
        const double middle = std::ceil((lowest + highest) / 2), deviation = (highest - lowest) / 8;
        return to_float((middle - zero_point + deviation * standard_normal(index)) * unit);
    }
    const auto targets = static_cast<std::uint64_t>(highest - lowest + 2 * margin + 1);
    const double target = lowest - margin + static_cast<double>((bits >> 32) % targets) - zero_point;
    const double fraction = static_cast<double>((bits >> 8) & 0xffff) / 0x10000;

    const float tie = to_float((target + 0.5) * unit);
    switch (kind == filling::checking ? bits % 16 : 15) {
        case 0: return special_values[(bits >> 8) % std::size(special_values)];
        case 1: return to_float(std::ldexp(target, static_cast<int>(bits >> 8) % 32) * unit);
        case 2:
        case 3:
        case 4: return tie;
        case 5: return std::nextafter(tie, float_limits::max());
        case 6: return std::nextafter(tie, float_limits::lowest());
        case 7: return to_float(target * unit);
        default: return to_float((target + fraction) * unit);
    }
}

/// An element of a block whose scale is computed. Clamped to the ends of the range of codes by the drawn parameters, so
/// that the computed ones are about the drawn ones. A drawn scale that is negative gives values of one sign, zero only
/// zeros; one that is not finite leaves x as it is, maybe not finite either.
float in_range_of(const statement &s, float x, float scale, std::int32_t zero_point) {
    if (!std::isfinite(scale)) return x;
    if (std::isnan(x)) x = 0;
    const auto &codes = traits(s.types.dst);
    const bool symmetric = s.computed->range == dynquant::scale_range::absmax;
    const double half = codes.integral && !s.computed->narrow ? (codes.highest - codes.lowest) / 2 : codes.highest;
    const double low = symmetric ? -half : codes.lowest - zero_point,
                 high = symmetric ? half : codes.highest - zero_point;
    const double unit = std::abs(double {scale});
    return std::clamp(x, to_float(low * unit), scale < 0 ? 0.0F : to_float(high * unit));
}

/// Clamps an end of the range in which floats are drawn. In bf16's whole range hardly any small value would be drawn.
double clamp_to_moderate(double end) {
    constexpr double most = 0x1p32;
    return std::clamp(end, -most, most);
}

/// Rounds and saturates a float to an integer type; NaN becomes 0.
double to_integer(double value, const dynquant::data_type_traits &type) {
    return std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), type.lowest, type.highest);
}

/// Stores an element of 8, 16 or 32 arbitrary bits. 65536 adjacent elements of 16 bits have all values.
void fill_bits(void *src, std::int64_t offset, int bits, std::uint64_t index) {
    const auto size = static_cast<std::size_t>(bits / 8);
    const auto value = bits == 16 ? index * 0x9e37 : mix(index); // an odd factor
    std::memcpy(static_cast<std::byte *>(src) + offset * bits / 8, &value, size);
}

/// Whether an element that is quantized has arbitrary bits: every exponent, NaN of every payload. Not where scales are
/// computed: most blocks would have NaN or a scale near the largest.
bool has_any_bits(const statement &s, filling kind, std::uint64_t index) {
    return kind == filling::checking && !s.computed && mix(~index) % 16 == 0;
}

/// Where a code has more than 2^20 integers of src: the bits that the drawn float does not have, so that it shows
/// whether the integer is rounded to f32.
double with_low_bits(double drawn, std::uint64_t index, double unit) {
    if (!(std::abs(unit) > 0x1p20 && std::abs(unit) < 0x1p40)) return drawn;
    const auto magnitude = static_cast<float>(std::abs(drawn));
    const auto gap = static_cast<std::int64_t>(std::nextafter(magnitude, float_limits::max()) - magnitude);
    const auto offset = static_cast<std::int64_t>((mix(~index) >> 8) % static_cast<std::uint64_t>(2 * gap + 1)) - gap;
    return to_integer(drawn + static_cast<double>(offset), traits(data_type::s32));
}

void fill_src(const statement &s, const parameters &p, filling kind, void *src) {
    const auto &quantized = dynquant::traits(s.types.dst);
    const dynquant::dims no_dst(s.extents.size()); // strides of 0
    const auto type = s.types.src;
    const auto &real = dynquant::traits(type);
    for_each_element(s, no_dst, [&](const element &e) {
        const auto index = static_cast<std::uint64_t>(e.index);
        const auto channel = static_cast<std::size_t>(e.channel);
        const auto zero_point = p.zero_points.empty() ? 0 : p.zero_points[channel];
        if (s.quantizing && has_any_bits(s, kind, index)) {
            fill_bits(src, e.src, real.bits, index);
        } else if (s.quantizing) {
            float drawn = draw_real(index, kind, p.scales[channel], zero_point, clamp_to_moderate(quantized.lowest),
                    clamp_to_moderate(quantized.highest));
            if (s.computed) drawn = in_range_of(s, drawn, p.scales[channel], zero_point);
            dynquant::store(type, src, e.src,
                    real.integral ? with_low_bits(to_integer(drawn, real), index, p.scales[channel]) : double {drawn});
        } else if (kind == filling::normal) {
            const double drawn =
                    draw_real(index, kind, 1, 0, clamp_to_moderate(real.lowest), clamp_to_moderate(real.highest));
            dynquant::store(type, src, e.src, real.integral ? to_integer(drawn, real) : drawn);
        } else if (real.bits >= 8) {
            fill_bits(src, e.src, real.bits, index);
        } else {
            const auto steps = static_cast<std::uint64_t>(real.highest - real.lowest) + 1;
            dynquant::store(type, src, e.src, real.lowest + static_cast<double>(mix(index) % steps));
        }
    });
}

} // namespace dqbench
