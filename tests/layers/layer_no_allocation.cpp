// A layer allocates nothing in a run, once the memory that the caller keeps is large enough; and next to nothing for
// weights without elements.
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "layers/layer/layer.hpp"
#include "layers/layer/weight_only_layer.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "support/counting_new.hpp"

namespace dynquant::layers {
namespace {

/// Counts the allocations in ten runs of two layers by one memory.
long allocations_of(const layer_description &d, const dims &small, const dims &large) {
    const std::vector<std::byte> weights(static_cast<std::size_t>(*volume(d.weights_shape)), std::byte {3});
    const packed_layer problem(d, weights.data(), environment::usable_features());
    const layer layers[] = {{problem, small}, {problem, large}};
    const std::vector<float> x(static_cast<std::size_t>(*volume(large)), 1.5F); // bytes take less
    std::vector<float> y(static_cast<std::size_t>(*volume(layers[1].y())));
    workspace memory;
    const std::int32_t zero_point = 7;
    const float scale = 0.5F;
    return test::allocations_of_ten([&] {
        for (const auto &l : layers)
            l.run({x.data(), y.data(), {&zero_point, 1}, {&scale, 1}}, memory);
    });
}

TEST(layer_no_allocation, of_what_comes_with_the_run) {
    for (const std::int64_t groups : {1, 2, 64}) // 64: depthwise
        for (const bool quantizes : {false, true}) {
            layer_description d;
            d.is_convolution = true;
            if (quantizes) d.prepare = [](const quantization &q) { return dynquant::prepare(q); };
            d.x_zero_point.reset();
            d.weights_shape = {64, 64 / groups, 3, 3};
            d.groups = groups;
            d.window.pads = {1, 1, 1, 1};
            d.bias = {5};
            d.post_ops = {{post_op_kind::scale, {0.25F}}};
            d.result = result_type::f32;
            EXPECT_EQ(allocations_of(d, {1, 64, 9, 9}, {2, 64, 20, 20}), 0) << groups << ' ' << quantizes;
        }
}

TEST(layer_no_allocation, of_a_product) {
    layer_description d;
    d.weights_shape = {100, 40};
    EXPECT_EQ(allocations_of(d, {3, 100}, {500, 100}), 0);
}

constexpr std::int64_t huge = std::int64_t {1} << 40;

/// Expects that `make` asks for little memory, whatever it makes and does.
template <typename Make>
void expect_next_to_nothing(const Make &make) {
    const auto before = test::allocated_bytes();
    make();
    EXPECT_LT(test::allocated_bytes() - before, 4096);
}

TEST(layer_no_allocation, of_weights_without_elements) {
    for (const auto &shape :
            {dims {huge, 0}, {0, huge}, {0, 0}, {huge, 0, 3}, {0, huge, 3}, {huge, 0, huge, huge, huge}})
        for (const std::int64_t groups : {std::int64_t {1}, shape[0]}) {
            if (groups == 0 || (groups > 1 && shape.size() == 2)) continue;
            for (const bool is_signed : {false, true}) {
                layer_description d;
                d.is_convolution = shape.size() > 2;
                d.weights_shape = shape;
                d.groups = groups;
                d.w_is_signed = is_signed;
                SCOPED_TRACE(testing::PrintToString(shape));
                expect_next_to_nothing([&] { const packed_layer problem(d, nullptr, environment::usable_features()); });
            }
        }
}

TEST(layer_no_allocation, of_weight_only_weights_without_elements) {
    for (const auto &[inner, columns] : {std::pair {huge, std::int64_t {0}}, {0, huge}, {0, 0}})
        for (const bool is_transposed : {false, true})
            for (const std::int64_t block : {std::int64_t {1}, std::int64_t {32}, huge, INT64_MAX})
                for (const auto type : {data_type::u8, data_type::s4, data_type::f8_e4m3}) {
                    weight_only_description d;
                    d.weights = {type, inner, columns, nullptr, is_transposed, block, {0.5F}, {}, 1};
                    SCOPED_TRACE(testing::Message() << inner << " x " << columns);
                    expect_next_to_nothing([&] { const weight_only_layer l(d, environment::usable_features()); });
                }
}

/// Their sums are zeros, of as many channels as y has, whatever the groups and the window are.
TEST(layer_no_allocation, of_sums_of_nothing) {
    layer_description d;
    d.is_convolution = true;
    d.weights_shape = {6, 0, 1 << 20, 1 << 20};
    d.groups = 3;
    d.bias = {1, 2, 3, 4, 5, 6};
    const packed_layer problem(d, nullptr, environment::usable_features());
    expect_next_to_nothing([&] {
        const layer l(problem, {2, 0, (1 << 20) + 1, 1 << 20});
        EXPECT_EQ(l.y(), (dims {2, 6, 2, 1}));
        std::vector<std::int32_t> y(24);
        workspace memory;
        l.run({nullptr, y.data()}, memory);
        EXPECT_EQ(y,
                (std::vector<std::int32_t> {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
    });
}

} // namespace
} // namespace dynquant::layers
