// DynamicQuantizeLinear gives the scale, zero point and y of its function body bit for bit, on every kernel and
// instruction set and for any number of threads.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <thread>

#include "oracle/statements.hpp"
#include "support/environment.hpp"
#include "support/onnx.hpp"
#include "support/random.hpp"
#include "support/variants.hpp"

namespace dynquant::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct outputs {
    float scale = 77;
    std::uint8_t zero_point = 77;
    std::vector<std::uint8_t> y;
};

testing::AssertionResult same(const outputs &given, const outputs &expected) {
    const bool same_scale = std::isnan(expected.scale)
            ? std::isnan(given.scale)
            : std::bit_cast<std::uint32_t>(given.scale) == std::bit_cast<std::uint32_t>(expected.scale);
    if (same_scale && given.zero_point == expected.zero_point && given.y == expected.y)
        return testing::AssertionSuccess();
    auto result = testing::AssertionFailure();
    result << "scale " << given.scale << ", zero point " << int(given.zero_point) << ", y";
    for (const auto y : given.y)
        result << ' ' << int(y);
    return result;
}

/// The function body in exact arithmetic. Quotients of values by the scale must be moderate.
outputs by_oracle(const std::vector<float> &x) {
    float low = 0, high = 0;
    for (const auto value : x) {
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    outputs result;
    result.scale = oracle::divide(oracle::add(high, -low), 255);
    const auto rounded = [](float a, float b) { return oracle::quantize(a, b, 0, -100'000, 100'000); };
    result.zero_point = static_cast<std::uint8_t>(std::clamp<std::int64_t>(-rounded(low, result.scale), 0, 255));
    for (const auto value : x)
        result.y.push_back(static_cast<std::uint8_t>(
                std::clamp<std::int64_t>(rounded(value, result.scale) + result.zero_point, 0, 255)));
    return result;
}

class onnx_dynamic_quantize_linear : public testing::TestWithParam<variant> {
  protected:
    outputs run(const std::vector<float> &x, int threads = 0) const {
        auto options = GetParam().forced();
        options.threads = threads;
        const auto op = onnx::prepare(
                make_node("DynamicQuantizeLinear", 11, {{tensor_proto::float32, {std::int64_t(x.size())}}}), options);
        outputs result;
        result.y.resize(x.size());
        onnx::arguments args;
        args.x = x.data();
        args.y = result.y.data();
        args.y_scale = &result.scale;
        args.y_zero_point = &result.zero_point;
        op.run(args);
        return result;
    }
};

TEST_P(onnx_dynamic_quantize_linear, by_hand) {
    constexpr float of_4 = 4.0F / 255.0F; // rounded up
    constexpr float least = 0x1p-149F;
    const std::pair<std::vector<float>, outputs> cases[] = {
            // 1 / of_4 is next to 63.75, 3 / of_4 to 191.25.
            {{0, 3, -1, 1}, {of_4, 64, {64, 255, 0, 128}}},
            // 0 is in the range. 2 / of_4 is below the tie of 127.5.
            {{1, 2, 4}, {of_4, 0, {64, 127, 255}}},
            {{-1, -2, -4}, {of_4, 255, {191, 128, 0}}},
            // Zeros have the scale of ONNX Runtime.
            {{0, -0.0F, 0}, {1, 0, {0, 0, 0}}},
            {{-0.0F}, {1, 0, {0}}},
            {{}, {1, 0, {}}},
            // A range may be too small for a scale: 127 / 255 of the least float rounds to 0, 128 / 255 to the least
            // float. x / 0 is infinite, or NaN: the lowest code. 0 / 0 of the zero point is the highest code.
            {{127 * least, 0}, {0, 255, {255, 0}}},
            {{-127 * least, 0}, {0, 255, {0, 0}}},
            {{-least, least, 0}, {0, 255, {0, 255, 0}}},
            {{128 * least, least}, {least, 0, {128, 1}}},
            {{-128 * least, least}, {least, 128, {0, 129}}},
            // The scale is infinite: finite values divided by it are 0, infinite ones NaN, which is the lowest value.
            {{3e38F, -3e38F, 1}, {infinity, 0, {0, 0, 0}}},
            {{infinity, 1}, {infinity, 0, {0, 0}}},
            {{-infinity, 1}, {infinity, 255, {0, 255}}}, // -infinity / infinity of the zero point is NaN
            {{1, not_a_number, -1}, {not_a_number, 255, {0, 0, 0}}},
    };
    for (const auto &[x, expected] : cases)
        EXPECT_TRUE(same(run(x), expected)) << "of " << testing::PrintToString(x);
}

TEST_P(onnx_dynamic_quantize_linear, is_the_same_for_every_number_of_threads) {
    std::vector<float> x(200'003);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(i * 7919 % 100'003) * 0.37F - 11'111;
    const auto expected = by_oracle(x);
    for (const int threads : {1, 2, 5, 0})
        EXPECT_TRUE(same(run(x, threads), expected)) << threads << " threads";
}

TEST_P(onnx_dynamic_quantize_linear, runs_on_many_threads_at_once) {
    constexpr std::size_t size = 5000, callers = 4;
    std::vector<std::vector<float>> x(callers, std::vector<float>(size));
    for (std::size_t i = 0; i < callers * size; ++i)
        x[i / size][i % size] = static_cast<float>(i * 7919 % 10'007) - 1000 * static_cast<float>(i / size);
    const auto op = onnx::prepare(
            make_node("DynamicQuantizeLinear", 11, {{tensor_proto::float32, {size}}}), GetParam().forced());
    std::vector<outputs> given(callers);
    std::vector<std::thread> running;
    for (std::size_t i = 0; i < callers; ++i)
        running.emplace_back([&, i] {
            given[i].y.resize(size);
            op.run({x[i].data(), nullptr, nullptr, given[i].y.data(), &given[i].scale, &given[i].zero_point});
        });
    for (auto &caller : running)
        caller.join();
    for (std::size_t i = 0; i < callers; ++i)
        EXPECT_TRUE(same(given[i], by_oracle(x[i]))) << "caller " << i;
}

#if DYNQUANT_TEST_CONTROL_WORD
TEST_P(onnx_dynamic_quantize_linear, is_the_same_under_every_control_word) {
    const std::vector<float> x = {0x1p-127F, -0x1p-140F, 0x1.8p-126F, 0};
    const auto expected = by_oracle(x);
    const scoped_control_word flushing(control::power_on | control::daz | control::ftz | control::up);
    const auto given = run(x);
    EXPECT_TRUE(same(given, expected));
}
#endif

TEST_P(onnx_dynamic_quantize_linear, equals_the_function_body_in_exact_arithmetic) {
    random_source random(1);
    for (int i = 0; i < 100; ++i) {
        const float width = std::abs(random.exponent_within(i % 20 * 8 - 80, i % 20 * 8 - 80));
        const auto offset = random.within(0, 1 << 24);
        std::vector<float> x(i % 5 == 0 ? 1003 : static_cast<std::size_t>(random.within(1, 100)));
        for (auto &value : x)
            value = static_cast<float>(random.within(0, 1 << 24) - offset) * 0x1p-24F * width;
        EXPECT_TRUE(same(run(x), by_oracle(x))) << i;
    }
}

TEST_P(onnx_dynamic_quantize_linear, needs_its_buffers) {
    const auto op =
            onnx::prepare(make_node("DynamicQuantizeLinear", 11, {{tensor_proto::float32, {1}}}), GetParam().forced());
    const float x = 1;
    float scale = 77;
    std::uint8_t y = 77, zero_point = 77;
    EXPECT_THROW(op.run({nullptr, nullptr, nullptr, &y, &scale, &zero_point}), error);
    EXPECT_THROW(op.run({&x, nullptr, nullptr, nullptr, &scale, &zero_point}), error);
    EXPECT_THROW(op.run({&x, nullptr, nullptr, &y, nullptr, &zero_point}), error);
    EXPECT_THROW(op.run({&x, nullptr, nullptr, &y, &scale, nullptr}), error);
    EXPECT_EQ(y, 77);
    EXPECT_EQ(zero_point, 77);
    EXPECT_EQ(scale, 77);
}

INSTANTIATE_TEST_SUITE_P(every_kernel, onnx_dynamic_quantize_linear, testing::ValuesIn(universal_variants()),
        [](const auto &tested) { return tested.param.name(); });

} // namespace
} // namespace dynquant::test
