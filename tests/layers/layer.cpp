// Layers against their definition, in every layout of x and y; and for shapes of x that no machine can hold, or that
// have no elements.
#include "layers/layer/layer.hpp"

#include <cmath>
#include <limits>
#include <span>

#include <gtest/gtest.h>

#include "oracle/layers.hpp"
#include "parallel/executor.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "support/random.hpp"

namespace dynquant::layers {
namespace {

namespace oracle = test::oracle;

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
    const packed_layer problem(d, weights.data(), environment::usable_features());
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

using sample = oracle::layer_inputs<layer_description>;

/// Draws a layer of bytes, whose result is its sums. kernel: 0 for a product.
sample draw(test::random_source &random, std::int64_t groups, std::int64_t kernel) {
    const auto coin = [&] { return random.chance(50); };
    const auto byte_of = [&](bool is_signed) {
        return static_cast<std::int32_t>(is_signed ? random.within(-128, 127) : random.within(0, 255));
    };
    sample s;
    auto &d = s.d;
    d.label = "n";
    d.is_convolution = kernel > 0;
    d.x_is_signed = coin();
    d.w_is_signed = coin();
    d.groups = groups;
    const auto channels = groups * random.within(1, 9), inner = random.within(1, 20);
    d.weights_shape = kernel > 0 ? dims {channels, inner, kernel, kernel} : dims {inner, channels};
    s.x_shape = kernel > 0 ? dims {random.within(1, 3), inner * groups, random.within(1, 9), random.within(1, 30)}
                           : dims {random.within(1, 3), random.within(1, 40), inner};
    d.window.pads = kernel > 0 ? dims(4, kernel / 2) : dims {};
    d.scales_by_row = coin();
    for (auto n = !d.scales_by_row ? 1 : kernel > 0 ? s.x_shape[0] : s.x_shape[0] * s.x_shape[1]; n > 0; --n)
        s.x_zero_points.push_back(byte_of(d.x_is_signed));
    const std::vector<std::int64_t> counts {0, 1, channels};
    for (auto n = random.one_of(counts); n > 0; --n)
        d.w_zero_points.push_back(byte_of(d.w_is_signed));
    for (auto n = random.one_of(counts); n > 0; --n)
        d.bias.push_back(static_cast<std::int32_t>(random.within(INT32_MIN, INT32_MAX))); // sums wrap
    s.w = random.bytes(*volume(d.weights_shape));
    s.x = random.bytes(*volume(s.x_shape));
    return s;
}

/// Runs the layer by a memory that other layers have used.
void expect_right(const sample &s, workspace &memory) {
    const auto expected = oracle::result_of(s);
    std::vector<std::byte> y(expected.size());
    const packed_layer problem(s.d, s.w.data(), environment::usable_features());
    layer(problem, s.x_shape).run({s.x.data(), y.data(), s.x_zero_points, s.x_scales, s.tensor.data()}, memory);
    ASSERT_EQ(y, expected);
}

/// A channel for each sum by each pair of multipliers, and the sum is its bias. Returns whether the pairs are folded.
bool expect_bytes_by(const std::vector<float> &first, const std::vector<float> &second, bool relu) {
    std::vector<std::int32_t> sums {0, 1, -1, 3, -5, 65281, 16777213, INT32_MAX, INT32_MIN, INT32_MAX - 64};
    for (int n = 1; n < 31; ++n)
        for (const int beside : {-1, 0, 1}) {
            sums.push_back((1 << n) + beside);
            sums.push_back(-(3 << n >> 1) + beside);
        }
    sample s {{}, {1, 1}, {std::byte {1}}, {}, {}, {}, {}};
    auto &d = s.d;
    d.weights_shape = {1, std::ssize(sums) * std::ssize(first)};
    post_op one {post_op_kind::multiply}, two {post_op_kind::multiply};
    for (const auto sum : sums)
        for (std::size_t i = 0; i < first.size(); ++i) {
            d.bias.push_back(sum);
            one.a.push_back(first[i]);
            two.a.push_back(second[i]);
        }
    d.post_ops = {one, two};
    if (relu) d.post_ops.push_back({post_op_kind::clip, {0}, {std::numeric_limits<float>::infinity()}});
    d.post_ops.push_back({post_op_kind::saturate, {-128}, {127}});
    d.result = result_type::bytes;
    s.w.resize(d.bias.size());
    const packed_layer problem(d, s.w.data(), environment::usable_features());
    const auto expected = oracle::result_of(s);
    std::vector<std::byte> y(expected.size());
    workspace memory;
    layer(problem, s.x_shape).run({s.x.data(), y.data()}, memory);
    for (std::size_t c = 0; c < y.size(); ++c)
        EXPECT_EQ(y[c], expected[c]) << d.bias[c] << " by " << one.a[c] << " and " << two.a[c];
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
    d.post_ops = {{post_op_kind::multiply, {3}}, {post_op_kind::multiply, {0x1p-140F}}};
    d.result = result_type::f32;
    const std::byte weight {};
    EXPECT_FALSE(packed_layer(d, &weight, environment::usable_features()).is_folded());
    d.post_ops.push_back({post_op_kind::look_up, {}, {}, std::vector<std::uint8_t>(65536)});
    d.result = result_type::bytes;
    EXPECT_FALSE(packed_layer(d, &weight, environment::usable_features()).is_folded());
}

/// The byte that a bias becomes by x's scale and another multiplier behind it.
int byte_by_scale_of_x(std::int32_t bias, float scale, float multiplier, float x_scale) {
    layer_description d;
    d.weights_shape = {1, 1};
    d.bias = {bias};
    d.post_ops = {{post_op_kind::scale, {scale}}, {post_op_kind::multiply, {multiplier}},
            {post_op_kind::saturate, {0}, {255}}};
    d.result = result_type::bytes;
    const std::byte x {}, weight {};
    const std::int32_t x_zero_point = 0;
    std::byte y {77};
    workspace memory;
    const packed_layer problem(d, &weight, environment::usable_features());
    layer(problem, {1, 1}).run({&x, &y, {&x_zero_point, 1}, {&x_scale, 1}, nullptr}, memory);
    return std::to_integer<int>(y);
}

/// Their product may under- or overflow where f32(scale x_scale) and what follows do not, and the other way round.
TEST(layers, do_not_fold_a_multiplier_into_a_scale_of_x) {
    // f32(2^-120 2^126) is 2^6, times 100 * 2^24 is 100 * 2^30; 2^-120 2^-30 would be 0.
    EXPECT_EQ(byte_by_scale_of_x(100 << 24, 0x1p-120F, 0x1p-30F, 0x1p126F), 100);
    // f32(2^96 2^35) is infinity; 2^96 2^-126 2^35 would be 32.
    EXPECT_EQ(byte_by_scale_of_x(1, 0x1p96F, 0x1p-126F, 0x1p35F), 255);
}

TEST(layers, look_up_their_bytes) {
    const std::int64_t images = 2, channels = 5, positions = 2500; // several blocks of an image
    test::random_source random(2);
    sample s {{}, {images, 1, 1, positions}, random.bytes(images * positions), random.bytes(channels), {}, {}, {}};
    auto &d = s.d;
    d.is_convolution = true;
    d.weights_shape = {channels, 1, 1, 1};
    d.post_ops = {{post_op_kind::saturate, {0}, {255}}};
    d.result = result_type::bytes;
    d.table.emplace();
    for (std::size_t i = 0; i < 256; ++i)
        (*d.table)[i] = static_cast<std::uint8_t>(i * 7 + 3);
    workspace memory;
    for (const bool y_last : {false, true}) {
        d.y_is_channels_last = y_last;
        expect_right(s, memory);
    }
}

/// Channels that fill no tile of the epilogue: positions pass it together, with parameters that repeat.
TEST(layers, of_few_channels_and_many_positions) {
    test::random_source random(3);
    workspace memory;
    const struct {
        bool is_convolution, scales_by_row, knows_zero_point;
    } cases[] = {{false, false, false}, {false, false, true}, {false, true, false}, {false, true, true},
            {true, true, false}, {true, true, true}};
    for (const std::int64_t channels : {1, 2, 3, 8, 24, 33, 48, 63, 64})
        for (const auto result : {result_type::s32, result_type::f32, result_type::bytes})
            for (const auto &[is_convolution, scales_by_row, knows_zero_point] : cases) {
                auto s = draw(random, 1, 0);
                auto &d = s.d;
                const std::int64_t inner = 5, images = 3, positions = 337, rows = images * positions;
                d.is_convolution = d.x_is_channels_last = d.y_is_channels_last = is_convolution;
                d.weights_shape = is_convolution ? dims {channels, inner, 1} : dims {inner, channels};
                s.x_shape = is_convolution ? dims {images, inner, positions} : dims {rows, inner};
                s.w = random.bytes(inner * channels);
                s.x = random.bytes(rows * inner);
                d.scales_by_row = scales_by_row;
                d.w_zero_points.clear();
                d.bias.resize(static_cast<std::size_t>(channels));
                for (auto &b : d.bias)
                    b = static_cast<std::int32_t>(random.within(-5000, 5000));
                s.x_zero_points.clear();
                for (auto n = !scales_by_row ? 1 : is_convolution ? images : rows; n > 0; --n) {
                    s.x_zero_points.push_back(static_cast<std::int32_t>(random.within(0, 127)));
                    s.x_scales.push_back(static_cast<float>(random.within(1, 50)) / 64);
                }
                d.x_zero_point.reset();
                if (knows_zero_point) d.x_zero_point = 100;
                if (channels % 3 == 0 && !scales_by_row) { // no bias at all
                    d.bias.clear();
                    s.x_zero_points = {0};
                    if (knows_zero_point) d.x_zero_point = 0;
                }
                d.result = result;
                const auto of_channels = [&] {
                    std::vector<float> values;
                    for (std::int64_t c = 0; c < channels; ++c)
                        values.push_back(static_cast<float>(random.within(-50, 50)) / 64);
                    return values;
                };
                d.post_ops.clear();
                if (result != result_type::s32)
                    d.post_ops = {{post_op_kind::scale, of_channels()}, {post_op_kind::add, {0.5F}},
                            {post_op_kind::leaky_relu, of_channels()}, {post_op_kind::add, of_channels()},
                            {post_op_kind::scale, {0.125F}}};
                s.tensor.clear();
                if (result != result_type::s32 && random.chance(50)) {
                    d.post_ops.push_back({post_op_kind::add_tensor});
                    s.tensor.resize(static_cast<std::size_t>(*volume(oracle::y_shape(d, s.x_shape))));
                    for (auto &value : s.tensor)
                        value = static_cast<float>(random.within(-5000, 5000)) / 64;
                }
                if (result == result_type::bytes) d.post_ops.push_back({post_op_kind::saturate, {-128}, {127}});
                SCOPED_TRACE(testing::Message() << channels << ' ' << static_cast<int>(result) << ' ' << is_convolution
                                                << scales_by_row << knows_zero_point);
                expect_right(s, memory);
            }
}

/// Products whose steps are at most a factor and a summand become floats where they are stored. Weights have no excess,
/// a little, or much, of which the last is multiplied by words.
TEST(layers, become_floats_in_the_product) {
    test::random_source random(11);
    workspace memory;
    for (const int greatest : {50, 63, 127})
        for (const bool has_rare : {false, true})
            for (int i = 0; i < 100; ++i) {
                auto s = draw(random, 1, 0);
                auto &d = s.d;
                const auto columns = random.within(1, 140), inner = random.within(1, 40), rows = random.within(1, 40);
                d.weights_shape = {inner, columns};
                s.x_shape = {rows, inner};
                d.x_is_signed = i % 10 == 0;
                d.w_is_signed = true;
                d.scales_by_row = false;
                d.w_zero_points.clear();
                if (random.chance(30))
                    for (auto n = random.chance(50) ? 1 : columns; n > 0; --n)
                        d.w_zero_points.push_back(static_cast<std::int32_t>(random.within(-9, 9)));
                s.x_zero_points = {static_cast<std::int32_t>(random.within(0, 127))};
                s.x_scales = {static_cast<float>(random.within(1, 50)) / 640};
                if (random.chance(30)) d.x_zero_point = 7;
                s.w.clear();
                for (auto n = inner * columns; n > 0; --n)
                    s.w.push_back(static_cast<std::byte>(has_rare && random.chance(2)
                                    ? random.one_of(std::vector<int> {127, -128})
                                    : random.within(-greatest, greatest)));
                s.x = random.bytes(rows * inner);
                d.bias.clear();
                if (random.chance(50))
                    for (auto n = columns; n > 0; --n)
                        d.bias.push_back(static_cast<std::int32_t>(random.within(-70000, 70000)));
                const auto some = [&] {
                    std::vector<float> values;
                    for (auto n = random.chance(50) ? 1 : columns; n > 0; --n)
                        values.push_back(static_cast<float>(random.within(-5000, 5000)) / 640);
                    return values;
                };
                d.result = result_type::f32;
                d.post_ops = {{random.chance(50) ? post_op_kind::scale : post_op_kind::multiply, some()}};
                if (random.chance(70)) d.post_ops.push_back({post_op_kind::add, some()});
                if (random.chance(10)) d.post_ops.push_back({post_op_kind::round}); // a step more
                SCOPED_TRACE(testing::Message() << greatest << ' ' << has_rare << ' ' << i);
                expect_right(s, memory);
            }
}

TEST(layers, have_the_sums_of_the_definition) {
    const parallel::executor small_parts {parallel::tbb_executor.concurrency, parallel::tbb_executor.run, 256};
    const parallel::scoped_executor executor(small_parts);
    test::random_source random(1);
    workspace memory;
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
                        expect_right(s, memory);
                    }
        }
}

/// Floats of which a row has eighths; or zeros, NaN or an infinity, whose scales have rules of their own.
std::vector<std::byte> draw_floats(test::random_source &random, std::int64_t rows, std::int64_t columns) {
    constexpr auto infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> rare {infinity, -infinity, nan, -0.0F};
    std::vector<float> x;
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto eighths = random.chance(20) ? 0 : random.within(1, 1000);
        for (std::int64_t column = 0; column < columns; ++column)
            x.push_back(static_cast<float>(random.within(-eighths, eighths)) / 8);
        if (random.chance(20)) x[x.size() - static_cast<std::size_t>(random.within(1, columns))] = random.one_of(rare);
    }
    const auto bytes = std::as_bytes(std::span(x));
    return {bytes.begin(), bytes.end()};
}

/// Elements of [batch, a, b, size], 4 bytes each, as those of [batch, b, a, size].
std::vector<std::byte> swapped(const std::vector<std::byte> &x, const dims &shape) {
    const auto [batch, a, b, size] = std::tuple {shape[0], shape[1], shape[2], shape[3]};
    std::vector<std::byte> y;
    for (std::int64_t n = 0; n < batch; ++n)
        for (std::int64_t j = 0; j < b; ++j)
            for (std::int64_t i = 0; i < a; ++i) {
                const auto from = x.begin() + ((n * a + i) * b + j) * size * 4;
                y.insert(y.end(), from, from + size * 4);
            }
    return y;
}

/// y of products, in heads, is that of the joined ones in another order, and so is x.
TEST(layers, split_and_join_heads) {
    const parallel::executor small_parts {parallel::tbb_executor.concurrency, parallel::tbb_executor.run, 256};
    const parallel::scoped_executor executor(small_parts);
    test::random_source random(5);
    workspace memory;
    for (const std::int64_t size : {1, 8, 30, 32, 64, 80})
        for (const bool is_transposed : {false, true})
            for (const bool scales_by_row : {false, true})
                for (const bool x_has_heads : {false, true}) {
                    const auto heads = random.within(1, 5), x_heads = random.within(1, 4);
                    const auto batch = random.within(1, 3), rows = random.within(1, 60), columns = heads * size;
                    auto s = draw(random, 1, 0);
                    auto &d = s.d;
                    d.prepare = [](const quantization &q) { return prepare(q); };
                    d.weights_shape = {x_heads * 9, columns};
                    d.scales_by_row = scales_by_row;
                    d.w_zero_points.clear();
                    d.bias.clear();
                    d.x_zero_point.reset();
                    s.x_zero_points.clear();
                    s.x_shape = {batch, rows, x_heads * 9};
                    s.x = draw_floats(random, batch * rows, x_heads * 9);
                    s.w = random.bytes(x_heads * 9 * columns);
                    d.result = result_type::f32;
                    d.post_ops = {{post_op_kind::scale, {0.125F}}, {post_op_kind::add, {}}};
                    for (std::int64_t c = 0; c < columns; ++c)
                        d.post_ops[1].a.push_back(static_cast<float>(random.within(-50, 50)));
                    auto expected = oracle::result_of(s);
                    expected = swapped(expected, {batch, rows, heads, size});
                    if (is_transposed) expected = swapped(expected, {batch * heads, rows, size, 1});
                    d.y_heads = heads;
                    d.y_heads_are_transposed = is_transposed;
                    if (x_has_heads) {
                        d.x_has_heads = true;
                        s.x = swapped(s.x, {batch, rows, x_heads, 9});
                        s.x_shape = {batch, x_heads, rows, 9};
                    }
                    SCOPED_TRACE(testing::Message() << size << ' ' << is_transposed << scales_by_row << x_has_heads);
                    const packed_layer problem(d, s.w.data(), environment::usable_features());
                    const layer l(problem, s.x_shape);
                    EXPECT_EQ(l.y(),
                            is_transposed ? (dims {batch, heads, size, rows}) : (dims {batch, heads, rows, size}));
                    std::vector<std::byte> y(expected.size());
                    l.run({s.x.data(), y.data()}, memory);
                    ASSERT_EQ(y, expected);
                }
}

TEST(layers, refuse_heads_that_do_not_fit) {
    layer_description d;
    d.label = "n";
    d.prepare = [](const quantization &q) { return dynquant::prepare(q); };
    d.weights_shape = {6, 4};
    d.y_heads = 2;
    const std::vector<std::byte> weights(24);
    const auto message = [&](const dims &x) {
        const packed_layer problem(d, weights.data(), environment::usable_features());
        try {
            return to_string(layer(problem, x).y());
        } catch (const error &e) {
            EXPECT_EQ(e.status, status::invalid_shape);
            return std::string(e.what());
        }
    };
    EXPECT_EQ(message({3, 5, 6}), "3x2x5x2");
    EXPECT_EQ(message({5, 6}), "n: Y: expected batch, rows and columns, given shape 5x4");
    d.x_has_heads = true;
    EXPECT_EQ(message({3, 2, 5, 3}), "3x2x5x2");
    EXPECT_EQ(message({3, 5, 6}), "n: A: expected batch, heads, rows and columns of a head, given shape 3x5x6");
    EXPECT_EQ(message({3, 2, 5, 4}), "n: A: expected 6 columns, as many as B has rows, given heads of shape 3x2x5x4");
}

TEST(layers, quantize_floats_by_the_definition) {
    test::random_source random(3);
    workspace memory;
    for (int i = 0; i < 100; ++i)
        for (const std::int64_t kernel : {0, 1, 3}) {
            auto s = draw(random, 1, kernel);
            s.d.prepare = [](const quantization &q) { return prepare(q); };
            const auto rows = std::ssize(s.x_zero_points);
            s.x_zero_points.clear();
            s.x = draw_floats(random, rows, std::ssize(s.x) / rows);
            SCOPED_TRACE(testing::Message() << i << ' ' << kernel);
            expect_right(s, memory);
        }
}

} // namespace
} // namespace dynquant::layers
