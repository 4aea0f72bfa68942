// Where an allocation fails, layers are not made and leave nothing behind. In the program of layer_no_allocation.cpp.
#include "layers/layer/layer.hpp"
#include "layers/layer/weight_only_layer.hpp"
#include "quantization/environment.hpp"
#include "random_graph.hpp"
#include "support/failing_allocations.hpp"

namespace dynquant::layers {
namespace {

void expect_clean_failures(const layer_description &d, const dims &x) {
    const std::vector<std::byte> weights(static_cast<std::size_t>(*volume(d.weights_shape)), std::byte {3});
    EXPECT_GT(test::failed_allocations([&] {
        const packed_layer problem(d, weights.data(), environment::usable_features());
        const layer l(problem, x);
    }),
            3);
}

TEST(layer_failing_allocations, of_products_and_convolutions) {
    layer_description d;
    d.weights_shape = {100, 40};
    d.w_zero_points = std::vector<std::int32_t>(40, 5);
    d.post_ops = {{post_op_kind::multiply, {0.25F}}, {post_op_kind::clip, {0}, {6}}};
    d.result = result_type::f32;
    expect_clean_failures(d, {3, 100});
    d.prepare = [](const quantization &q) { return dynquant::prepare(q); };
    expect_clean_failures(d, {3, 100});
    for (const std::int64_t groups : {1, 2, 64}) { // 64: depthwise
        layer_description c;
        c.is_convolution = true;
        c.weights_shape = {64, 64 / groups, 3, 3};
        c.groups = groups;
        c.window.pads = {1, 1, 1, 1};
        c.bias = {5};
        expect_clean_failures(c, {1, 64, 9, 9});
    }
}

TEST(layer_failing_allocations, of_weights_that_stay_narrow) {
    const std::vector<std::byte> data(64 * 48);
    for (const auto type : {data_type::s8, data_type::u4, data_type::f8_e4m3})
        for (const bool quantizes_x : {false, true}) {
            if (quantizes_x && type == data_type::f8_e4m3) continue;
            weight_only_description d;
            d.weights = {type, 64, 48, data.data(), false, 32, std::vector<float>(96, 0.5F), {}, 48};
            d.weights.quantizes_x = quantizes_x;
            EXPECT_GT(
                    test::failed_allocations([&] { const weight_only_layer l(d, environment::usable_features()); }), 2);
        }
}

TEST(layer_failing_allocations, of_what_is_found_in_graphs) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const match::random_graph drawn((test::random_source(seed)));
        const auto &g = drawn.result();
        const std::vector<bool> is_taken(g.nodes.size());
        for (std::size_t i = 0; i < g.nodes.size(); ++i)
            if (match::is_product(g.nodes[i])) {
                EXPECT_GT(test::failed_allocations([&] { match::find_layer(g, i, is_taken); }), 0) << "seed " << seed;
            }
    }
}

} // namespace
} // namespace dynquant::layers
