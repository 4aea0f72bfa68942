#include "parameters.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "elements/load_store.hpp"
#include "elements/table.hpp"
#include "statement.hpp"

namespace dqbench {
namespace {

using float_limits = std::numeric_limits<float>;

constexpr float wild_scales[] = {
        -0.37f,
        0x1p-100f, // this and the next two are outside the native kernel's guard, [2^-75, 2^75]
        0x1.8p+100f,
        float_limits::denorm_min() * 12345,
        0.0f,
        -0.0f,
        float_limits::infinity(),
        float_limits::quiet_NaN(),
        float_limits::min(),
        float_limits::max(),
        -float_limits::infinity(),
        float_limits::denorm_min(),
        0x1.fffffep-1f, // a mantissa of ones is a hard case for a reciprocal
        0x1p-75f,       // the ends of the guard
        0x1p+75f,
};

constexpr std::int32_t wild_zero_points[] = {
        INT32_MIN,
        INT32_MAX,
        -1,
        (1 << 20) - 1,
        1 << 20,
        -(1 << 20),
        -129,
        (1 << 24) + 1,
        256,
        INT32_MIN + 1,
        1000,
        -(1 << 24) - 1,
        127,
        INT32_MAX - 127,
};

float usual_scale(std::uint64_t bits) {
    const auto mantissa = 1 + static_cast<float>(bits >> 41) * 0x1p-23f;
    return std::ldexp(mantissa, -static_cast<int>(bits % 9));
}

/// A multiple of 1/16 under the global scale, or a neighbour: f8_e4m3 has the multiples of 1/8.
float scale_of_nvfp4(std::uint64_t bits) {
    const auto multiple = std::ldexp(static_cast<float>(16 + bits % 16), -4 - static_cast<int>((bits >> 4) % 9));
    const float scale = multiple * static_cast<float>(usual_global_scale);
    const auto neighbour = (bits >> 8) % 3;
    return neighbour == 0 ? scale : std::nextafter(scale, neighbour == 1 ? float_limits::max() : 0.0F);
}

float draw_scale(parameter_kind kind, std::uint64_t i) {
    const auto bits = mix(i);
    if (kind == parameter_kind::pow2) return std::ldexp(1.0f, -static_cast<int>(bits % 9));
    if (kind == parameter_kind::nvfp4) return scale_of_nvfp4(bits);
    if (kind == parameter_kind::usual || i % 4 == 0) return usual_scale(bits);
    return wild_scales[(i - i / 4) % std::size(wild_scales)];
}

/// Rounds to the type: to nearest, but up for s32, so that the scale is not 0.
float rounded(data_type type, float value) {
    if (type == data_type::s32) return std::isfinite(value) ? std::ceil(std::clamp(std::abs(value), 0.0f, 1e6f)) : 1;
    float buffer = 0;
    dynquant::store(type, &buffer, 0, value);
    return static_cast<float>(dynquant::load(type, &buffer, 0));
}

std::int32_t draw_zero_point(parameter_kind kind, data_type type, std::uint64_t i) {
    const auto &t = dynquant::traits(type);
    const auto bits = mix(~i);
    if (kind == parameter_kind::wild && i % 3 != 0) {
        const auto wild = wild_zero_points[bits % std::size(wild_zero_points)];
        if (wild >= t.lowest && wild <= t.highest) return wild;
        return static_cast<std::int32_t>(std::clamp<double>(bits % 2 ? t.lowest : t.highest, INT32_MIN, INT32_MAX));
    }
    // Wide types: [-256, 512], twice the range of the 8-bit types.
    const auto lowest = static_cast<std::int32_t>(t.bits <= 8 ? t.lowest : std::max(t.lowest, -256.0));
    const auto highest = t.bits <= 8 ? static_cast<std::int32_t>(t.highest) : 512;
    return lowest + static_cast<std::int32_t>(bits % static_cast<std::uint64_t>(highest - lowest + 1));
}

} // namespace

parameters draw_parameters(
        parameter_kind kind, std::int64_t count, data_type scales, std::optional<data_type> zps, std::uint64_t salt) {
    parameters result;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto index = salt + static_cast<std::uint64_t>(i);
        result.scales.push_back(rounded(scales, draw_scale(kind, index)));
        if (zps) result.zero_points.push_back(draw_zero_point(kind, *zps, index));
    }
    return result;
}

void replace_scales(parameters &p, const std::vector<float> &given, data_type type) {
    for (std::size_t i = 0; i < p.scales.size() && !given.empty(); ++i)
        p.scales[i] = rounded(type, given[i % given.size()]);
}

void replace_zero_points(parameters &p, const std::vector<std::int32_t> &given) {
    for (std::size_t i = 0; i < p.zero_points.size() && !given.empty(); ++i)
        p.zero_points[i] = given[i % given.size()];
}

} // namespace dqbench
