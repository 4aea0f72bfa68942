// Layers against their definition, in every layout of x and y; and for shapes of x that no machine can hold, or that
// have no elements.
#include "layers/layer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "parallel/executor.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers {
namespace {

constexpr std::int64_t huge = std::int64_t {1} << 40; // the product of two does not fit in 63 bits
constexpr std::int64_t most = std::int64_t {1} << 30; // of an extent of an image, and of an attribute

/// The layer's message, with its status, or the shape of y.
std::string result_of(const dims &w, const dims &x, const window_attributes &window = {}) {
    layer_description d;
    d.label = "n";
    d.is_convolution = w.size() > 2;
    d.prepare = [](const quantization &q) { return dynquant::prepare(q); };
    d.weights_shape = w;
    d.window = window;
    const std::vector<std::byte> weights(static_cast<std::size_t>(*volume(w)));
    const layer_problem problem(d, weights.data());
    try {
        return to_string(layer(problem, x).y());
    } catch (const error &e) {
        return concat(e.status == status::invalid_shape ? "" : "another status: ", e.what());
    }
}

TEST(layer_shapes, of_products_beyond_any_memory) {
    EXPECT_EQ(result_of({0, 5}, {huge, huge, 0}),
            "n: Y: expected fewer than 2^44 elements, given shape 1099511627776x1099511627776x5");
    EXPECT_EQ(result_of({0, 16}, {huge, 0}), "n: Y: expected fewer than 2^44 elements, given shape 1099511627776x16");
    EXPECT_EQ(result_of({16, 5}, {huge, 16}), "n: A: expected fewer than 2^44 elements, given shape 1099511627776x16");
    EXPECT_EQ(result_of({3, 5}, {4 * most, 3}), "4294967296x5"); // more rows than an extent of an image
}

TEST(layer_shapes, of_products_without_elements) {
    EXPECT_EQ(result_of({0, 0}, {huge, huge, 0}), "1099511627776x1099511627776x0");
    EXPECT_EQ(result_of({3, 0}, {huge, huge, 3}), "1099511627776x1099511627776x0");
    EXPECT_EQ(result_of({3, 5}, {0, huge, huge, 3}), "0x1099511627776x1099511627776x5");
}

TEST(layer_shapes, of_convolutions_beyond_any_memory) {
    EXPECT_EQ(result_of({5, 0, 1, 1}, {1, 0, most, most}),
            "n: y: expected fewer than 2^44 elements, given shape 1x5x1073741824x1073741824");
    EXPECT_EQ(result_of({5, 2, 1, 1}, {huge, 2, 4, 4}),
            "n: y: expected fewer than 2^44 elements, given shape 1099511627776x5x4x4");
    window_attributes window;
    window.strides = {most, most};
    EXPECT_EQ(result_of({5, 0, 1, 1}, {1, 0, most, most}, window),
            "n: an image of x with its padding: expected fewer than 2^44 elements, given shape 1073741824x1073741824");
    window.strides = {1 << 20, 1 << 20};
    EXPECT_EQ(result_of({1, 1 << 10, 1, 1}, {1, 1 << 10, 1 << 18, 1 << 18}, window),
            "n: x with its padding: expected fewer than 2^44 elements, given shape 1x1024x262144x262144");
    window.pads = {0, 0, 1 << 18, 0};
    EXPECT_EQ(result_of({1, 1 << 8, 1, 1}, {1, 1 << 8, 1 << 18, 1 << 18}, window),
            "n: x with its padding: expected fewer than 2^44 elements, given shape 1x256x524288x262144");
}

TEST(layer_shapes, of_convolutions_without_elements) {
    EXPECT_EQ(result_of({5, 1, 1, 1, 1}, {0, 1, most, most, most}), "0x5x1073741824x1073741824x1073741824");
    EXPECT_EQ(result_of({0, 2, 1, 1}, {1, 2, most, most}), "1x0x1073741824x1073741824");
}

/// A layer on bytes, whose result is its sums.
struct sample {
    layer_description d;
    dims x_shape;
    std::vector<std::int32_t> x_zero_points; // one, or one for each row, of a convolution each image
    std::vector<std::byte> w, x;             // x: channels first

    std::int64_t channels() const { return d.is_convolution ? d.weights_shape[0] : d.weights_shape[1]; }
    std::int64_t inner() const { return d.is_convolution ? d.weights_shape[1] : d.weights_shape[0]; } // of a group
    std::int64_t images() const { return d.is_convolution ? x_shape[0] : 1; }
    std::int64_t x_positions() const { return *volume(x_shape) / images() / x_channels(); }
    std::int64_t x_channels() const { return d.is_convolution ? x_shape[1] : x_shape.back(); }

    static std::int64_t number(std::byte byte, bool is_signed) {
        return is_signed ? std::to_integer<std::int8_t>(byte) : std::to_integer<std::uint8_t>(byte);
    }
    std::int64_t x_at(std::int64_t image, std::int64_t channel, std::int64_t position) const {
        const auto at = d.is_convolution ? (image * x_channels() + channel) * x_positions() + position
                                         : position * x_channels() + channel;
        return number(x[static_cast<std::size_t>(at)], d.x_is_signed)
                - zero_point_of(x_zero_points, d.is_convolution ? image : position);
    }
    std::int64_t w_at(std::int64_t c, std::int64_t i, std::int64_t tap) const {
        const auto taps = d.is_convolution ? *volume(dims(d.weights_shape.begin() + 2, d.weights_shape.end())) : 1;
        const auto at = d.is_convolution ? (c * inner() + i) * taps + tap : i * channels() + c;
        const auto &zero_points = d.w_zero_points;
        return number(w[static_cast<std::size_t>(at)], d.w_is_signed)
                - (zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
    }
    std::int64_t bias_at(std::int64_t c) const {
        return d.bias.empty() ? 0 : d.bias[d.bias.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    }

    /// The sum, modulo 2^32, of a channel at a position of y. The image is square where there are windows of 3 x 3.
    std::int32_t expected(std::int64_t image, std::int64_t c, std::int64_t position) const {
        const std::int64_t kernel = d.is_convolution ? d.weights_shape.back() : 1, pad = kernel / 2;
        const auto width = d.is_convolution ? x_shape.back() : 1, height = x_positions() / width;
        const auto first = d.is_convolution ? c / (channels() / d.groups) * inner() : 0;
        std::int64_t sum = bias_at(c);
        for (std::int64_t tap = 0; tap < kernel * kernel; ++tap) {
            const auto row = position / width + tap / kernel - pad, column = position % width + tap % kernel - pad;
            if (row < 0 || row >= height || column < 0 || column >= width) continue; // the zero point
            for (std::int64_t i = 0; i < inner(); ++i)
                sum += x_at(image, first + i, row * width + column) * w_at(c, i, tap);
        }
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
    }
};

std::vector<std::byte> random_bytes(std::mt19937 &random, std::int64_t count) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    for (auto &byte : bytes)
        byte = static_cast<std::byte>(random());
    return bytes;
}

/// kernel: 0 for a product.
sample draw(std::mt19937 &random, std::int64_t groups, std::int64_t kernel) {
    const auto number = [&](int least, int most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    sample s;
    auto &d = s.d;
    d.label = "n";
    d.is_convolution = kernel > 0;
    d.x_is_signed = number(0, 1) == 1;
    d.w_is_signed = number(0, 1) == 1;
    d.groups = groups;
    const auto channels = groups * number(1, 9), inner = number(1, 20);
    d.weights_shape = kernel > 0 ? dims {channels, inner, kernel, kernel} : dims {inner, channels};
    s.x_shape = kernel > 0 ? dims {number(1, 3), inner * groups, number(1, 9), number(1, 30)}
                           : dims {number(1, 3), number(1, 40), inner};
    d.window.pads = kernel > 0 ? dims(4, kernel / 2) : dims {};
    d.scales_by_row = number(0, 1) == 1;
    const auto rows = d.scales_by_row ? s.images() * (d.is_convolution ? 1 : s.x_positions()) : 1;
    for (std::int64_t i = 0; i < rows; ++i)
        s.x_zero_points.push_back(static_cast<std::int32_t>(d.x_is_signed ? number(-128, 127) : number(0, 255)));
    for (auto n = number(0, 2) * channels / 2; n > 0; --n)
        d.w_zero_points.push_back(static_cast<std::int32_t>(d.w_is_signed ? number(-128, 127) : number(0, 255)));
    if (std::ssize(d.w_zero_points) != channels)
        d.w_zero_points.resize(std::min<std::size_t>(d.w_zero_points.size(), 1));
    for (auto n = number(0, 2) * channels / 2; n > 0; --n)
        d.bias.push_back(static_cast<std::int32_t>(random())); // sums wrap
    if (std::ssize(d.bias) != channels) d.bias.resize(std::min<std::size_t>(d.bias.size(), 1));
    s.w = random_bytes(random, *volume(d.weights_shape));
    s.x = random_bytes(random, *volume(s.x_shape));
    return s;
}

/// Runs the layer by a memory that other layers have used, and compares all sums.
void expect_exact(const sample &s, run_memory &memory) {
    const auto channels = s.channels(), positions = s.x_positions();
    auto x = s.x;
    if (s.d.x_is_channels_last) to_channels_last(s.x_shape, 1).run(s.x.data(), x.data());
    const layer_problem problem(s.d, s.w.data());
    const layer l(problem, s.x_shape);
    std::vector<std::int32_t> y(static_cast<std::size_t>(s.images() * positions * channels));
    l.run({x.data(), y.data(), s.x_zero_points}, memory);
    const bool is_channels_first = s.d.is_convolution && !s.d.y_is_channels_last;
    for (std::int64_t image = 0; image < s.images(); ++image)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t p = 0; p < positions; ++p) {
                const auto at =
                        image * positions * channels + (is_channels_first ? c * positions + p : p * channels + c);
                ASSERT_EQ(y[static_cast<std::size_t>(at)], s.expected(image, c, p)) << image << ' ' << c << ' ' << p;
            }
}

std::int32_t byte_of(float value, bool relu) {
    if (relu && value < 0) value = 0;
    return static_cast<std::int32_t>(std::clamp(std::nearbyint(value), -128.0F, 127.0F));
}

/// A channel for each sum by each pair of multipliers, and the sum is its bias. Returns whether the pairs are folded.
bool expect_bytes_by(const std::vector<float> &first, const std::vector<float> &second, bool relu) {
    std::vector<std::int32_t> sums {0, 1, -1, 3, -5, 65281, 16777213, INT32_MAX, INT32_MIN, INT32_MAX - 64};
    for (int n = 1; n < 31; ++n)
        for (const int beside : {-1, 0, 1}) {
            sums.push_back((1 << n) + beside);
            sums.push_back(-(3 << n >> 1) + beside);
        }
    layer_description d;
    d.weights_shape = {1, std::ssize(sums) * std::ssize(first)};
    step one {float_step::kind::multiply}, two {float_step::kind::multiply};
    for (const auto sum : sums)
        for (std::size_t i = 0; i < first.size(); ++i) {
            d.bias.push_back(sum);
            one.a.push_back(first[i]);
            two.a.push_back(second[i]);
        }
    d.steps = {one, two};
    if (relu) d.steps.push_back({float_step::kind::clip, {0}, {std::numeric_limits<float>::infinity()}});
    d.steps.push_back({float_step::kind::saturate, {-128}, {127}});
    d.result = step_result::bytes;
    const std::vector<std::byte> weights(d.bias.size());
    const layer_problem problem(d, weights.data());
    std::vector<std::int8_t> y(d.bias.size());
    run_memory memory;
    const auto x = std::byte {1};
    layer(problem, {1, 1}).run({&x, y.data()}, memory);
    for (std::size_t c = 0; c < y.size(); ++c) {
        const volatile float once = static_cast<float>(d.bias[c]) * one.a[c];
        EXPECT_EQ(y[c], byte_of(once * two.a[c], relu)) << d.bias[c] << " by " << one.a[c] << " and " << two.a[c];
    }
    return problem.is_folded();
}

TEST(layers, fold_two_multipliers_where_that_keeps_the_bits) {
    std::vector<float> first, second;
    for (const float s : {0.0F, 1.0F, -3.0F, 4097.0F, 11184810.0F, 0x1p24F, 0x1p96F, 0.1F, 0x1p-149F, 0x1.8p-130F})
        for (const int n : {0, 1, 7, 24, 25, 31, 55, 96, 126, 127, 149}) {
            first.push_back(s);
            second.push_back(std::ldexp(1.0F, -n));
        }
    for (const bool relu : {false, true}) {
        EXPECT_TRUE(expect_bytes_by(first, second, relu));
        EXPECT_FALSE(expect_bytes_by({3, 3}, {0.001F, 0.5F}, relu));
        EXPECT_FALSE(expect_bytes_by({0x1.8p96F}, {0x1p-100F}, relu));
    }
}

TEST(layers, do_not_fold_what_becomes_floats) {
    layer_description d;
    d.weights_shape = {1, 1};
    d.steps = {{float_step::kind::multiply, {3}}, {float_step::kind::multiply, {0x1p-140F}}};
    d.result = step_result::f32;
    const std::byte weight {};
    EXPECT_FALSE(layer_problem(d, &weight).is_folded());
    d.steps.push_back({float_step::kind::look_up, {}, {}, std::vector<std::uint8_t>(65536)});
    d.result = step_result::bytes;
    EXPECT_FALSE(layer_problem(d, &weight).is_folded());
}

TEST(layers, look_up_their_bytes) {
    const std::int64_t images = 2, channels = 5, positions = 2500; // several blocks of an image
    layer_description d;
    d.is_convolution = true;
    d.weights_shape = {channels, 1, 1, 1};
    d.steps = {{float_step::kind::saturate, {0}, {255}}};
    d.result = step_result::bytes;
    d.table.emplace();
    for (std::size_t i = 0; i < 256; ++i)
        (*d.table)[i] = static_cast<std::uint8_t>(i * 7 + 3);
    std::mt19937 random(2);
    const auto x = random_bytes(random, images * positions), w = random_bytes(random, channels);
    for (const bool y_last : {false, true}) {
        d.y_is_channels_last = y_last;
        const layer_problem problem(d, w.data());
        std::vector<std::uint8_t> y(static_cast<std::size_t>(images * channels * positions));
        run_memory memory;
        layer(problem, {images, 1, 1, positions}).run({x.data(), y.data()}, memory);
        for (std::int64_t i = 0; i < std::ssize(y); ++i) {
            const auto image = i / (channels * positions), c = y_last ? i % channels : i / positions % channels;
            const auto p = y_last ? i / channels % positions : i % positions;
            const auto sum = std::to_integer<int>(x[static_cast<std::size_t>(image * positions + p)])
                    * std::to_integer<std::int8_t>(w[static_cast<std::size_t>(c)]);
            EXPECT_EQ(y[static_cast<std::size_t>(i)], (*d.table)[static_cast<std::size_t>(std::clamp(sum, 0, 255))]);
        }
    }
}

TEST(layers, have_the_sums_of_the_definition) {
    const parallel::executor small_parts {parallel::tbb_executor.concurrency, parallel::tbb_executor.run, 256};
    const parallel::scoped_executor executor(small_parts);
    std::mt19937 random(1);
    run_memory memory;
    for (int i = 0; i < 60; ++i)
        for (const std::int64_t kernel : {0, 1, 3}) {
            auto s = draw(random, kernel > 0 && i % 3 == 0 ? 2 : 1, kernel);
            for (const bool knows_zero_point : {false, true})
                for (const bool x_last : {false, true})
                    for (const bool y_last : {false, true}) {
                        if (!s.d.is_convolution && (x_last || y_last)) continue;
                        s.d.x_zero_point.reset();
                        if (knows_zero_point && s.d.scales_by_row) continue;
                        if (knows_zero_point) s.d.x_zero_point = s.x_zero_points.front();
                        s.d.x_is_channels_last = x_last;
                        s.d.y_is_channels_last = y_last;
                        SCOPED_TRACE(testing::Message()
                                << i << ' ' << kernel << ' ' << knows_zero_point << x_last << y_last);
                        expect_exact(s, memory);
                    }
        }
}

} // namespace
} // namespace dynquant::layers
