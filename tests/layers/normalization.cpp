// LayerNormalization and RMSNormalization of a layer's rows: by hand, within their bound, and with the same bits on
// every instruction set. `dqbench verify --only layers.steps` has layers that end in them.
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "layers/layer/layer.hpp"
#include "layers/layer/weight_only_layer.hpp"
#include "oracle/layers.hpp"
#include "parallel/float_control.hpp"
#include "quantization/environment.hpp"
#include "support/random.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::layers {
namespace {

using row = std::vector<float>;

/// Normalizes rows by each instruction set, which must agree, beside their place and in place.
row normalized(const normalization &by, const row &x, std::int64_t columns) {
    std::optional<row> result;
    const auto rows = std::ssize(x) / columns;
    const parallel::float_control control;
    for (const auto &set : test::runnable(epilogue_table)) {
        row y(x.size() + 1, -7), in_place = x;
        set.code->normalize(by.view(), x.data(), y.data(), rows, columns);
        set.code->normalize(by.view(), in_place.data(), in_place.data(), rows, columns);
        EXPECT_EQ(y.back(), -7);
        y.pop_back();
        if (!result) result = y;
        for (std::size_t i = 0; i < y.size(); ++i)
            for (const auto value : {y[i], in_place[i]})
                EXPECT_TRUE(std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>((*result)[i])
                        || (std::isnan(value) && std::isnan((*result)[i])))
                        << set.name << ", element " << i << ": " << value << ", " << (*result)[i];
    }
    return result.value();
}

normalization of(bool has_mean, float epsilon, row scale, row bias = {}) {
    return {has_mean, epsilon, std::move(scale), std::move(bias)};
}

TEST(normalization, by_hand) {
    // The mean is 3, the variance 4, its root with epsilon 4.
    EXPECT_EQ(normalized(of(true, 12, {4, 8, 2, 0}, {1, 2, 3, 4}), {1, 5, 1, 5}, 4), (row {-1, 6, 2, 4}));
    EXPECT_EQ(normalized(of(true, 12, {4, 8, 2, 12}), {1, 5, 1, 5}, 4), (row {-2, 4, -1, 6}));
    // The means of the squares are 25 and 9, and in the second case 25 and 25, whose roots with epsilon are 8.
    EXPECT_EQ(normalized(of(false, 0, {5, 10}, {}), {1, 7, 3, -3}, 2), (row {1, 14, 5, -10}));
    EXPECT_EQ(normalized(of(false, 39, {8, 16}, {1, 1}), {1, 7, -7, 1}, 2), (row {2, 15, -6, 3}));
    // One column is its own mean.
    EXPECT_EQ(normalized(of(true, 1, {9}, {4}), {123}, 1), (row {4}));
}

TEST(normalization, a_mean_that_is_no_float_costs_nothing) {
    const float x = 0x1p24F; // the mean is x + 1
    EXPECT_EQ(normalized(of(true, 0, {1, 1}), {x, x + 2}, 2), (row {-1, 1}));
    EXPECT_EQ(normalized(of(true, 1, {1, 1, 1}, {4, 5, 6}), {x + 2, x + 2, x + 2}, 3), (row {4, 5, 6}));
}

TEST(normalization, no_sum_overflows) {
    const float x = 0x1.8p119F;
    EXPECT_EQ(normalized(of(true, 0, {1, 1, 1, 1}), {x, -x, x, -x}, 4), (row {1, -1, 1, -1}));
}

/// A row with NaN or an infinity is NaN, and others stay.
TEST(normalization, keeps_rows_apart) {
    constexpr auto infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const auto special : {infinity, -infinity, nan}) {
        const auto y = normalized(of(true, 12, {4, 4, 4, 4}), {1, 5, 1, 5, 1, special, 1, 5, 5, 1, 5, 1}, 4);
        for (std::size_t i = 0; i < 4; ++i) {
            EXPECT_EQ(y[i], i % 2 == 0 ? -2 : 2);
            EXPECT_TRUE(std::isnan(y[4 + i]));
            EXPECT_EQ(y[8 + i], i % 2 == 0 ? 2 : -2);
        }
    }
}

/// The largest share of the bound that normalize.hpp states, of a row's errors beside long double.
double share_of_bound(const normalization &by, const row &x, const row &y) {
    const auto count = static_cast<long double>(x.size());
    long double mean = 0, variance = 0, largest = 0;
    for (const auto v : x) {
        mean += static_cast<long double>(v) / count;
        largest = std::max(largest, std::abs(static_cast<long double>(v)));
    }
    if (!by.has_mean) mean = 0;
    for (const auto v : x)
        variance += (v - mean) * (v - mean) / count;
    const auto root = std::sqrt(variance + by.epsilon);
    long double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto product = by.scale[i] * ((x[i] - mean) / root), right = product + (by.bias.empty() ? 0 : by.bias[i]);
        const auto bound = 0x1p-24L * (6.01L * std::abs(product) + std::abs(static_cast<long double>(y[i])))
                + (count / 16 + 40) * 0x1p-53L * largest / root * std::abs(by.scale[i]);
        worst = std::max(worst, std::abs(y[i] - right) / bound);
    }
    return static_cast<double>(worst);
}

TEST(normalization, is_within_its_bound) {
    test::random_source random(1);
    double worst = 0;
    for (std::int64_t columns = 1; columns < 1200; columns += columns < 70 ? 1 : 97)
        for (int i = 0; i < 40; ++i) {
            const auto draw = [&](auto f) {
                row values(static_cast<std::size_t>(columns));
                std::ranges::generate(values, f);
                return values;
            };
            const auto number = [&] { return random.exponent_within(-7, 7); };
            auto by = of(random.chance(50), random.chance(50) ? 1e-5F : 1e-12F, draw(number));
            if (random.chance(50)) by.bias = draw(number);
            const float offset = random.chance(50) ? 0 : number() * 1000, least = random.chance(50) ? -20.0F : 2.0F;
            auto x = draw([&] { return offset + random.exponent_within(static_cast<int>(least), 3); });
            if (random.chance(30)) x.front() = 0x1p20F; // an outlier
            const auto y = normalized(by, x, columns);
            worst = std::max(worst, share_of_bound(by, x, y));
            auto defined = x;
            test::oracle::normalize(by, defined.data(), columns);
            ASSERT_EQ(y, defined) << columns << " columns, row " << i;
        }
    EXPECT_LT(worst, 1);
    EXPECT_GT(worst, 0.2); // else the bound says little
}

/// A layer of bytes with a bias, a residual and a normalization.
struct sample {
    test::oracle::layer_inputs<layer_description> of;

    explicit sample(test::random_source &random) {
        auto &d = of.d;
        d.label = "n";
        const auto columns = random.within(1, 150), inner = random.within(1, 30);
        d.weights_shape = {inner, columns};
        d.result = result_type::f32;
        const auto draw = [&](std::int64_t count) {
            row values(static_cast<std::size_t>(count));
            std::ranges::generate(values, [&] { return random.exponent_within(-7, 3); });
            return values;
        };
        d.post_ops = {{post_op_kind::multiply, {0x1p-9F}}, {post_op_kind::add, draw(columns)}};
        of.x_shape = {random.within(1, 3), random.within(1, 60), inner};
        const auto rows = of.x_shape[0] * of.x_shape[1];
        if (random.chance(50)) {
            d.post_ops.push_back({post_op_kind::add_tensor});
            of.tensor = draw(rows * columns);
        }
        d.normalization = normalization {random.chance(50), 1e-6F, draw(columns), {}};
        if (random.chance(50)) d.normalization->bias = draw(columns);
        of.w = random.bytes(inner * columns);
        of.x = random.bytes(rows * inner);
        d.x_zero_point = 100;
    }
};

TEST(normalization, is_what_a_layer_ends_in) {
    test::random_source random(2);
    workspace memory;
    for (int i = 0; i < 150; ++i) {
        sample s(random);
        const auto expected = test::oracle::result_of(s.of);
        auto without = s.of;
        without.d.normalization.reset();
        const auto before = test::oracle::result_of(without);
        const packed_layer problem(s.of.d, s.of.w.data(), environment::usable_features());
        const layer l(problem, s.of.x_shape);
        std::vector<std::byte> y(expected.size()), sums(expected.size());
        layer_arguments given {s.of.x.data(), y.data(), {}, {}, s.of.tensor.data()};
        l.run(given, memory);
        ASSERT_EQ(y, expected);
        std::ranges::fill(y, std::byte {});
        given.before = reinterpret_cast<float *>(sums.data());
        l.run(given, memory);
        ASSERT_EQ(y, expected);
        ASSERT_EQ(sums, before);
    }
}

/// Weights that are 1 give x itself, so that only the normalization is to be compared.
TEST(normalization, is_what_a_weight_only_layer_ends_in) {
    test::random_source random(3);
    for (const std::int64_t rows : {1, 5, 700})
        for (const std::int64_t columns : {1, 7, 64, 100}) {
            weight_only_description d;
            d.label = "n";
            std::vector<std::byte> identity(static_cast<std::size_t>(columns * columns));
            for (std::int64_t i = 0; i < columns; ++i)
                identity[static_cast<std::size_t>(i * columns + i)] = std::byte {1};
            d.weights.type = data_type::s8;
            d.weights.inner = d.weights.columns = d.weights.block = columns;
            d.weights.scale_columns = 1;
            d.weights.scales = {1};
            d.weights.data = identity.data();
            const auto draw = [&](std::int64_t count) {
                row values(static_cast<std::size_t>(count));
                std::ranges::generate(values, [&] { return static_cast<float>(random.within(-900, 900)) / 8; });
                return values;
            };
            d.normalization = normalization {true, 1e-5F, draw(columns), draw(columns)};
            const auto x = draw(rows * columns), tensor = draw(rows * columns);
            for (const bool adds : {false, true}) {
                d.post_ops.clear();
                if (adds) d.post_ops.push_back({post_op_kind::add_tensor});
                const weight_only_layer l(d, environment::usable_features());
                weight_only_layer::memory memory;
                row y(x.size()), before(x.size()), alone(x.size()), expected = x;
                for (std::size_t i = 0; adds && i < x.size(); ++i)
                    expected[i] += tensor[i];
                const layer_arguments given {x.data(), y.data(), {}, {}, tensor.data(), before.data()};
                l.run(given, {rows, columns}, memory);
                EXPECT_EQ(before, expected);
                for (std::size_t i = 0; i < expected.size(); i += static_cast<std::size_t>(columns))
                    test::oracle::normalize(*d.normalization, &expected[i], columns);
                EXPECT_EQ(y, expected);
                l.run({x.data(), alone.data(), {}, {}, tensor.data()}, {rows, columns}, memory);
                EXPECT_EQ(alone, expected);
            }
        }
}

} // namespace
} // namespace dynquant::layers
