#include <bit>
#include <cmath>

#include "random.hpp"

namespace dynquant::test {
namespace {

std::uint32_t any_bits(random_source &random) {
    return std::bit_cast<std::uint32_t>(random.any_float());
}

/// `count` elements; draw() gives the bits of each.
template <typename Draw>
std::vector<std::byte> elements(data_type type, std::int64_t count, Draw &&draw) {
    std::vector<std::byte> bytes(bytes_for(type, count));
    for (std::int64_t i = 0; i < count; ++i)
        set_bits(type, bytes.data(), i, draw());
    return bytes;
}

double value_of(data_type type, std::uint32_t bits) {
    return is_integer(type) ? static_cast<double>(integer_from(type, bits)) : double {real_from(type, bits)};
}

std::vector<double> values_of(data_type type, const std::vector<std::byte> &bytes, std::int64_t count) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(value_of(type, get_bits(type, bytes.data(), i)));
    return values;
}

std::uint32_t random_scale(random_source &random, data_type type) {
    if (type == data_type::s32)
        return random.chance(80) ? static_cast<std::uint32_t>(random.within(-40, 40)) : any_bits(random);
    if (type == data_type::f8_e8m0)
        return static_cast<std::uint32_t>(random.chance(80) ? random.within(117, 131) : random.within(0, 255));
    if (type == data_type::f8_e4m3) // 80 %: from 2^-5 to 7.5
        return static_cast<std::uint32_t>(random.chance(80) ? random.within(0x10, 0x4f) : random.within(0, 255));
    return bits_of_real(type, random_scales(random, parameters::mixed, 1).front());
}

std::uint32_t random_zero_point(random_source &random, data_type type) {
    return is_integer(type) && random.chance(50) ? static_cast<std::uint32_t>(random.within(0, 1)) : any_bits(random);
}

/// A tie between two numbers of the type. For integers also a whole number.
double random_target(random_source &random, data_type type) {
    if (is_integer(type)) {
        const auto [lowest, highest] = range_of(type);
        const auto near = random.one_of(std::vector<std::int64_t> {0, lowest, highest, -(std::int64_t {1} << 33)});
        return static_cast<double>(near + random.within(-300, 300)) + (random.chance(80) ? 0.5 : 0);
    }
    const auto bits = any_bits(random) >> (32 - bits_in(type));
    return (double {real_from(type, bits)} + double {real_from(type, bits ^ 1)}) / 2;
}

float random_float(random_source &random, data_type quantized, double scale, double zp) {
    if (random.chance(10)) return random.any_float();
    if (random.chance(2)) return random.one_of(various_nans());
    const auto exact = static_cast<float>((random_target(random, quantized) - (std::isfinite(zp) ? zp : 0)) * scale);
    if (random.chance(30)) return exact;
    return std::nextafter(exact, random.chance(50) ? INFINITY : -INFINITY);
}

std::uint32_t random_src(random_source &random, const quantization &q, double scale, double zp) {
    if (q.dir == direction::dequantize) return any_bits(random);
    const float value = random_float(random, q.dst.type, scale, zp);
    if (q.src.type != data_type::s32) return bits_of_real(q.src.type, value);
    if (!(std::abs(value) < 0x1p31f)) return any_bits(random);
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(std::nearbyint(value)));
}

/// Draws a parameter. known: of a hundred, how many have their values known beforehand.
template <typename Draw>
std::vector<std::byte> random_parameter(
        random_source &random, parameter &p, std::int64_t count, int known, Draw &&draw) {
    auto bytes = elements(p.type, count, [&] { return draw(random, p.type); });
    if (count == 0 || !random.chance(known)) return bytes;
    p.values = values_of(p.type, bytes, count);
    return {};
}

double one_of(random_source &random, const parameter &p, const std::vector<std::byte> &bytes, std::int64_t count) {
    if (!p.values.empty()) return random.one_of(p.values);
    return count == 0 ? 1 : value_of(p.type, get_bits(p.type, bytes.data(), random.within(0, count - 1)));
}

} // namespace

std::vector<onnx_types> onnx_types_with(data_type quantized) {
    using enum data_type;
    std::vector<onnx_types> all;
    for (const auto dir : {direction::quantize, direction::dequantize})
        for (const auto real : {f32, f16, bf16, s32})
            for (const auto scales : {f32, f16, bf16, s32, f8_e4m3, f8_e8m0})
                for (const auto &zps : {std::optional<data_type>(), std::optional(quantized), std::optional(s8),
                             std::optional(u8), std::optional(s32), std::optional(s4), std::optional(u4)}) {
                    if (real == s32 && dir == direction::dequantize) continue;
                    if (zps && *zps != quantized && !is_integer(quantized)) continue;
                    all.push_back({dir, real, quantized, scales, zps});
                }
    return all;
}

sample random_onnx_statement(random_source &random, const onnx_types &types) {
    auto q = random_layout(random);
    q.dir = types.dir;
    q.rule = numerics::onnx;
    const bool quantizing = types.dir == direction::quantize;
    q.src.type = quantizing ? types.real : types.quantized;
    q.dst.type = quantizing ? types.quantized : types.real;
    q.scales.type = types.scales;
    if (quantizing) {
        using enum precision;
        q.division = random.one_of(std::vector {f32, f32, f16, bf16, f64});
        q.saturate = random.chance(50);
    }
    if (types.zero_points) q.zero_points = {*types.zero_points, q.scales.block, {}};
    return random_onnx_sample(random, q, 20);
}

sample random_onnx_sample(random_source &random, quantization q, int known) {
    const auto count = parameter_count(q);
    oracle::inputs in;
    if (!q.computed) {
        in.scales = random_parameter(random, q.scales, count, known, random_scale);
        if (q.zero_points) in.zero_points = random_parameter(random, *q.zero_points, count, known, random_zero_point);
    }
    const auto bytes = static_cast<std::int64_t>(bytes_spanned(q.src));
    in.src = elements(q.src.type, bytes * 8 / bits_in(q.src.type), [&] {
        if (q.computed) return random_src(random, q, 1, 0);
        const auto zp = q.zero_points ? one_of(random, *q.zero_points, in.zero_points, count) : 0;
        return random_src(random, q, one_of(random, q.scales, in.scales, count), zp);
    });
    return {q, in};
}

} // namespace dynquant::test
