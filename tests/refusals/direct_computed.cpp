// The direct API refuses wrong statements with computed scales, and buffers that are missing.
#include <algorithm>
#include <limits>

#include "direct.hpp"

namespace dynquant::test {
namespace {

using enum data_type;
using enum scale_range;
using enum scale_rounding;
using enum scale_quotient;

/// f32 to s8 with zero points.
quantization right() {
    quantization q;
    q.src = {data_type::f32, {2, 3}, {}};
    q.dst = {data_type::s8, {2, 3}, {}};
    q.scales = {data_type::f32, {1, 3}, {}};
    q.zero_points = {data_type::s8, {1, 3}, {}};
    q.rule = numerics::onnx;
    q.computed = presets::torchao_asymmetric();
    return q;
}

/// f32 to f4_e2m1 under a global scale.
quantization right_float() {
    auto q = right();
    q.dst.type = data_type::f4_e2m1;
    q.scales.type = data_type::f8_e4m3;
    q.zero_points.reset();
    q.second_scales = {data_type::f32, {2, 3}, {}};
    q.computed = presets::nvfp4();
    return q;
}

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
const std::string zps = "zps", second = "second scales", range = "computed.range", rounding = "computed.rounding",
                  quotient = "computed.quotient", real = "data type f32, f16 or bf16";

void expect_refused(const std::vector<refused_statement> &statements) {
    expect_refused(right(), statements);
}
void expect_refused_in_float(const std::vector<refused_statement> &statements) {
    expect_refused(right_float(), statements);
}

TEST(direct_computed_refusals, finds_nothing_wrong_with_right_statements) {
    EXPECT_FALSE(check(right()));
    EXPECT_FALSE(check(right_float()));
    auto q = right_float();
    q.second_scales->values = {0.5};
    q.computed->scales_only = q.saturate = true;
    EXPECT_FALSE(check(q));
    for (const auto dst : {s8, s4, f8_e4m3, f8_e5m2, f4_e2m1, f6_e2m3, f6_e3m2})
        for (const auto src : {f32, f16, bf16})
            for (const auto scales : {f32, f16, bf16, f8_e4m3, f8_e8m0}) {
                q = changes {.src = src, .dst = dst, .scales = scales, .no_zps = true}.of(right());
                q.computed = scales == f8_e8m0 ? presets::mx() : scale_rule();
                EXPECT_FALSE(check(q)) << to_string(dst) << " of " << to_string(src) << " by " << to_string(scales);
            }
    for (const auto dst : {s8, u8, s4, u4})
        for (const auto scales : {f32, f16, bf16}) {
            q = changes {.dst = dst, .scales = scales, .zps = dst}.of(right());
            EXPECT_FALSE(check(q)) << to_string(dst) << " by " << to_string(scales);
        }
}

TEST(direct_computed_refusals, data_types) {
    const auto none = static_cast<data_type>(1000000);
    const auto text = [&](data_type t) { return t == none ? std::string("number 1000000") : to_string(t); };
    const std::string narrow = "data type s8 or s4", integer = "data type s8, u8, s4 or u4",
                      any = "data type s8, s4, f8_e4m3, f8_e5m2, f4_e2m1, f6_e2m3 or f6_e3m2";
    for (const auto type : {s16, f16, f8_e4m3fnuz, s2, f8_e8m0, none}) {
        const auto given = text(type);
        expect_refused({
                {{.dst = type}, bad_type, {"dst", integer, given}},
                {{.dst = type, .narrow = true}, bad_type, {"dst", narrow, given}},
        });
        expect_refused_in_float({
                {{.dst = type}, bad_type, {"dst", any, given}},
                {{.dst = type, .narrow = true}, bad_type, {"dst", narrow, given}},
        });
    }
    for (const auto type : {s32, u8, f8_e5m2, none}) {
        const auto given = text(type);
        const changes known {.scales = type}, plain {.scales = type, .no_second = true},
                ranged {.scales = type, .no_second = true, .quotient = multiply_range},
                power {.scales = type, .no_second = true, .rounding = even};
        expect_refused({{known, bad_type, {"scales", real, given}}});
        expect_refused_in_float({
                {known, bad_type, {"scales", "data type f8_e4m3", given}},
                {plain, bad_type, {"scales", "data type f32, f16, bf16 or f8_e4m3", given}},
                {ranged, bad_type, {"scales", real, given}},
                {power, bad_type, {"scales", "data type f8_e8m0", given}},
        });
    }
    expect_refused({
            {{.src = s32}, bad_type, {"src", real, "s32"}},
            {{.scales = f8_e4m3}, bad_type, {"scales", real, "f8_e4m3"}},
            {{.scales = f8_e8m0}, bad_type, {"scales", real, "f8_e8m0"}},
            {{.zps = u8}, bad_type, {zps, "data type s8, that of dst", "u8"}},
            {{.zps = s32}, bad_type, {zps, "data type s8, that of dst", "s32"}},
            {{.dst = u8, .zps = s32}, bad_type, {zps, "data type u8, that of dst", "s32"}},
    });
    expect_refused_in_float({{{.second = f16}, bad_type, {second, "data type f32", "f16"}}});
}

// Not those of a type that would be as wrong.
TEST(direct_computed_refusals, what_is_not_there_has_no_type) {
    expect_refused({
            {{.zps = s32, .range = absmax}, bad_argument, {zps, "none for computed.range absmax", "some of s32"}},
            {{.dst = f8_e5m2}, bad_argument, {range, "absmax for f8_e5m2", "minmax"}},
            {{.rule = numerics::strict, .saturate = true}, bad_argument,
                    {"numerics", "onnx for computed scales", "strict"}},
    });
    expect_refused_in_float({{{.scales = f32, .second = f16}, bad_argument,
            {second, "none for computed scales of f32", "some of f16"}}});
}

/// The table of docs/reference.md, in the order of the enumerators.
TEST(direct_computed_refusals, rules_and_the_scales_that_they_take) {
    using types = std::vector<data_type>;
    const types scales_of_16_bits_and_more = {f32, f16, bf16}, none;
    for (const auto its_range : {scale_range::absmax, scale_range::minmax})
        for (const auto its_rounding : {nearest, floor, ceil, even, rceil})
            for (const auto its_quotient : {divide, multiply_reciprocal, multiply_range}) {
                auto expected = scales_of_16_bits_and_more;
                if (its_range == scale_range::minmax) {
                    if (its_rounding != nearest || its_quotient == multiply_range) expected = none;
                } else if (its_rounding != nearest) {
                    expected = its_quotient == multiply_range ? none : types {f8_e8m0};
                } else if (its_quotient != multiply_range) {
                    expected.push_back(f8_e4m3);
                }
                for (const auto type : {f32, s32, s8, u8, f16, bf16, s4, u4, f8_e4m3, f8_e5m2, s16, u16, u32, s2, u2,
                             f4_e2m1, f6_e2m3, f6_e3m2, f8_e4m3fnuz, f8_e5m2fnuz, f8_e8m0}) {
                    auto q = right();
                    if (its_range == scale_range::absmax) q.zero_points.reset();
                    q.scales.type = type;
                    q.computed = scale_rule {.range = its_range, .rounding = its_rounding, .quotient = its_quotient};
                    const auto what = std::string(to_string(its_range)) + ", " + to_string(its_rounding) + ", "
                            + to_string(its_quotient) + " by " + to_string(type);
                    EXPECT_EQ(!check(q), std::ranges::count(expected, type) != 0) << what;
                    q.second_scales = parameter {f32, {2, 3}, {}};
                    EXPECT_EQ(!check(q), type == f8_e4m3 && std::ranges::count(expected, type) != 0) << what;
                }
            }
}

TEST(direct_computed_refusals, what_belongs_to_other_statements) {
    const std::string f32_only = "f32 for computed scales", no_values = "no values, as they are computed";
    expect_refused({
            {{.dir = direction::dequantize}, bad_argument, {"computed", "none for dequantize", "a rule"}},
            {{.rule = numerics::strict}, bad_argument, {"numerics", "onnx for computed scales", "strict"}},
            {{.rule = numerics::any}, bad_argument, {"numerics", "onnx for computed scales", "any"}},
            {{.division = precision::f16}, bad_argument, {"division", f32_only, "f16"}},
            {{.division = precision::bf16}, bad_argument, {"division", f32_only, "bf16"}},
            {{.division = precision::f64}, bad_argument, {"division", f32_only, "f64"}},
            {{.values = {1, 2}}, bad_argument, {"scales", no_values, "2"}},
            {{.zps_values = {1}}, bad_argument, {zps, no_values, "1"}},
    });
}

TEST(direct_computed_refusals, enumerators_and_numbers) {
    const std::string quotients = "divide, multiply_reciprocal or multiply_range";
    expect_refused({
            {{.range = static_cast<scale_range>(9)}, bad_argument, {range, "absmax or minmax", "number 9"}},
            {{.rounding = static_cast<scale_rounding>(9)}, bad_argument,
                    {rounding, "nearest, floor, ceil, even or rceil", "number 9"}},
            {{.quotient = static_cast<scale_quotient>(9)}, bad_argument, {quotient, quotients, "number 9"}},
            {{.special = static_cast<nonfinite>(-1)}, bad_argument,
                    {"computed.special", "propagate or skip", "number -1"}},
    });
    // 2^128 - 2^103 is the tie that f32 rounds to infinity.
    for (const auto &[value, given] : {std::pair(-0.5, "-0.5"), {infinity, "inf"}, {nan, "nan"}, {1e300, "1e+300"},
                 {-1e300, "-1e+300"}, {0x1p128 - 0x1p103, "3.40282e+38"}})
        expect_refused({
                {{.least = value}, bad_argument, {"computed.least", "a number of 0 or more, finite in f32", given}},
                {{.of_zero = value}, bad_argument, {"computed.of_zero", "a number of 0 or more, finite in f32", given}},
        });
    for (const double value : {0.0, -0.0, 1e-300, 0x1p128 - 0x1.1p103})
        EXPECT_FALSE(check(changes {.least = value, .of_zero = value}.of(right()))) << value;
}

TEST(direct_computed_refusals, known_global_scales_are_above_0_and_finite_in_f32) {
    for (const auto &[value, given] : {std::pair(-0.5, "-0.5"), {0.0, "0"}, {-0.0, "-0"}, {0x1p-150, "7.00649e-46"},
                 {infinity, "inf"}, {-infinity, "-inf"}, {nan, "nan"}, {1e300, "1e+300"}})
        expect_refused_in_float({{{.second_values = {value}}, bad_argument,
                {second, "a global scale above 0 and finite in f32", given}}});
    for (const double value : {0x1p-149, 0x1.8p-150, 1.0, 0x1p128 - 0x1.1p103})
        EXPECT_FALSE(check(changes {.second_values = {value}}.of(right_float()))) << value;
    quantization q; // dequantize multiplies by any
    q.dir = direction::dequantize;
    q.rule = numerics::onnx;
    q.src = {data_type::f4_e2m1, {2, 3}, {}};
    q.dst = {data_type::f32, {2, 3}, {}};
    q.scales = {data_type::f8_e4m3, {1, 3}, {}};
    q.second_scales = parameter {data_type::f32, {2, 3}, {-1}};
    EXPECT_FALSE(check(q));
}

TEST(direct_computed_refusals, ranges) {
    for (const auto type : {u8, u4}) {
        const std::string name = to_string(type);
        expect_refused({
                {{.dst = type, .no_zps = true, .range = absmax}, bad_argument, {range, "minmax for " + name, "absmax"}},
                {{.dst = type, .zps = type, .narrow = true}, bad_argument,
                        {"computed.narrow", "false for " + name, "true"}},
        });
    }
    const std::string none = "none for computed.range absmax";
    expect_refused({
            {{.range = absmax}, bad_argument, {zps, none, "some of s8"}},
            {{.no_zps = true}, bad_argument, {zps, "some for computed.range minmax", "none"}},
    });
    expect_refused_in_float({
            {{.range = minmax}, bad_argument, {range, "absmax for f4_e2m1", "minmax"}},
            {{.narrow = true}, bad_argument, {"computed.narrow", "false for f4_e2m1", "true"}},
            {{.zps = f4_e2m1}, bad_argument, {zps, none, "some of f4_e2m1"}},
    });
}

TEST(direct_computed_refusals, what_the_type_of_scales_needs) {
    const std::string two = "divide or multiply_reciprocal for ", ranged = "multiply_range";
    expect_refused({
            {{.rounding = floor}, bad_argument, {rounding, "nearest for computed.range minmax", "floor"}},
            {{.quotient = multiply_range}, bad_argument, {quotient, two + "computed.range minmax", ranged}},
    });
    expect_refused_in_float({
            {{.scales = f8_e8m0}, bad_argument,
                    {rounding, "floor, ceil, even or rceil for scales of f8_e8m0", "nearest"}},
            {{.rounding = even}, bad_argument, {rounding, "nearest for scales of f8_e4m3", "even"}},
            {{.no_second = true, .quotient = multiply_range}, bad_argument,
                    {quotient, two + "scales of f8_e4m3", ranged}},
            {{.scales = f8_e8m0, .no_second = true, .rounding = floor, .quotient = multiply_range}, bad_argument,
                    {quotient, two + "computed.rounding floor", ranged}},
            {{.scales = bf16}, bad_argument, {second, "none for computed scales of bf16", "some of f32"}},
    });
}

TEST(direct_computed_refusals, shapes) {
    expect_refused({
            {{.zps_block = {2, 3}}, bad_shape, {zps, "the block of scales, 1x3", "2x3"}},
            {{.dst_strides = {1, 1}}, bad_shape, {"dst", "strides whose elements do not overlap", "1x1 for dims 2x3"}},
    });
    expect_refused_in_float({
            {{.second_block = {1, 3}}, bad_shape, {second, "the block of the whole tensor, 2x3", "1x3"}},
            {{.second_values = {1, 2}}, bad_shape, {second, "1 value", "2"}},
    });
}

/// Every buffer of a run, with a byte in each output that is not that of any result.
struct buffers {
    float src[6] = {1, 2, 3, 4, 5, 6}, scales[2] = {77, 77}, global = 1;
    std::int8_t dst[6] = {99, 99, 99, 99, 99, 99}, zero_points[2] = {99, 99};

    arguments all() {
        arguments args;
        args.src = src;
        args.dst = dst;
        args.computed_scales = scales;
        args.computed_zero_points = zero_points;
        args.second_scales = &global;
        return args;
    }
    bool untouched() const {
        for (const auto code : dst)
            if (code != 99) return false;
        return scales[0] == 77 && scales[1] == 77 && zero_points[0] == 99 && zero_points[1] == 99;
    }
};

TEST(direct_computed_refusals, run_needs_every_output) {
    const auto misses = [](const quantization &q, const std::string &name, auto spoil) {
        buffers all;
        auto args = all.all();
        spoil(args);
        EXPECT_TRUE(fails([&] { prepare(q).run(args); }, bad_argument, names {name, "a buffer", "a null pointer"}));
        EXPECT_TRUE(all.untouched()) << name;
    };
    misses(right(), "src", [](arguments &args) { args.src = nullptr; });
    misses(right(), "dst", [](arguments &args) { args.dst = nullptr; });
    misses(right(), "scales", [](arguments &args) { args.computed_scales = nullptr; });
    misses(right(), zps, [](arguments &args) { args.computed_zero_points = nullptr; });
    misses(right_float(), second, [](arguments &args) { args.second_scales = nullptr; });
}

TEST(direct_computed_refusals, run_ignores_what_the_statement_does_not_have) {
    buffers all;
    auto args = all.all();
    args.scales = args.zero_points = nullptr; // computed
    args.second_scales = nullptr;
    EXPECT_NO_THROW(prepare(right()).run(args));
    auto q = right();
    q.computed->scales_only = true;
    args.dst = nullptr;
    EXPECT_NO_THROW(prepare(q).run(args));
    q = right_float();
    q.second_scales->values = {1};
    args.dst = all.dst;
    args.computed_zero_points = nullptr;
    EXPECT_NO_THROW(prepare(q).run(args));
}

} // namespace
} // namespace dynquant::test
