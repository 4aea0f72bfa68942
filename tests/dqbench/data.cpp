// dqbench's data has the values that correctness and performance runs need.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "fill.hpp"
#include "parameters.hpp"
#include "workspace.hpp"

namespace {

using namespace dqbench;

struct found {
    int ties = 0, nan = 0, infinite = 0, subnormal = 0, negative_zero = 0, below = 0, above = 0;
};

found look_at(filling kind, float scale, std::int32_t zp) {
    found f;
    for (std::uint64_t i = 0; i < 4096; ++i) {
        const float x = draw_real(i, kind, scale, zp, -128, 127);
        const double sum = static_cast<double>(x) / static_cast<double>(scale) + zp;
        f.ties += sum - std::floor(sum) == 0.5;
        f.nan += std::isnan(x);
        f.infinite += std::isinf(x);
        f.subnormal += std::fpclassify(x) == FP_SUBNORMAL;
        f.negative_zero += x == 0 && std::signbit(x);
        f.below += sum < -129;
        f.above += sum > 128;
    }
    return f;
}

TEST(dqbench_fill, checking_has_ties_special_and_saturating_values) {
    const auto f = look_at(filling::checking, 0.25f, 3);
    EXPECT_GT(f.ties, 500);
    EXPECT_GT(f.nan, 10);
    EXPECT_GT(f.infinite, 10);
    EXPECT_GT(f.subnormal, 10);
    EXPECT_GT(f.negative_zero, 5);
    EXPECT_GT(f.below, 100);
    EXPECT_GT(f.above, 100);
}

TEST(dqbench_fill, measuring_has_ordinary_values_alone) {
    const auto f = look_at(filling::measuring, 0.3f, -7);
    EXPECT_EQ(f.nan + f.infinite + f.subnormal, 0);
    EXPECT_GT(f.below, 50);
    EXPECT_LT(f.below, 1000);
}

/// Draws 4096 numbers: their moments, and how many are beyond one and two standard deviations, an eighth of 255 each.
void expect_normal(const std::vector<double> &values, double middle) {
    double mean = 0, variance = 0, beyond_one = 0, beyond_two = 0;
    const auto count = static_cast<double>(values.size());
    for (const double v : values)
        mean += v / count;
    for (const double v : values) {
        const double distance = std::abs(v - middle) / 31.875;
        variance += (v - mean) * (v - mean) / count;
        beyond_one += distance > 1;
        beyond_two += distance > 2;
    }
    EXPECT_NEAR(mean, middle, 2); // four times its standard deviation
    EXPECT_NEAR(std::sqrt(variance), 31.875, 1.5);
    EXPECT_NEAR(beyond_one / count, 0.3173, 0.03);
    EXPECT_NEAR(beyond_two / count, 0.0455, 0.013);
}

TEST(dqbench_fill, normal_is_around_the_middle_of_the_results) {
    for (const auto &[lowest, highest, middle] : {std::tuple {-128.0, 127.0, 0.0}, {0.0, 255.0, 128.0}})
        for (const float scale : {0.25F, -3.7e-20F}) {
            std::vector<double> sums;
            for (std::uint64_t i = 0; i < 4096; ++i)
                sums.push_back(double {draw_real(i, filling::normal, scale, 3, lowest, highest)} / double {scale} + 3);
            expect_normal(sums, middle);
            EXPECT_EQ(std::ranges::count_if(sums, [](double sum) { return sum - std::floor(sum) == 0.5; }), 0);
        }
}

TEST(dqbench_fill, normal_is_around_the_middle_of_the_codes) {
    const statement s({.op = op_kind::Dequantize,
            .types = {data_type::u8, data_type::f32, {}, data_type::f32},
            .prb = {{4096}, ""}});
    std::vector<std::uint8_t> codes(4096);
    fill_src(s, {{0.1F}, {}}, filling::normal, codes.data());
    expect_normal({codes.begin(), codes.end()}, 128);
}

TEST(dqbench_parameters, are_drawn_from_the_case_alone) {
    const auto a = draw_parameters(parameter_kind::usual, 100, data_type::f32, data_type::s32, 5);
    const auto b = draw_parameters(parameter_kind::usual, 100, data_type::f32, data_type::s32, 5);
    EXPECT_EQ(a.scales, b.scales);
    EXPECT_EQ(a.zero_points, b.zero_points);
    EXPECT_NE(a.scales, draw_parameters(parameter_kind::usual, 100, data_type::f32, data_type::s32, 6).scales);
    EXPECT_TRUE(draw_parameters(parameter_kind::usual, 3, data_type::f32, std::nullopt, 5).zero_points.empty());
}

TEST(dqbench_parameters, given_ones_repeat_and_are_of_their_type) {
    parameters p {{1, 1, 1, 1, 1}, {9, 9, 9, 9, 9}};
    replace_scales(p, {}, data_type::f32);
    replace_zero_points(p, {});
    EXPECT_EQ(p.scales, (std::vector<float> {1, 1, 1, 1, 1}));
    EXPECT_EQ(p.zero_points, (std::vector<std::int32_t> {9, 9, 9, 9, 9}));
    replace_scales(p, {0.25f, 0.1f}, data_type::f32);
    replace_zero_points(p, {-1, 0, 1});
    EXPECT_EQ(p.scales, (std::vector<float> {0.25f, 0.1f, 0.25f, 0.1f, 0.25f}));
    EXPECT_EQ(p.zero_points, (std::vector<std::int32_t> {-1, 0, 1, -1, 0}));
    replace_scales(p, {1 + 0x1p-9f, 1 + 0x1.8p-7f}, data_type::bf16); // its step from 1 on is 2^-7
    EXPECT_EQ(p.scales, (std::vector<float> {1, 1 + 0x1p-6f, 1, 1 + 0x1p-6f, 1}));
}

TEST(dqbench_parameters, usual_ones_are_moderate_and_differ) {
    const auto p = draw_parameters(parameter_kind::usual, 1000, data_type::f32, data_type::u8, 0);
    for (const float scale : p.scales) {
        EXPECT_GE(scale, 0x1p-8f);
        EXPECT_LT(scale, 2.0f);
    }
    EXPECT_GT(std::set<float>(p.scales.begin(), p.scales.end()).size(), 990u);
    for (const auto zp : p.zero_points) {
        EXPECT_GE(zp, 0);
        EXPECT_LE(zp, 255);
    }
}

TEST(dqbench_parameters, pow2_ones_are_powers_of_two) {
    for (const float scale : draw_parameters(parameter_kind::pow2, 100, data_type::f32, std::nullopt, 0).scales) {
        int exponent;
        EXPECT_EQ(std::frexp(scale, &exponent), 0.5f);
    }
}

/// By the global scale 0.0131: numbers of f8_e4m3, which have three fraction bits, and ties between them, or nearly so.
TEST(dqbench_parameters, nvfp4_ones_are_numbers_of_f8_e4m3_and_ties) {
    int numbers = 0, ties = 0;
    for (const float scale : draw_parameters(parameter_kind::nvfp4, 200, data_type::f32, std::nullopt, 0).scales) {
        int exponent;
        const double sixteenths = std::frexp(scale / 0.0131, &exponent) * 32, nearest = std::nearbyint(sixteenths);
        EXPECT_NEAR(sixteenths, nearest, 0x1p-18);
        (std::fmod(nearest, 2) == 0 ? numbers : ties) += 1;
    }
    EXPECT_GT(numbers, 50);
    EXPECT_GT(ties, 50);
}

TEST(dqbench_parameters, wild_ones_hold_every_kind_of_float_and_the_ends_of_the_type) {
    const auto p = draw_parameters(parameter_kind::wild, 200, data_type::f32, data_type::s32, 0);
    std::set<int> classes;
    bool negative = false;
    for (const float scale : p.scales) {
        classes.insert(std::fpclassify(scale));
        negative |= scale < 0;
    }
    EXPECT_EQ(classes, (std::set<int> {FP_NAN, FP_INFINITE, FP_ZERO, FP_SUBNORMAL, FP_NORMAL}));
    EXPECT_TRUE(negative);
    const std::set<std::int32_t> zps(p.zero_points.begin(), p.zero_points.end());
    EXPECT_TRUE(zps.count(INT32_MIN));
    EXPECT_TRUE(zps.count(INT32_MAX));
}

TEST(dqbench_parameters, zero_points_fit_their_type) {
    for (const auto kind : {parameter_kind::usual, parameter_kind::wild})
        for (const auto zp : draw_parameters(kind, 500, data_type::f32, data_type::s8, 9).zero_points) {
            EXPECT_GE(zp, -128);
            EXPECT_LE(zp, 127);
        }
}

/// The statement of 100 rows of 64 values, s8 by a computed scale for each row, and the values drawn for it.
struct rows_to_compute {
    static constexpr std::size_t rows = 100, columns = 64;
    statement s;
    parameters drawn;
    std::vector<float> src = std::vector<float>(rows * columns);

    rows_to_compute(parameter_kind kind, filling how)
        : s({.computed = dynquant::scale_rule {},
                .qtype = granularity::per_channel,
                .axis = 0,
                .prb = {{rows, columns}, ""}})
        , drawn(draw_parameters(kind, rows, data_type::f32, std::nullopt, 0)) {
        fill_src(s, drawn, how, src.data());
    }

    std::vector<float> row(std::size_t i) const {
        const auto *first = &src[i * columns];
        return {first, first + columns};
    }
};

TEST(dqbench_fill, computed_scales_are_those_drawn) {
    for (const auto how : {filling::checking, filling::measuring}) {
        const rows_to_compute data(parameter_kind::pow2, how);
        int equal = 0;
        for (std::size_t i = 0; i < data.rows; ++i) {
            float largest = 0;
            for (const float x : data.row(i))
                largest = std::max(largest, std::abs(x));
            EXPECT_LE(largest, 127.5F * data.drawn.scales[i]);
            EXPECT_FALSE(std::any_of(&data.src[i * data.columns], &data.src[i * data.columns] + data.columns,
                    [](float x) { return std::isnan(x); }));
            equal += largest == 127.5F * data.drawn.scales[i];
        }
        EXPECT_GT(equal, 90); // the others have no element that was clamped
    }
}

/// Integers of more bits than f32 has, of which many are no floats.
TEST(dqbench_fill, large_integers_have_low_bits) {
    constexpr std::int64_t count = 1000;
    const statement s({.types = {data_type::s32, data_type::f32, {}, data_type::s8},
            .rule = rule_kind::onnx,
            .prb = {{count}, ""}});
    std::vector<std::int32_t> integers(count);
    const auto no_floats = [&](float scale) {
        fill_src(s, {{scale}, {}}, filling::checking, integers.data());
        return std::ranges::count_if(
                integers, [](std::int32_t value) { return static_cast<double>(static_cast<float>(value)) != value; });
    };
    EXPECT_GT(no_floats(0x1.8p22F), count / 2);
    EXPECT_LT(no_floats(0x1.8p4F), count / 8); // those of arbitrary bits
    const auto in_range = [](std::int32_t value) { return std::abs(value / 0x1.8p22) < 128; };
    no_floats(0x1.8p22F);
    EXPECT_GT(std::ranges::count_if(integers, in_range), count / 2);
}

TEST(dqbench_fill, wild_blocks_are_zero_or_of_one_sign_or_not_finite) {
    const rows_to_compute data(parameter_kind::wild, filling::checking);
    int zero = 0, one_sign = 0, nan = 0, infinite = 0;
    for (std::size_t i = 0; i < data.rows; ++i) {
        const auto row = data.row(i);
        const auto any = [&](auto &&f) { return std::any_of(row.begin(), row.end(), f); };
        const bool positive = any([](float x) { return x > 0; }), negative = any([](float x) { return x < 0; });
        zero += !positive && !negative;
        one_sign += negative && !positive;
        nan += any([](float x) { return std::isnan(x); });
        infinite += any([](float x) { return std::isinf(x); });
        if (std::isfinite(data.drawn.scales[i])) {
            EXPECT_FALSE(any([](float x) { return !std::isfinite(x); })) << i;
        }
    }
    EXPECT_GT(zero, 5);
    EXPECT_GT(one_sign, 3);
    EXPECT_GT(nan, 5);
    EXPECT_GT(infinite, 5);
}

TEST(dqbench_guarded_buffer, sees_a_write_on_either_side) {
    for (const auto offset : {-1, 10, -256, 265}) {
        guarded_buffer b(10, 1);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 64, 1u);
        b.data()[0] = b.data()[9] = std::byte {0};
        EXPECT_TRUE(b.guards_intact());
        b.data()[offset] = std::byte {0};
        EXPECT_FALSE(b.guards_intact()) << offset;
    }
}

TEST(dqbench_workspace, computed_parameters_are_outputs) {
    test_case c {.types = {data_type::f32, data_type::f32, data_type::u8, data_type::u8}, .prb = {{2, 3}, ""}};
    const auto drawn = draw_parameters(parameter_kind::usual, 1, data_type::f32, data_type::u8, 0);
    const auto bytes = [&] {
        const workspace w(statement(c), drawn, 6, filling::checking);
        return std::pair(w.input_bytes(), w.output_bytes());
    };
    EXPECT_EQ(bytes(), std::pair(std::int64_t {24 + 4 + 1}, std::int64_t {6}));
    c.computed = dynquant::scale_rule {};
    EXPECT_EQ(bytes(), std::pair(std::int64_t {24}, std::int64_t {6 + 4 + 1}));
    workspace w(statement(c), drawn, 6, filling::checking);
    w.remember_inputs();
    *static_cast<float *>(w.handles().scales) = 3;
    EXPECT_TRUE(w.inputs_unchanged());
    static_cast<std::byte *>(w.handles().src)[3] ^= std::byte {1};
    EXPECT_FALSE(w.inputs_unchanged());
}

TEST(dqbench_workspace, notices_a_changed_input) {
    const statement s({.types = {data_type::f32, data_type::f32, data_type::s32, data_type::s8}, .prb = {{2, 3}, ""}});
    workspace w(s, draw_parameters(parameter_kind::usual, 1, data_type::f32, data_type::s32, 0), 6, filling::checking);
    w.remember_inputs();
    EXPECT_TRUE(w.inputs_unchanged());
    static_cast<std::byte *>(w.handles().zero_points)[3] ^= std::byte {1};
    EXPECT_FALSE(w.inputs_unchanged());
}

} // namespace
