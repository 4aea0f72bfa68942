// The steps of a layer have the bits of ONNX's operators one by one, on every instruction set and in both layouts.
// `dqbench verify --only layers.steps` has the other chains, among them those that end in bytes, and NaN.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "layers/layer.hpp"
#include "oracle/layers.hpp"
#include "parallel/float_control.hpp"
#include "support/random.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::layers {
namespace {

using kind = float_step::kind;

std::uint32_t bits(float value) { // 0 and -0 differ
    return std::bit_cast<std::uint32_t>(value);
}

/// x_scale: of `scale`.
float expected_of(std::int32_t sum, const std::vector<step> &steps, std::int64_t channel, float x_scale = 1) {
    return test::oracle::after(steps, static_cast<float>(sum), channel, x_scale);
}

std::vector<test::tested<float_steps_function>> functions() {
    return test::runnable_functions(float_steps_table);
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
std::vector<step> drawn_steps(draws &draw, std::int64_t channels) {
    const auto some = [&] { return draw.floats(draw.coin() ? 1 : channels); };
    std::vector<step> steps = {{kind::multiply, {1e-8F}}, {kind::multiply, some()}, {kind::add, some()}, {kind::save}};
    if (draw.coin()) steps.push_back({kind::multiply, some()});
    if (draw.coin()) steps.push_back({kind::add, some()});
    steps.push_back({kind::add, draw.coin() ? some() : std::vector {3.0F}});
    for (const auto &s : std::vector<step> {{kind::clip, {0}, {6}}, {kind::multiply_saved}, {kind::divide, {6}},
                 {kind::leaky_relu, some()}, {kind::clip, {-2}, {std::numeric_limits<float>::infinity()}}})
        steps.push_back(s);
    return steps;
}

/// A factor and what may follow it: a summand, a clip, or a clip in a product as in HardSwish, with and without
/// division; and a step that none of these has.
std::vector<step> drawn_chain(draws &draw, std::int64_t channels) {
    const auto some = [&] { return draw.floats(draw.coin() ? 1 : channels); };
    std::vector<step> steps = {{kind::multiply, {draw.coin() ? 1e-8F : -1e-8F}}};
    if (draw.coin()) steps.push_back({kind::add, some()});
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

std::vector<float_step> views_of(const std::vector<step> &steps) {
    std::vector<float_step> views;
    for (const auto &s : steps)
        views.push_back({s.what, s.a, s.b, s.table});
    return views;
}

TEST(float_steps, are_the_operators_one_by_one) {
    draws draw;
    for (const std::int64_t channels : {1, 3, 7, 8, 9, 16, 24, 63, 64, 65, 130, 256, 300, 521})
        for (const std::int64_t positions : {1, 2, 7, 8, 15, 16, 17, 33}) {
            const auto steps = draw.coin() ? drawn_steps(draw, channels) : drawn_chain(draw, channels);
            const auto views = views_of(steps);
            const auto sums = draw.integers(positions * channels), bias = draw.integers(channels);
            for (const bool is_channels_last : {true, false})
                for (const bool has_bias : {true, false})
                    for (const auto &by : functions()) {
                        std::vector<float> y(sums.size());
                        float_steps_call call {sums.data(), channels, has_bias ? bias.data() : nullptr, views, y.data(),
                                is_channels_last ? channels : 1, is_channels_last ? 1 : positions};
                        {
                            const parallel::float_control control;
                            by.code(call, 0, positions / 2);
                            by.code(call, positions / 2, positions);
                        }
                        for (std::int64_t p = 0; p < positions; ++p)
                            for (std::int64_t c = 0; c < channels; ++c) {
                                const auto sum = sums[static_cast<std::size_t>(p * channels + c)]
                                        + (has_bias ? bias[static_cast<std::size_t>(c)] : 0);
                                const auto given =
                                        y[static_cast<std::size_t>(p * call.position_stride + c * call.channel_stride)];
                                ASSERT_EQ(bits(given), bits(expected_of(sum, steps, c)))
                                        << channels << " channels, position " << p;
                            }
                    }
        }
}

TEST(float_steps, of_planes) {
    draws draw;
    constexpr std::int64_t channels = 5, first = 2; // of the parameters
    for (const std::int64_t positions : {1, 7, 8, 63, 64, 65, 100, 128, 130, 256, 300, 521})
        for (int i = 0; i < 8; ++i) {
            const auto steps = i % 2 == 0 ? drawn_steps(draw, first + channels) : drawn_chain(draw, first + channels);
            const auto views = views_of(steps);
            const auto plane = positions + 3, y_plane = positions + 1; // y: a 77 behind each channel
            const auto sums = draw.integers(channels * plane), bias = draw.integers(first + channels);
            for (const bool has_bias : {true, false})
                for (const auto &by : functions()) {
                    std::vector<float> y(static_cast<std::size_t>(channels * y_plane), 77);
                    {
                        const parallel::float_control control;
                        const float_steps_call call {sums.data(), positions, has_bias ? bias.data() : nullptr, views,
                                y.data(), 1, y_plane, step_result::f32, plane, first};
                        by.code(call, 0, 2);
                        by.code(call, 2, channels);
                    }
                    for (std::int64_t c = 0; c < channels; ++c) {
                        ASSERT_EQ(y[static_cast<std::size_t>(c * y_plane + positions)], 77);
                        for (std::int64_t p = 0; p < positions; ++p) {
                            const auto sum = sums[static_cast<std::size_t>(c * plane + p)]
                                    + (has_bias ? bias[static_cast<std::size_t>(first + c)] : 0);
                            ASSERT_EQ(bits(y[static_cast<std::size_t>(c * y_plane + p)]),
                                    bits(expected_of(sum, steps, first + c)))
                                    << by.name << ", " << positions << " positions, position " << p;
                        }
                    }
                }
        }
}

/// row_stride 1: each position has its own; 0: all have the first.
TEST(float_steps, scale_and_subtract_by_position) {
    draws draw;
    for (const std::int64_t channels : {1, 7, 8, 24, 65, 130, 300, 521})
        for (const std::int64_t positions : {1, 7, 16, 33}) {
            const std::vector<step> steps = {
                    {kind::scale, draw.floats(draw.coin() ? 1 : channels)}, {kind::add, {0.5F}}};
            const std::vector<float_step> views {{kind::scale, steps[0].a}, {kind::add, steps[1].a}};
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
                        float_steps_call call {sums.data(), channels, bias.data(), views, y.data(),
                                is_last ? channels : 1, is_last ? 1 : positions};
                        const bool is_planes = layout == std::string("planes");
                        if (is_planes && stride == 1) continue;
                        if (is_planes) {
                            call.channels = positions;
                            call.plane = positions;
                        }
                        call.x_scales = scales.data();
                        call.x_zero_points = zero_points.data();
                        call.weight_sums = weight_sums.data();
                        call.row_stride = stride;
                        {
                            const parallel::float_control control;
                            by.code(call, 0, is_planes ? channels : positions);
                        }
                        for (std::int64_t i = 0; i < positions * channels; ++i) {
                            const auto p = i / channels, c = i % channels;
                            const auto row = static_cast<std::size_t>(p * stride), at = static_cast<std::size_t>(c);
                            const auto sum =
                                    std::int64_t {sums[static_cast<std::size_t>(is_planes ? c * positions + p : i)]}
                                    + bias[at] - std::int64_t {zero_points[row]} * weight_sums[at];
                            const auto given = p * call.position_stride + c * call.channel_stride;
                            ASSERT_EQ(y[static_cast<std::size_t>(given)],
                                    expected_of(static_cast<std::int32_t>(sum), steps, c, scales[row]))
                                    << by.name << ", " << layout << ", " << channels << " channels, position " << p;
                        }
                    }
        }
}

TEST(float_steps, looks_up_every_float16) {
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
        const std::vector<float_step> steps = {{kind::multiply, factors}, {kind::look_up, {}, {}, table}};
        for (const bool is_channels_last : {true, false})
            for (const auto &by : functions()) {
                std::vector<std::uint8_t> y(sums.size());
                by.code({sums.data(), channels, nullptr, steps, y.data(), is_channels_last ? channels : 1,
                                is_channels_last ? 1 : 2, step_result::bytes},
                        0, 2);
                for (std::size_t i = 0; i < y.size(); ++i)
                    ASSERT_EQ(y[i], expected[is_channels_last ? i % channels : i / 2]) << i;
            }
    }
}

TEST(float_steps, sums_that_stay_integers) {
    const std::int64_t positions = 19, channels = 21;
    std::vector<std::int32_t> sums, bias;
    for (std::int32_t i = 0; i < positions * channels; ++i)
        sums.push_back(static_cast<std::int32_t>(
                static_cast<std::uint32_t>(i) * 123456789U)); // among them the bits of NaN and of subnormal numbers
    for (std::int32_t c = 0; c < channels; ++c)
        bias.push_back(c);
    for (const auto &by : functions()) {
        std::vector<float> y(sums.size());
        by.code({sums.data(), channels, bias.data(), {}, y.data(), 1, positions, step_result::s32}, 0, positions);
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
