// A layer allocates nothing in a run, once the memory that the caller keeps is large enough.
#include <algorithm>

#include <gtest/gtest.h>

#include "layers/layer.hpp"
#include "quantization/shape.hpp"
#include "support/counting_new.hpp"

namespace dynquant::layers {
namespace {

/// The number of allocations in ten runs of two layers by one memory, after warm-up: the minimum of several tens, as a
/// thread that joins late allocates its own buffers.
long allocations_of(const layer_description &d, const dims &small, const dims &large) {
    const std::vector<std::byte> weights(static_cast<std::size_t>(*volume(d.weights_shape)), std::byte {3});
    const layer_problem problem(d, weights.data());
    const layer layers[] = {{problem, small}, {problem, large}};
    const std::vector<float> x(static_cast<std::size_t>(*volume(large)), 1.5F); // bytes take less
    std::vector<float> y(static_cast<std::size_t>(*volume(layers[1].y())));
    run_memory memory;
    const std::int32_t zero_point = 7;
    const float scale = 0.5F;
    const auto of_ten = [&] {
        const auto before = test::allocations();
        for (int i = 0; i < 10; ++i)
            for (const auto &l : layers)
                l.run({x.data(), y.data(), {&zero_point, 1}, {&scale, 1}}, memory);
        return test::allocations() - before;
    };
    auto least = of_ten();
    for (int i = 0; i < 5; ++i)
        least = std::min(least, of_ten());
    return least;
}

TEST(layer_no_allocation, of_what_comes_with_the_run) {
    for (const std::int64_t groups : {1, 2, 64}) // 64: depthwise
        for (const bool quantizes : {false, true}) {
            layer_description d;
            d.is_convolution = true;
            if (quantizes) d.prepare = [](const quantization &q) { return dynquant::prepare(q); };
            d.x_zero_point.reset();
            d.has_x_scale = true;
            d.weights_shape = {64, 64 / groups, 3, 3};
            d.groups = groups;
            d.window.pads = {1, 1, 1, 1};
            d.bias = {5};
            d.steps = {{float_step::kind::multiply, {0.25F}}};
            d.result = step_result::f32;
            EXPECT_EQ(allocations_of(d, {1, 64, 9, 9}, {2, 64, 20, 20}), 0) << groups << ' ' << quantizes;
        }
}

TEST(layer_no_allocation, of_a_product) {
    layer_description d;
    d.weights_shape = {100, 40};
    EXPECT_EQ(allocations_of(d, {3, 100}, {500, 100}), 0);
}

} // namespace
} // namespace dynquant::layers
