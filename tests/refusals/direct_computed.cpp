// The direct API refuses wrong statements with computed scales, and buffers that are missing.
#include <algorithm>
#include <limits>

#include "direct.hpp"

namespace dynquant::test {
namespace {

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

template <typename Spoil>
testing::AssertionResult finds(
        dynquant::status status, const std::string &message, Spoil &&spoil, quantization q = right()) {
    return refused(std::move(q), status, message, spoil);
}

/// As finds(), in a statement with a global scale.
template <typename Spoil>
testing::AssertionResult finds_in_float(dynquant::status status, const std::string &message, Spoil &&spoil) {
    return finds(status, message, spoil, right_float());
}

TEST(direct_computed_refusals, finds_nothing_wrong_with_right_statements) {
    EXPECT_FALSE(check(right()));
    EXPECT_FALSE(check(right_float()));
    auto q = right_float();
    q.second_scales->values = {0.5};
    q.computed->scales_only = q.saturate = true;
    EXPECT_FALSE(check(q));
    using enum data_type;
    for (const auto dst : {s8, s4, f8_e4m3, f8_e5m2, f4_e2m1, f6_e2m3, f6_e3m2})
        for (const auto src : {f32, f16, bf16})
            for (const auto scales : {f32, f16, bf16, f8_e4m3, f8_e8m0}) {
                q = right();
                q.zero_points.reset();
                q.src.type = src;
                q.dst.type = dst;
                q.scales.type = scales;
                q.computed = scales == f8_e8m0 ? presets::mx() : scale_rule();
                EXPECT_FALSE(check(q)) << to_string(dst) << " of " << to_string(src) << " by " << to_string(scales);
            }
    for (const auto dst : {s8, u8, s4, u4})
        for (const auto scales : {f32, f16, bf16}) {
            q = right();
            q.dst.type = q.zero_points->type = dst;
            q.scales.type = scales;
            EXPECT_FALSE(check(q)) << to_string(dst) << " by " << to_string(scales);
        }
}

TEST(direct_computed_refusals, data_types) {
    using enum data_type;
    const auto status = status::invalid_data_type;
    EXPECT_TRUE(
            finds(status, "src: expected data type f32, f16 or bf16, given s32", [](auto &q) { q.src.type = s32; }));
    for (const auto &[type, name] : {std::pair(s16, "s16"), {f16, "f16"}, {f8_e4m3fnuz, "f8_e4m3fnuz"}, {s2, "s2"},
                 {f8_e8m0, "f8_e8m0"}, {static_cast<data_type>(1000000), "number 1000000"}}) {
        const auto spoil = [t = type](auto &q) { q.dst.type = t; };
        const auto narrow = [&](auto &q) {
            spoil(q);
            q.computed->narrow = true;
        };
        const std::string given = std::string(" for this rule, given ") + name;
        EXPECT_TRUE(finds(status, "dst: expected data type s8, u8, s4 or u4" + given, spoil));
        EXPECT_TRUE(finds(status, "dst: expected data type s8 or s4" + given, narrow));
        EXPECT_TRUE(finds_in_float(status,
                "dst: expected data type s8, s4, f8_e4m3, f8_e5m2, f4_e2m1, f6_e2m3 or f6_e3m2" + given, spoil));
        EXPECT_TRUE(finds_in_float(status, "dst: expected data type s8 or s4" + given, narrow));
    }
    for (const auto &[type, name] : {std::pair(s32, "s32"), {u8, "u8"}, {f8_e5m2, "f8_e5m2"},
                 {static_cast<data_type>(1000000), "number 1000000"}}) {
        const auto spoil = [t = type](auto &q) { q.scales.type = t; };
        const auto without_global = [&](auto &q) {
            spoil(q);
            q.second_scales.reset();
        };
        const std::string given = std::string(" for this rule, given ") + name;
        EXPECT_TRUE(finds(status, "scales: expected data type f32, f16 or bf16" + given, spoil));
        EXPECT_TRUE(finds_in_float(status, "scales: expected data type f8_e4m3" + given, spoil));
        EXPECT_TRUE(
                finds_in_float(status, "scales: expected data type f32, f16, bf16 or f8_e4m3" + given, without_global));
        EXPECT_TRUE(finds_in_float(status, "scales: expected data type f32, f16 or bf16" + given, [&](auto &q) {
            without_global(q);
            q.computed->quotient = scale_quotient::multiply_range;
        }));
        EXPECT_TRUE(finds_in_float(status, "scales: expected data type f8_e8m0" + given, [&](auto &q) {
            without_global(q);
            q.computed->rounding = scale_rounding::even;
        }));
    }
    for (const auto &[type, name] : {std::pair(f8_e4m3, "f8_e4m3"), {f8_e8m0, "f8_e8m0"}})
        EXPECT_TRUE(
                finds(status, std::string("scales: expected data type f32, f16 or bf16 for this rule, given ") + name,
                        [t = type](auto &q) { q.scales.type = t; }));
    EXPECT_TRUE(finds(
            status, "zps: expected data type s8, that of dst, given u8", [](auto &q) { q.zero_points->type = u8; }));
    EXPECT_TRUE(finds(
            status, "zps: expected data type s8, that of dst, given s32", [](auto &q) { q.zero_points->type = s32; }));
    EXPECT_TRUE(finds(status, "zps: expected data type u8, that of dst, given s32", [](auto &q) {
        q.dst.type = u8;
        q.zero_points->type = s32;
    }));
    EXPECT_TRUE(finds_in_float(
            status, "second scales: expected data type f32, given f16", [](auto &q) { q.second_scales->type = f16; }));
}

// Not those of a type that would be as wrong.
TEST(direct_computed_refusals, what_is_not_there_has_no_type) {
    using enum data_type;
    const auto status = status::invalid_arguments;
    EXPECT_TRUE(finds(status, "zps: expected none for computed.range absmax, given some of s32", [](auto &q) {
        q.computed->range = scale_range::absmax;
        q.zero_points->type = s32;
    }));
    EXPECT_TRUE(finds(status, "computed.range: expected absmax for f8_e5m2, given minmax",
            [](auto &q) { q.dst.type = f8_e5m2; }));
    EXPECT_TRUE(finds_in_float(
            status, "second scales: expected none for computed scales of f32, given some of f16", [](auto &q) {
                q.scales.type = f32;
                q.second_scales->type = f16;
            }));
    EXPECT_TRUE(finds(status, "numerics: expected onnx for computed scales, given strict", [](auto &q) {
        q.rule = numerics::strict;
        q.saturate = true;
    }));
}

/// The table of docs/reference.md, in the order of the enumerators.
TEST(direct_computed_refusals, rules_and_the_scales_that_they_take) {
    using enum data_type;
    using enum scale_rounding;
    using enum scale_quotient;
    using types = std::vector<data_type>;
    const types scales_of_16_bits_and_more = {f32, f16, bf16}, none;
    for (const auto range : {scale_range::absmax, scale_range::minmax})
        for (const auto rounding : {nearest, floor, ceil, even, rceil})
            for (const auto quotient : {divide, multiply_reciprocal, multiply_range}) {
                auto expected = scales_of_16_bits_and_more;
                if (range == scale_range::minmax) {
                    if (rounding != nearest || quotient == multiply_range) expected = none;
                } else if (rounding != nearest) {
                    expected = quotient == multiply_range ? none : types {f8_e8m0};
                } else if (quotient != multiply_range) {
                    expected.push_back(f8_e4m3);
                }
                for (const auto type : {f32, s32, s8, u8, f16, bf16, s4, u4, f8_e4m3, f8_e5m2, s16, u16, u32, s2, u2,
                             f4_e2m1, f6_e2m3, f6_e3m2, f8_e4m3fnuz, f8_e5m2fnuz, f8_e8m0}) {
                    auto q = right();
                    if (range == scale_range::absmax) q.zero_points.reset();
                    q.scales.type = type;
                    q.computed = scale_rule {.range = range, .rounding = rounding, .quotient = quotient};
                    const auto what = std::string(to_string(range)) + ", " + to_string(rounding) + ", "
                            + to_string(quotient) + " by " + to_string(type);
                    EXPECT_EQ(!check(q), std::ranges::count(expected, type) != 0) << what;
                    q.second_scales = parameter {f32, {2, 3}, {}};
                    EXPECT_EQ(!check(q), type == f8_e4m3 && std::ranges::count(expected, type) != 0) << what;
                }
            }
}

TEST(direct_computed_refusals, what_belongs_to_other_statements) {
    const auto status = status::invalid_arguments;
    EXPECT_TRUE(finds(status, "computed: expected none for dequantize, given a rule",
            [](auto &q) { q.dir = direction::dequantize; }));
    for (const auto rule : {numerics::strict, numerics::any})
        EXPECT_TRUE(finds(status, std::string("numerics: expected onnx for computed scales, given ") + to_string(rule),
                [=](auto &q) { q.rule = rule; }));
    for (const auto division : {precision::f16, precision::bf16, precision::f64})
        EXPECT_TRUE(
                finds(status, std::string("division: expected f32 for computed scales, given ") + to_string(division),
                        [=](auto &q) { q.division = division; }));
    EXPECT_TRUE(finds(status, "scales: expected no values, as they are computed, given 2", [](auto &q) {
        q.scales.values = {1, 2};
    }));
    EXPECT_TRUE(finds(status, "zps: expected no values, as they are computed, given 1",
            [](auto &q) { q.zero_points->values = {1}; }));
}

TEST(direct_computed_refusals, enumerators_and_numbers) {
    const auto status = status::invalid_arguments;
    EXPECT_TRUE(finds(status, "computed.range: expected absmax or minmax, given number 9",
            [](auto &q) { q.computed->range = static_cast<scale_range>(9); }));
    EXPECT_TRUE(finds(status, "computed.rounding: expected nearest, floor, ceil, even or rceil, given number 9",
            [](auto &q) { q.computed->rounding = static_cast<scale_rounding>(9); }));
    EXPECT_TRUE(
            finds(status, "computed.quotient: expected divide, multiply_reciprocal or multiply_range, given number 9",
                    [](auto &q) { q.computed->quotient = static_cast<scale_quotient>(9); }));
    EXPECT_TRUE(finds(status, "computed.special: expected propagate or skip, given number -1",
            [](auto &q) { q.computed->special = static_cast<nonfinite>(-1); }));
    // 2^128 - 2^103 is the tie that f32 rounds to infinity.
    for (const auto &[value, given] : {std::pair(-0.5, "-0.5"), {std::numeric_limits<double>::infinity(), "inf"},
                 {std::numeric_limits<double>::quiet_NaN(), "nan"}, {1e300, "1e+300"}, {-1e300, "-1e+300"},
                 {0x1p128 - 0x1p103, "3.40282e+38"}}) {
        const std::string message = std::string(": expected a number of 0 or more, finite in f32, given ") + given;
        EXPECT_TRUE(finds(status, "computed.least" + message, [v = value](auto &q) { q.computed->least = v; }));
        EXPECT_TRUE(finds(status, "computed.of_zero" + message, [v = value](auto &q) { q.computed->of_zero = v; }));
    }
    for (const double value : {0.0, -0.0, 1e-300, 0x1p128 - 0x1.1p103}) {
        auto q = right();
        q.computed->least = q.computed->of_zero = value;
        EXPECT_FALSE(check(q)) << value;
    }
}

TEST(direct_computed_refusals, known_global_scales_are_above_0_and_finite_in_f32) {
    const auto status = status::invalid_arguments;
    for (const auto &[value, given] : {std::pair(-0.5, "-0.5"), {0.0, "0"}, {-0.0, "-0"}, {0x1p-150, "7.00649e-46"},
                 {std::numeric_limits<double>::infinity(), "inf"}, {-std::numeric_limits<double>::infinity(), "-inf"},
                 {std::numeric_limits<double>::quiet_NaN(), "nan"}, {1e300, "1e+300"}})
        EXPECT_TRUE(finds_in_float(status,
                std::string("second scales: expected a global scale above 0 and finite in f32, given ") + given,
                [v = value](auto &q) { q.second_scales->values = {v}; }));
    for (const double value : {0x1p-149, 0x1.8p-150, 1.0, 0x1p128 - 0x1.1p103}) {
        auto q = right_float();
        q.second_scales->values = {value};
        EXPECT_FALSE(check(q)) << value;
    }
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
    using enum data_type;
    const auto status = status::invalid_arguments;
    const auto absmax = [](auto &q) { q.computed->range = scale_range::absmax; };
    EXPECT_TRUE(finds(status, "zps: expected none for computed.range absmax, given some of s8", absmax));
    for (const auto type : {u8, u4}) {
        const std::string name = to_string(type);
        EXPECT_TRUE(finds(status, "computed.range: expected minmax for " + name + ", given absmax", [&](auto &q) {
            absmax(q);
            q.dst.type = type;
            q.zero_points.reset();
        }));
        EXPECT_TRUE(finds(status, "computed.narrow: expected false for " + name + ", given true", [&](auto &q) {
            q.dst.type = q.zero_points->type = type;
            q.computed->narrow = true;
        }));
    }
    EXPECT_TRUE(finds(status, "zps: expected some for computed.range minmax, given none",
            [](auto &q) { q.zero_points.reset(); }));
    EXPECT_TRUE(finds_in_float(status, "computed.range: expected absmax for f4_e2m1, given minmax",
            [](auto &q) { q.computed->range = scale_range::minmax; }));
    EXPECT_TRUE(finds_in_float(status, "computed.narrow: expected false for f4_e2m1, given true",
            [](auto &q) { q.computed->narrow = true; }));
    EXPECT_TRUE(
            finds_in_float(status, "zps: expected none for computed.range absmax, given some of f4_e2m1", [](auto &q) {
                q.zero_points = parameter {f4_e2m1, {1, 3}, {}};
            }));
}

TEST(direct_computed_refusals, what_the_type_of_scales_needs) {
    using enum data_type;
    const auto status = status::invalid_arguments;
    EXPECT_TRUE(finds_in_float(status,
            "computed.rounding: expected floor, ceil, even or rceil for scales of f8_e8m0, given nearest",
            [](auto &q) { q.scales.type = f8_e8m0; }));
    EXPECT_TRUE(finds_in_float(status, "computed.rounding: expected nearest for scales of f8_e4m3, given even",
            [](auto &q) { q.computed->rounding = scale_rounding::even; }));
    EXPECT_TRUE(finds(status, "computed.rounding: expected nearest for computed.range minmax, given floor",
            [](auto &q) { q.computed->rounding = scale_rounding::floor; }));
    for (const auto type : {f8_e4m3, f8_e8m0}) {
        const std::string name = to_string(type);
        const auto of_type = [=](auto &q) {
            q.scales.type = type;
            q.second_scales.reset();
            q.computed->rounding = type == f8_e8m0 ? scale_rounding::floor : scale_rounding::nearest;
        };
        EXPECT_TRUE(finds_in_float(status,
                "computed.quotient: expected divide or multiply_reciprocal for "
                        + (type == f8_e8m0 ? "computed.rounding floor" : "scales of " + name)
                        + ", given multiply_range",
                [&](auto &q) {
                    of_type(q);
                    q.computed->quotient = scale_quotient::multiply_range;
                }));
    }
    EXPECT_TRUE(finds(status,
            "computed.quotient: expected divide or multiply_reciprocal for computed.range minmax, given multiply_range",
            [](auto &q) { q.computed->quotient = scale_quotient::multiply_range; }));
    EXPECT_TRUE(finds_in_float(status, "second scales: expected none for computed scales of bf16, given some of f32",
            [](auto &q) { q.scales.type = bf16; }));
}

TEST(direct_computed_refusals, shapes) {
    const auto status = status::invalid_shape;
    EXPECT_TRUE(finds(status, "zps: expected the block of scales, 1x3, given 2x3", [](auto &q) {
        q.zero_points->block = {2, 3};
    }));
    EXPECT_TRUE(finds_in_float(
            status, "second scales: expected the block of the whole tensor, 2x3, given 1x3", [](auto &q) {
                q.second_scales->block = {1, 3};
            }));
    EXPECT_TRUE(finds_in_float(status, "second scales: expected 1 value, given 2", [](auto &q) {
        q.second_scales->values = {1, 2};
    }));
    EXPECT_TRUE(
            finds(status, "dst: expected strides whose elements do not overlap, given 1x1 for dims 2x3", [](auto &q) {
                q.dst.strides = {1, 1};
            }));
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

template <typename Spoil>
testing::AssertionResult run_refuses(const quantization &q, const std::string &message, Spoil &&spoil) {
    buffers all;
    auto args = all.all();
    spoil(args);
    const auto thrown = fails([&] { prepare(q).run(args); }, status::invalid_arguments, message);
    if (!all.untouched()) return testing::AssertionFailure() << "an output was written";
    return thrown;
}

TEST(direct_computed_refusals, run_needs_every_output) {
    EXPECT_TRUE(run_refuses(
            right(), "src: expected a buffer, given a null pointer", [](auto &args) { args.src = nullptr; }));
    EXPECT_TRUE(run_refuses(
            right(), "dst: expected a buffer, given a null pointer", [](auto &args) { args.dst = nullptr; }));
    EXPECT_TRUE(run_refuses(right(), "scales: expected a buffer, given a null pointer",
            [](auto &args) { args.computed_scales = nullptr; }));
    EXPECT_TRUE(run_refuses(right(), "zps: expected a buffer, given a null pointer",
            [](auto &args) { args.computed_zero_points = nullptr; }));
    EXPECT_TRUE(run_refuses(right_float(), "second scales: expected a buffer, given a null pointer",
            [](auto &args) { args.second_scales = nullptr; }));
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
