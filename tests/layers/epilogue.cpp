// The steps of a layer have the bits of ONNX's operators one by one, on every instruction set and in both layouts.
// `dqbench verify --only layers.steps` has the other chains.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "curves.hpp"
#include "layers/layer/layer.hpp"
#include "oracle/layers.hpp"
#include "parallel/float_control.hpp"
#include "support/random.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::layers {
namespace {

using kind = post_op_kind;

std::uint32_t bits(float value) { // 0 and -0 differ
    return std::bit_cast<std::uint32_t>(value);
}

/// x_scale: of `scale`. tensor: the element that add_tensor adds.
float expected_of(std::int32_t sum, const std::vector<post_op> &steps, std::int64_t channel, float x_scale = 1,
        float tensor = 0) {
    return test::oracle::after(steps, static_cast<float>(sum), channel, x_scale, tensor);
}

std::vector<test::tested<const epilogue_loops *>> functions() {
    return test::runnable(epilogue_table);
}

class draws {
  public:
    std::vector<float> floats(std::int64_t count) {
        std::vector<float> values(static_cast<std::size_t>(count));
        std::ranges::generate(values, [&] { return random_.exponent_within(-7, 1); });
        return values;
    }
    std::vector<std::int32_t> integers(std::int64_t count) {
        std::vector<std::int32_t> values(static_cast<std::size_t>(count));
        std::ranges::generate(values, [&] {
            return static_cast<std::int32_t>(random_.chance(12) ? 0 : random_.within(-(1 << 28), 1 << 28));
        });
        return values;
    }
    bool coin() { return random_.chance(50); }

  private:
    test::random_source random_ {5};
};

/// Most kinds of steps. x is multiplied by a clipped sum, as in HardSwish, with and without a factor in the sum.
std::vector<post_op> drawn_steps(draws &draw, std::int64_t channels) {
    const auto some = [&] { return draw.floats(draw.coin() ? 1 : channels); };
    std::vector<post_op> steps = {
            {kind::multiply, {1e-8F}}, {kind::multiply, some()}, {kind::add, some()}, {kind::save}};
    if (draw.coin()) steps.push_back({kind::multiply, some()});
    if (draw.coin()) steps.push_back({kind::add_tensor});
    if (draw.coin()) steps.push_back({kind::add, some()});
    steps.push_back({kind::add, draw.coin() ? some() : std::vector {3.0F}});
    for (const auto &s : std::vector<post_op> {{kind::clip, {0}, {6}}, {kind::multiply_saved}, {kind::divide, {6}},
                 {kind::leaky_relu, some()}, {kind::clip, {-2}, {std::numeric_limits<float>::infinity()}}})
        steps.push_back(s);
    return steps;
}

/// A factor and what may follow it: a summand, a clip, or a clip in a product as in HardSwish, with and without
/// division; and a step that none of these has.
std::vector<post_op> drawn_chain(draws &draw, std::int64_t channels) {
    const auto some = [&] { return draw.floats(draw.coin() ? 1 : channels); };
    std::vector<post_op> steps = {{kind::multiply, {draw.coin() ? 1e-8F : -1e-8F}}};
    if (draw.coin()) steps.push_back({kind::add, some()});
    if (draw.coin()) steps.push_back({kind::add_tensor});
    if (draw.coin()) {
        steps.push_back({kind::save});
        if (draw.coin()) steps.push_back({kind::multiply, some()});
        steps.push_back({kind::add, draw.coin() ? some() : std::vector {3.0F}});
        if (draw.coin()) steps.push_back({kind::clip, {0}, {6}});
        steps.push_back({kind::multiply_saved});
        if (draw.coin()) steps.push_back({kind::divide, draw.coin() ? some() : std::vector {6.0F}});
    } else if (draw.coin()) {
        steps.push_back({kind::clip, {0}, {std::numeric_limits<float>::infinity()}});
    }
    if (draw.coin()) steps.push_back({kind::leaky_relu, some()});
    return steps;
}

/// A bias and Gelu, in which x is saved, with and without a factor.
std::vector<post_op> drawn_gelu(draws &draw, std::int64_t channels) {
    std::vector<post_op> steps = {{kind::multiply, {1e-9F}}, {kind::add, draw.floats(channels)}};
    if (draw.coin()) steps.push_back({kind::add_tensor});
    for (const auto &s : std::vector<post_op> {{kind::save}, {kind::divide, {1.41421354F}}, {kind::erf},
                 {kind::add, {1}}, {kind::multiply_saved, draw.coin() ? std::vector {0.5F} : std::vector<float> {}}})
        steps.push_back(s);
    return steps;
}

/// A value is saved, and taken more than once. With Tanh, or with a clip as in HardSwish.
std::vector<post_op> drawn_function_of_saved(draws &draw, std::int64_t channels) {
    std::vector<post_op> steps = {
            {kind::multiply, {1e-9F}}, {kind::add, draw.floats(channels)}, {kind::save}, {kind::multiply, {0.125F}}};
    if (draw.coin()) steps.insert(steps.end() - 1, {{kind::multiply_saved}, {kind::multiply_saved}});
    if (draw.coin()) steps.push_back({kind::add_saved});
    steps.push_back({kind::add, {0.5F}});
    steps.push_back(draw.coin() ? post_op {draw.coin() ? kind::tanh : kind::sigmoid} : post_op {kind::clip, {0}, {1}});
    steps.push_back({kind::multiply_saved});
    steps.push_back({draw.coin() ? kind::multiply_saved : kind::add_saved});
    return steps;
}

std::vector<post_op_view> views_of(const std::vector<post_op> &steps) {
    std::vector<post_op_view> views;
    for (const auto &s : steps)
        views.push_back({s.what, s.a, s.b, s.table});
    return views;
}

TEST(epilogue, are_the_operators_one_by_one) {
    draws draw;
    for (const std::int64_t channels : {1, 3, 7, 8, 9, 16, 24, 63, 64, 65, 130, 256, 300, 521})
        for (const std::int64_t positions : {1, 2, 7, 8, 15, 16, 17, 33}) {
            const auto steps = draw.coin() ? drawn_steps(draw, channels)
                    : draw.coin()          ? drawn_chain(draw, channels)
                    : draw.coin()          ? drawn_gelu(draw, channels)
                                           : drawn_function_of_saved(draw, channels);
            const auto views = views_of(steps);
            const auto sums = draw.integers(positions * channels), bias = draw.integers(channels);
            const auto tensor = draw.floats(positions * channels);
            for (const bool is_channels_last : {true, false})
                for (const bool has_bias : {true, false})
                    for (const auto &by : functions()) {
                        std::vector<float> y(sums.size());
                        const epilogue chain {views, result_type::f32, has_bias ? bias.data() : nullptr};
                        const rows_of_sums rows {sums.data(), false, channels, y.data(),
                                is_channels_last ? channels : 1, is_channels_last ? 1 : positions, tensor.data()};
                        {
                            const parallel::float_control control;
                            by.code->rows(chain, rows, {0, positions / 2}, {0, channels});
                            by.code->rows(chain, rows, {positions / 2, positions}, {0, channels / 3});
                            by.code->rows(chain, rows, {positions / 2, positions}, {channels / 3, channels});
                        }
                        for (std::int64_t p = 0; p < positions; ++p)
                            for (std::int64_t c = 0; c < channels; ++c) {
                                const auto sum = sums[static_cast<std::size_t>(p * channels + c)]
                                        + (has_bias ? bias[static_cast<std::size_t>(c)] : 0);
                                const auto at =
                                        static_cast<std::size_t>(p * rows.position_stride + c * rows.channel_stride);
                                ASSERT_EQ(bits(y[at]), bits(expected_of(sum, steps, c, 1, tensor[at])))
                                        << channels << " channels, position " << p;
                            }
                    }
        }
}

TEST(epilogue, of_planes) {
    draws draw;
    constexpr std::int64_t channels = 5, first = 2; // of the parameters
    for (const std::int64_t positions : {1, 7, 8, 63, 64, 65, 100, 128, 130, 256, 300, 521})
        for (int i = 0; i < 8; ++i) {
            const auto steps = i % 3 == 0 ? drawn_steps(draw, first + channels)
                    : i % 3 == 1          ? drawn_chain(draw, first + channels)
                                          : drawn_function_of_saved(draw, first + channels);
            const auto views = views_of(steps);
            const auto plane = positions + 3, y_plane = positions + 1; // y: a 77 behind each channel
            const auto sums = draw.integers(channels * plane), bias = draw.integers(first + channels);
            const std::vector<float> floats(sums.begin(), sums.end());
            const auto tensor = draw.floats(channels * y_plane);
            for (const auto *const what : {"sums", "sums with a bias", "floats"})
                for (const auto &by : functions()) {
                    const bool has_bias = what == std::string("sums with a bias"),
                               are_floats = what == std::string("floats");
                    const auto from = [&](std::int64_t at) {
                        return are_floats ? static_cast<const void *>(floats.data() + at) : sums.data() + at;
                    };
                    std::vector<float> y(static_cast<std::size_t>(channels * y_plane), 77);
                    {
                        const parallel::float_control control;
                        const epilogue chain {views, result_type::f32, has_bias ? bias.data() : nullptr};
                        by.code->planes(chain,
                                {from(0), are_floats, plane, first, 2, positions, y.data(), y_plane, tensor.data()});
                        by.code->planes(chain,
                                {from(2 * plane), are_floats, plane, first + 2, channels - 2, positions,
                                        y.data() + 2 * y_plane, y_plane, tensor.data() + 2 * y_plane});
                    }
                    for (std::int64_t c = 0; c < channels; ++c) {
                        ASSERT_EQ(y[static_cast<std::size_t>(c * y_plane + positions)], 77);
                        for (std::int64_t p = 0; p < positions; ++p) {
                            const auto sum = sums[static_cast<std::size_t>(c * plane + p)]
                                    + (has_bias ? bias[static_cast<std::size_t>(first + c)] : 0);
                            const auto at = static_cast<std::size_t>(c * y_plane + p);
                            ASSERT_EQ(bits(y[at]), bits(expected_of(sum, steps, first + c, 1, tensor[at])))
                                    << by.name << ", " << positions << " positions, position " << p;
                        }
                    }
                }
        }
}

/// row_stride 1: each position has its own; 0: all have the first.
TEST(epilogue, scale_and_subtract_by_position) {
    draws draw;
    for (const std::int64_t channels : {1, 7, 8, 24, 65, 130, 300, 521})
        for (const std::int64_t positions : {1, 7, 16, 33}) {
            const std::vector<post_op> steps = {
                    {kind::scale, draw.floats(draw.coin() ? 1 : channels)}, {kind::add, {0.5F}}};
            const std::vector<post_op_view> views {{kind::scale, steps[0].a}, {kind::add, steps[1].a}};
            const auto sums = draw.integers(positions * channels), bias = draw.integers(channels);
            auto zero_points = draw.integers(positions), weight_sums = draw.integers(channels);
            for (auto &value : zero_points)
                value &= 255;
            const auto scales = draw.floats(positions);
            for (const std::int64_t stride : {0, 1})
                for (const auto layout : {"channels last", "channels first", "planes"})
                    for (const auto &by : functions()) {
                        std::vector<float> y(sums.size());
                        const bool is_last = layout == std::string("channels last");
                        const rows_of_sums rows {sums.data(), false, channels, y.data(), is_last ? channels : 1,
                                is_last ? 1 : positions};
                        const bool is_planes = layout == std::string("planes");
                        if (is_planes && stride == 1) continue;
                        const epilogue chain {views, result_type::f32, bias.data(), scales.data(), zero_points.data(),
                                weight_sums.data(), stride};
                        {
                            const parallel::float_control control;
                            if (is_planes)
                                by.code->planes(chain,
                                        {sums.data(), false, positions, 0, channels, positions, y.data(), positions});
                            else
                                by.code->rows(chain, rows, {0, positions}, {0, channels});
                        }
                        for (std::int64_t i = 0; i < positions * channels; ++i) {
                            const auto p = i / channels, c = i % channels;
                            const auto row = static_cast<std::size_t>(p * stride), at = static_cast<std::size_t>(c);
                            const auto sum =
                                    std::int64_t {sums[static_cast<std::size_t>(is_planes ? c * positions + p : i)]}
                                    + bias[at] - std::int64_t {zero_points[row]} * weight_sums[at];
                            const auto given = p * rows.position_stride + c * rows.channel_stride;
                            ASSERT_EQ(y[static_cast<std::size_t>(given)],
                                    expected_of(static_cast<std::int32_t>(sum), steps, c, scales[row]))
                                    << by.name << ", " << layout << ", " << channels << " channels, position " << p;
                        }
                    }
        }
}

TEST(epilogue, looks_up_every_float16) {
    constexpr std::int64_t channels = 65536;
    std::vector<std::uint8_t> table;
    std::vector<float> exact, between;
    for (std::uint32_t bits = 0; bits < channels; ++bits) {
        const bool is_nan = (bits & 0x7fff) > 0x7c00; // any NaN has one result
        table.push_back(static_cast<std::uint8_t>(is_nan ? 200 : (bits * 40503U) >> 8));
        exact.push_back(test::real_from(data_type::f16, bits));
        between.push_back(exact.back() * 1.0003F);
    }
    const std::vector<std::int32_t> sums(2 * channels, 1);
    for (const bool is_exact : {true, false}) {
        const auto &factors = is_exact ? exact : between;
        std::vector<std::uint8_t> expected;
        for (std::size_t c = 0; c < channels; ++c) {
            const auto bits = test::bits_of_real(data_type::f16, factors[c]);
            if (is_exact && !std::isnan(exact[c])) {
                ASSERT_EQ(bits, c);
            }
            expected.push_back(table[bits]);
        }
        const std::vector<post_op_view> steps = {{kind::multiply, factors}, {kind::look_up, {}, {}, table}};
        for (const bool is_channels_last : {true, false})
            for (const auto &by : functions()) {
                std::vector<std::uint8_t> y(sums.size());
                by.code->rows({steps, result_type::bytes},
                        {sums.data(), false, channels, y.data(), is_channels_last ? channels : 1,
                                is_channels_last ? 1 : 2},
                        {0, 2}, {0, channels});
                for (std::size_t i = 0; i < y.size(); ++i)
                    ASSERT_EQ(y[i], expected[is_channels_last ? i % channels : i / 2]) << i;
            }
    }
}

TEST(epilogue, nan_stays) {
    const std::vector<float> nan {std::numeric_limits<float>::quiet_NaN()}, zero {0}, six {6};
    const std::vector<std::vector<post_op_view>> chains = {{{kind::multiply, nan}, {kind::clip, zero, six}},
            {{kind::save}, {kind::multiply, nan}, {kind::add, six}, {kind::clip, zero, six}, {kind::multiply_saved}},
            {{kind::save}, {kind::add, nan}, {kind::clip, zero, six}, {kind::multiply_saved}}};
    const std::vector<std::int32_t> sums(70, 3);
    for (const auto &steps : chains)
        for (const auto &by : functions()) {
            std::vector<float> y(sums.size());
            by.code->rows({steps}, {sums.data(), false, 70, y.data(), 70, 1}, {0, 1}, {0, 70});
            for (const auto value : y)
                EXPECT_TRUE(std::isnan(value));
        }
}

// Next to f64. curves_all.cpp takes all floats.
TEST(epilogue, curves_are_within_their_bounds) {
    constexpr std::uint32_t stride = 257, most = 0x7f800000;
    for (const auto &of : curves) {
        EXPECT_GT(error_of(curve_of(of.what, {of.worst}, *functions().front().code)[0], of.right(of.worst)),
                of.bound - 2e-4);
        for (const std::uint32_t sign : {0U, 0x80000000U}) {
            double worst = 0;
            float before = 0;
            std::vector<float> x;
            for (std::uint32_t i = 0; i <= most; i += std::min(stride, most - i + 1)) {
                x.push_back(std::bit_cast<float>(i | sign));
                if (x.size() < 65536 && i + stride <= most) continue;
                const auto y = curve_of(of.what, x, *functions().front().code);
                for (std::size_t j = 0; j < x.size(); ++j)
                    worst = std::max(worst, error_of(y[j], of.right(static_cast<double>(x[j]))));
                if (of.what != kind::erf) { // no step goes back, from one float to any larger one
                    EXPECT_TRUE(sign == 0 ? std::ranges::is_sorted(y) : std::ranges::is_sorted(y, std::greater()));
                    if (i >= 65536 * stride) {
                        EXPECT_TRUE(sign == 0 ? before <= y.front() : before >= y.front());
                    }
                    before = y.back();
                }
                x.clear();
            }
            EXPECT_LT(worst, of.bound);
        }
    }
}

TEST(epilogue, curves_have_the_same_bits_on_every_instruction_set) {
    std::vector<float> x;
    for (std::uint32_t i = 0; i < 0x7f800000; i += 30011)
        for (const std::uint32_t sign : {0U, 0x80000000U})
            x.push_back(std::bit_cast<float>(i | sign));
    for (const auto &of : curves)
        for (const auto &by : functions()) {
            const auto y = curve_of(of.what, x, *by.code);
            for (std::size_t i = 0; i < x.size(); ++i)
                ASSERT_EQ(bits(y[i]), bits(test::oracle::after(std::vector<post_op> {{of.what}}, x[i], 0, 1)))
                        << by.name << ", " << x[i];
        }
}

TEST(epilogue, erf_of_limits) {
    const auto infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x {0.0F, -0.0F, infinity, -infinity, 4, -4, 80000 * 0x1p-149F, 0.921875F};
    for (const auto &by : functions()) {
        const auto y = curve_of(kind::erf, x, *by.code);
        for (std::size_t i = 0; i < 6; ++i)
            EXPECT_EQ(bits(y[i]), bits(i < 2 ? x[i] : std::copysign(1.0F, x[i]))) << i;
        EXPECT_EQ(y[6], 90270 * 0x1p-149F);      // 2 / sqrt(pi) times as large, 90270.3
        EXPECT_NEAR(y[7], 0.8076737F, 0x1p-23F); // where the branches meet
        EXPECT_TRUE(std::isnan(curve_of(kind::erf, {std::numeric_limits<float>::quiet_NaN()}, *by.code)[0]));
    }
}

TEST(epilogue, tanh_of_limits) {
    const auto infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
    for (const auto &by : functions()) {
        // Less than 9.0109 has a result below 1 - 2^-25, the others round to 1.
        const std::vector<float> x {0.0F, -0.0F, 80000 * 0x1p-149F, -1e-30F, 9.02F, 10, 11, most, infinity};
        const auto y = curve_of(kind::tanh, x, *by.code);
        for (std::size_t i = 0; i < x.size(); ++i)
            EXPECT_EQ(bits(y[i]), bits(i < 4 ? x[i] : 1.0F)) << x[i];
        EXPECT_EQ(curve_of(kind::tanh, {-infinity}, *by.code)[0], -1);
        EXPECT_LT(curve_of(kind::tanh, {9}, *by.code)[0], 1);
        EXPECT_NEAR(curve_of(kind::tanh, {0.625F}, *by.code)[0], 0.5545997F, 0x1p-24F); // where the branches meet
        EXPECT_TRUE(std::isnan(curve_of(kind::tanh, {std::numeric_limits<float>::quiet_NaN()}, *by.code)[0]));
    }
}

// exp(-103.9) is 0.5374 * 2^-149, and exp(-104) less than half of 2^-149.
TEST(epilogue, sigmoid_of_limits) {
    const auto infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
    for (const auto &by : functions()) {
        const std::vector<float> x {0.0F, -0.0F, 1e-30F, -80000 * 0x1p-149F, 17.4F, 104, most, infinity, -104, -105,
                -most, -infinity, -103.9F};
        const std::vector<float> expected {0.5F, 0.5F, 0.5F, 0.5F, 1, 1, 1, 1, 0, 0, 0, 0, 0x1p-149F};
        const auto y = curve_of(kind::sigmoid, x, *by.code);
        for (std::size_t i = 0; i < x.size(); ++i)
            EXPECT_EQ(bits(y[i]), bits(expected[i])) << x[i];
        const double subnormal = curve_of(kind::sigmoid, {-87.5F}, *by.code)[0];
        EXPECT_NEAR(subnormal * 0x1p149, std::exp(-87.5) * 0x1p149, 1);
        EXPECT_LT(curve_of(kind::sigmoid, {16}, *by.code)[0], 1);
        EXPECT_TRUE(std::isnan(curve_of(kind::sigmoid, {std::numeric_limits<float>::quiet_NaN()}, *by.code)[0]));
    }
}

TEST(epilogue, a_bias_wraps) {
    const std::vector<std::int32_t> sums {std::numeric_limits<std::int32_t>::max()}, bias {1};
    for (const auto &by : functions()) {
        float y = 0;
        by.code->rows({{}, result_type::f32, bias.data()}, {sums.data(), false, 1, &y, 1, 1}, {0, 1}, {0, 1});
        EXPECT_EQ(y, -2147483648.0F);
    }
}

TEST(epilogue, quantized_to_bytes) {
    // Steps of 1/4 from -40 to 220 by the channel, quantized by scale 0.5 and zero point 3.
    const std::int64_t positions = 21, channels = 50;
    const std::vector<float> quarter {0.25F}, half {0.5F}, three {3}, lowest {-128}, highest {127}, zero {0},
            most {255};
    std::vector<std::int32_t> sums;
    for (std::int32_t i = 0; i < positions * channels; ++i)
        sums.push_back(i - 160);
    for (const bool is_signed : {false, true}) {
        const std::vector<post_op_view> steps = {{kind::multiply, quarter}, {kind::divide, half}, {kind::round},
                {kind::add, three}, {kind::saturate, is_signed ? lowest : zero, is_signed ? highest : most}};
        for (const bool is_channels_last : {true, false})
            for (const auto &by : functions()) {
                std::vector<std::uint8_t> y(sums.size() + 1, 77);
                by.code->rows({steps, result_type::bytes},
                        {sums.data(), false, channels, y.data(), is_channels_last ? channels : 1,
                                is_channels_last ? 1 : positions},
                        {0, positions}, {0, channels});
                EXPECT_EQ(y.back(), 77);
                for (std::int64_t p = 0; p < positions; ++p)
                    for (std::int64_t c = 0; c < channels; ++c) {
                        const auto doubled = sums[static_cast<std::size_t>(p * channels + c)]; // twice the quotient
                        const auto floor = doubled >= 0 ? doubled / 2 : (doubled - 1) / 2;
                        const auto rounded =
                                doubled % 2 == 0 ? floor : floor + (floor % 2 != 0 ? 1 : 0); // ties to even
                        const auto expected = std::clamp(rounded + 3, is_signed ? -128 : 0, is_signed ? 127 : 255);
                        const auto at = is_channels_last ? p * channels + c : c * positions + p;
                        ASSERT_EQ(y[static_cast<std::size_t>(at)], static_cast<std::uint8_t>(expected)) << doubled;
                    }
            }
    }
}

TEST(epilogue, nan_saturates_to_the_lowest) {
    const std::vector<float> nan {std::numeric_limits<float>::quiet_NaN()}, lowest {-128}, highest {127};
    const std::vector<post_op_view> steps = {{kind::multiply, nan}, {kind::round}, {kind::saturate, lowest, highest}};
    const std::vector<std::int32_t> sums(40, 3);
    for (const auto &by : functions()) {
        std::vector<std::int8_t> y(sums.size());
        by.code->rows({steps, result_type::bytes}, {sums.data(), false, 40, y.data(), 40, 1}, {0, 1}, {0, 40});
        EXPECT_EQ(y, std::vector<std::int8_t>(sums.size(), -128));
    }
}

TEST(epilogue, sums_that_stay_integers) {
    const std::int64_t positions = 19, channels = 21;
    std::vector<std::int32_t> sums, bias;
    for (std::int32_t i = 0; i < positions * channels; ++i)
        sums.push_back(static_cast<std::int32_t>(
                static_cast<std::uint32_t>(i) * 123456789U)); // among them the bits of NaN and of subnormal numbers
    for (std::int32_t c = 0; c < channels; ++c)
        bias.push_back(c);
    for (const auto &by : functions()) {
        std::vector<float> y(sums.size());
        by.code->rows({{}, result_type::s32, bias.data()}, {sums.data(), false, channels, y.data(), 1, positions},
                {0, positions}, {0, channels});
        std::vector<std::int32_t> bits(y.size());
        std::memcpy(bits.data(), y.data(), y.size() * sizeof(float));
        for (std::int64_t p = 0; p < positions; ++p)
            for (std::int64_t c = 0; c < channels; ++c)
                EXPECT_EQ(bits[static_cast<std::size_t>(c * positions + p)],
                        sums[static_cast<std::size_t>(p * channels + c)] + bias[static_cast<std::size_t>(c)]);
    }
}

} // namespace
} // namespace dynquant::layers
