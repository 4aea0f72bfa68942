// Layers for shapes of x that no machine can hold, or that have no elements.
#include "layers/layer.hpp"

#include <gtest/gtest.h>

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
        return concat(e.status == dnnl_invalid_shape ? "" : "another status: ", e.message);
    }
}

TEST(layer_shapes, of_products_beyond_any_memory) {
    EXPECT_EQ(result_of({0, 5}, {huge, huge, 0}),
            "n: Y: expected fewer than 2^44 elements, given shape 1099511627776x1099511627776x5");
    EXPECT_EQ(result_of({0, 16}, {huge, 0}), "n: Y: expected fewer than 2^44 elements, given shape 1099511627776x16");
    EXPECT_EQ(result_of({3, 5}, {2 * most, 3}), "n: A: expected at most 1073741824 rows, given shape 2147483648x3");
    EXPECT_EQ(result_of({3, 5}, {2, most, 3}), "n: A: expected at most 1073741824 rows, given shape 2x1073741824x3");
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

} // namespace
} // namespace dynquant::layers
