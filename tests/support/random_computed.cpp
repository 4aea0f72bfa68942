#include <algorithm>
#include <cmath>

#include "random.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

scale_rule random_rule(random_source &random, data_type dst) {
    scale_rule rule;
    const bool integral = is_integer(dst), is_signed = !integral || range_of(dst).lowest < 0;
    if (!is_signed || (integral && random.chance(40))) rule.range = scale_range::minmax;
    rule.narrow = integral && is_signed && random.chance(30);
    rule.least = random.one_of(std::vector {0.0, 0.0, 0x1p-23, 1e-30, 0.125, 0.01, 1000.0});
    rule.of_zero = random.one_of(std::vector {1.0, 0.0, 1e-30, 0.3, 0x1p-140});
    if (random.chance(30)) rule.special = nonfinite::skip;
    rule.scales_only = random.chance(10);
    return rule;
}

/// Draws the scales' type, and what depends on it.
void draw_scales(random_source &random, quantization &q) {
    auto &rule = *q.computed;
    const bool absmax = rule.range == scale_range::absmax;
    q.scales.type =
            random.one_of(absmax ? std::vector {f32, f16, bf16, f8_e8m0, f8_e4m3} : std::vector {f32, f16, bf16});
    const bool wide = q.scales.type != f8_e8m0 && q.scales.type != f8_e4m3;
    using enum scale_quotient;
    rule.quotient = random.one_of(absmax && wide ? std::vector {divide, multiply_reciprocal, multiply_range}
                                                 : std::vector {divide, multiply_reciprocal});
    using enum scale_rounding;
    if (q.scales.type == f8_e8m0) rule.rounding = random.one_of(std::vector {floor, ceil, even, rceil});
}

/// A tie between two codes, or a code.
double random_target(random_source &random, data_type dst) {
    if (is_integer(dst)) {
        const auto [lowest, highest] = range_of(dst);
        return static_cast<double>(random.within(lowest, highest)) + (random.chance(80) ? 0.5 : 0);
    }
    const auto bits = static_cast<std::uint32_t>(random.within(0, (1 << bits_in(dst)) - 1));
    const double value = real_from(dst, bits), next = real_from(dst, bits ^ 1);
    return random.chance(80) ? (value + next) / 2 : value;
}

/// How the values of a statement are drawn.
struct values {
    double largest;      // of most blocks
    double step;         // between codes, about
    std::int64_t zeros;  // per cent
    int special_of_1000; // NaNs and infinities
};

values random_values(random_source &random, data_type dst) {
    const auto exponent = random.chance(70) ? random.within(-10, 10)
            : random.chance(50)             ? random.within(-149, -90)
                                            : random.within(90, 127);
    const double largest =
            std::ldexp(1 + static_cast<double>(random.within(0, 1 << 23)) / (1 << 23), static_cast<int>(exponent));
    const double highest = is_integer(dst) ? static_cast<double>(range_of(dst).highest)
                                           : double {real_from(dst, bits_of_real(dst, INFINITY, true))};
    double step = largest / highest;
    if (random.chance(30)) step = largest / (highest + 0.5);
    if (random.chance(30)) step = std::exp2(std::floor(std::log2(step)));
    return {largest, step, random.chance(15) ? 95 : 5, random.one_of(std::vector {0, 0, 0, 5, 50})};
}

float random_value(random_source &random, data_type dst, const values &v) {
    if (random.within(1, 1000) <= v.special_of_1000)
        return random.chance(50) ? random.one_of(various_nans()) : random.chance(50) ? INFINITY : -INFINITY;
    if (random.within(1, 100) <= v.zeros) return random.chance(50) ? 0.0F : -0.0F;
    const float sign = random.chance(50) ? -1 : 1;
    if (random.chance(10)) return sign * static_cast<float>(v.largest);
    const auto tie = static_cast<float>(random_target(random, dst) * v.step);
    if (random.chance(40)) return tie;
    return std::nextafter(tie, sign * INFINITY);
}

sample computed_by(random_source &random, quantization q, data_type dst) {
    q.rule = numerics::onnx;
    q.src.type = random.one_of(std::vector {f32, f32, f16, bf16});
    q.dst.type = dst;
    q.saturate = random.chance(70);
    q.computed = random_rule(random, dst);
    draw_scales(random, q);
    if (q.computed->range == scale_range::minmax) q.zero_points = {dst, q.scales.block, {}};

    oracle::inputs in;
    auto v = random_values(random, dst);
    if (q.scales.type == f8_e4m3 && random.chance(60)) {
        q.second_scales = {f32, q.src.dims, {}};
        const float global = random.chance(80)
                ? std::abs(random.exponent_within(-20, 3))
                : random.one_of(std::vector {1.0F, 0x1p-149F, 0.0F, -0.5F, INFINITY, -INFINITY, NAN});
        if (random.chance(30) && std::isfinite(global) && global > 0 && std::ranges::count(q.src.dims, 0) == 0)
            q.second_scales->values = {global};
        else
            in.second_scales = encode_reals(f32, {global});
    }
    const auto count = static_cast<std::int64_t>(bytes_spanned(q.src)) * 8 / bits_in(q.src.type);
    in.src.resize(bytes_spanned(q.src));
    for (std::int64_t i = 0; i < count; ++i) {
        if (i % 1024 == 0 && random.chance(30)) v = random_values(random, dst);
        set_bits(q.src.type, in.src.data(), i, bits_of_real(q.src.type, random_value(random, dst, v)));
    }
    return {q, in};
}

} // namespace

sample random_computed_statement(random_source &random, data_type dst) {
    return computed_by(random, random_layout(random), dst);
}

sample random_computed_groups(random_source &random, data_type dst) {
    const auto length = random.chance(80)
            ? random.one_of(std::vector<std::int64_t> {16, 32, 48, 64, 96, 128, 192, 512, 1024, 4096})
            : random.within(1, 300);
    const auto groups = random.within(1, std::max<std::int64_t>(random.chance(50) ? 5 : 6000 / length, 2));
    const auto rows = random.within(1, 4);
    quantization q;
    q.src.dims = q.dst.dims = {rows, groups * length};
    q.scales.block = {1, length};
    if (random.chance(20)) { // the innermost dims, and a part of the next
        q.src.dims = q.dst.dims = {rows, groups, 2, length};
        q.scales.block = {1, 1, 2, length};
    }
    if (random.chance(20)) { // around dims of one element
        q.src.dims = q.dst.dims = {1, rows, 1, groups * length, 1};
        q.scales.block = {1, 1, 1, length, 1};
    }
    return computed_by(random, q, dst);
}

} // namespace dynquant::test
