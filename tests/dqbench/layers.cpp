// The oracle of dqbench layers gives what is worked out by hand, and its bounds hold what other orders of roundings
// give.
#include <cmath>

#include <gtest/gtest.h>

#include "oracle/chains.hpp"

namespace {

using namespace dynquant::test::oracle;
using dynquant::dims;
using floats = std::vector<float>;
using integers = std::vector<std::int64_t>;

codes known(const dims &extents, const integers &values) {
    return {extents, values, values, values};
}

/// x less 1: 0 1 / 2 3; w less its zero points: 0 -1 / 1 3. The sums are 1 3 / 3 7, the scales 0.5 * 2 and 0.5 * 0.25.
const codes x = known({2, 2}, {1, 2, 3, 4}), w = known({2, 2}, {1, -1, 2, 3});
const along_axis of_x {{0.5F}, {1}}, of_w {{2, 0.25F}, {1, 0}, 1};
const floats expected {1, 0.375F, 3, 0.875F};

TEST(dqbench_layers, products_are_exact) {
    EXPECT_EQ(product(x, of_x, false, w, of_w, false).values, expected);
    const codes x_transposed = known({2, 2}, {1, 3, 2, 4}), w_transposed = known({2, 2}, {1, 2, -1, 3});
    const along_axis of_rows {of_w.scales, of_w.zero_points, 0};
    EXPECT_EQ(product(x_transposed, of_x, true, w_transposed, of_rows, true).values, expected);
    // Scales 1 and 4 for the rows.
    const auto by_row = product(x, {{1, 4}, {1, 1}, 0}, false, w, {{1}, {1}}, false);
    EXPECT_EQ(by_row.values, (floats {1, 2, 12, 8})); // w less 1: 0 -2 / 1 2
}

TEST(dqbench_layers, sums_are_rounded_once) {
    // 2^24 + 1 is a tie, which 3 more make 2^24 + 4; f32 sums would stay at 2^24.
    const auto y = product(known({1, 3}, {4096, 1, 3}), {{1}}, false, known({3, 1}, {4096, 1, 1}), {{1}}, false);
    EXPECT_EQ(y.values, floats {0x1p24F + 4});
}

TEST(dqbench_layers, batches_broadcast) {
    const auto y = product(known({2, 1, 1}, {2, 3}), {{1}}, false, known({1, 2}, {4, 5}), {{1}}, false);
    EXPECT_EQ(y.extents, (dims {2, 1, 2}));
    EXPECT_EQ(y.values, (floats {8, 10, 12, 15}));
}

TEST(dqbench_layers, bounds_of_products_hold_other_orders) {
    // The terms 2^24, 1, 1, -2^24: the sum in f32 from the left is 0 and not 2.
    const auto y =
            product(known({1, 4}, {4096, 1, 1, -4096}), {{1}}, false, known({4, 1}, {4096, 1, 1, 4096}), {{1}}, false);
    EXPECT_EQ(y.values, floats {2});
    EXPECT_GE(y.bounds[0], 2);
    EXPECT_LE(y.bounds[0], 32); // 12 roundings of 2^25
}

TEST(dqbench_layers, products_by_narrow_weights_have_a_bound) {
    // w less its zero points, times its scales: 0 -0.25 / 2 0.75 by column; x is 1 2 / 3 4.
    const auto x_real = exact({2, 2}, {1, 2, 3, 4});
    const auto y = product(x_real, false, w, of_w, false);
    EXPECT_EQ(y.values, (floats {4, 1.25F, 8, 2.25F}));
    EXPECT_NEAR(y.bounds[1], 1.01 * 10 * 0x1p-24 * 1.75, 1e-9);
    EXPECT_EQ(product(exact({2, 2}, {1, 3, 2, 4}), true, known({2, 2}, {1, 2, -1, 3}),
                      {of_w.scales, of_w.zero_points, 0}, true)
                      .values,
            y.values);
    // Two columns share a scale and a zero point, in each row: 1 2 3 4 less 1 and 2, times 1 and 10; 5 6 7 8 less 3 and
    // 4, times 100 and 1000.
    const along_axis by_group {{1, 10, 100, 1000}, {1, 2, 3, 4}, -1, {1, 2}};
    EXPECT_EQ(product(exact({1, 2}, {1, 1}), false, known({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), by_group, false).values,
            (floats {200, 301, 3010, 4020}));
}

TEST(dqbench_layers, convolutions_are_exact) {
    // x less 3 is -2 -1 0, 1 2 3, 4 5 6; the filters less 0 and 1 are 1 0, 0 1 and 1 -2, 0 2. SAME_UPPER pads one line
    // below and one column behind.
    const integers data {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const along_axis of_data {{0.5F}, {3}};
    convolution_attributes a {true, true, 1, "None", {1, 1}, {1, 1}, {0, 0, 0, 0}};
    const auto oix = known({2, 1, 2, 2}, {1, 0, 0, 1, 2, -1, 1, 3}),
               xio = known({2, 2, 1, 2}, {1, 2, 0, -1, 0, 1, 1, 3});
    const auto y = convolution(a, known({1, 1, 3, 3}, data), of_data, oix, {{2, 0.25F}, {0, 1}, 0});
    EXPECT_EQ(y.extents, (dims {1, 2, 2, 2}));
    EXPECT_EQ(y.values, (floats {0, 2, 6, 8, 0.5F, 0.625F, 0.875F, 1}));
    a.is_oix = a.is_ncx = false;
    EXPECT_EQ(convolution(a, known({1, 3, 3, 1}, data), of_data, xio, {{2, 0.25F}, {0, 1}, 3}).values,
            (floats {0, 0.5F, 2, 0.625F, 6, 0.875F, 8, 1}));
    a = {true, true, 1, "SAME_UPPER", {1, 1}, {1, 1}, {}};
    EXPECT_EQ(convolution(a, known({1, 1, 3, 3}, data), of_data, oix, {{2, 0.25F}, {0, 1}, 0}).values,
            (floats {0, 2, 0, 6, 8, 3, 4, 5, 6, 0.5F, 0.625F, 0, 0.875F, 1, 0.375F, -0.75F, -0.875F, 0.75F}));
    // Two groups of a channel, every second element of a line, pads of 1 and taps 2 apart: 0 5 | 0 7 and 5 7 | 7 8.
    a = {true, true, 2, "None", {2}, {2}, {1, 1}};
    const auto groups =
            convolution(a, known({1, 2, 4}, {4, 5, 6, 7, 1, 7, 3, 8}), {{1}}, known({2, 1, 2}, {10, 1, 1, 100}), {{1}});
    EXPECT_EQ(groups.extents, (dims {1, 2, 2}));
    EXPECT_EQ(groups.values, (floats {5, 57, 700, 807}));
    EXPECT_FALSE(fits(a, {1, 3, 4}, {2, 1, 2}));
    EXPECT_FALSE(fits(a, {1, 2, 4}, {2, 1, 4}));
    EXPECT_TRUE(fits(a, {1, 2, 4}, {2, 1, 3}));
}

TEST(dqbench_layers, quantizes_and_tells_ties) {
    // Quotients 4 1.5 12 3.5, and 1 more: 2.5 and 4.5 are ties. The bounds are far below a step.
    const auto y = quantize(product(x, of_x, false, w, of_w, false), {{0.25F}, {1}}, -128, 10);
    EXPECT_EQ(y.values, (integers {5, 2, 10, 4}));
    EXPECT_EQ(y.least, (integers {5, 2, 10, 4}));
    EXPECT_EQ(y.most, (integers {5, 3, 10, 5}));
    EXPECT_EQ(quantize(exact({1, 2}, {3, 3}), {{1, 2}, {}, 1}, -128, 127).values, (integers {3, 2})); // 1.5 is a tie
}

TEST(dqbench_layers, functions_are_those_of_the_reference) {
    const auto of = exact({4}, {-2, 0.5F, 1.5F, 6});
    EXPECT_EQ(apply(function::relu, of, 0, 0).values, (floats {0, 0.5F, 1.5F, 6}));
    EXPECT_EQ(apply(function::clamp, of, -1, 2).values, (floats {-1, 0.5F, 1.5F, 2}));
    EXPECT_EQ(apply(function::leaky_relu, of, 0.25F, 0).values, (floats {-0.5F, 0.5F, 1.5F, 6}));
    EXPECT_EQ(apply(function::hard_sigmoid, of, 0.5F, 0.25F).values, (floats {0, 0.5F, 1, 1}));
    EXPECT_EQ(apply(function::hard_swish, exact({2}, {1.5F, 6}), 0, 0).values, (floats {1.125F, 6})); // 0.25 + 0.5
    const auto by = exact({2, 1}, {2, -4});
    EXPECT_EQ(apply(binary::add, exact({2}, {1, 3}), by).values, (floats {3, 5, -3, -1}));
    EXPECT_EQ(apply(binary::subtract, exact({2}, {1, 3}), by).values, (floats {-1, 1, 5, 7}));
    EXPECT_EQ(apply(binary::multiply, exact({2}, {1, 3}), by).values, (floats {2, 6, -4, -12}));
    EXPECT_EQ(apply(binary::divide, exact({2}, {1, 3}), by).values, (floats {0.5F, 1.5F, -0.25F, -0.75F}));
    EXPECT_EQ(apply(binary::prelu, exact({2}, {-1, 3}), exact({1}, {0.5F})).values, (floats {-0.5F, 3}));
}

TEST(dqbench_layers, bounds_grow_as_functions_are_steep) {
    const reals of {{1}, {3}, {0.5}};
    const auto bound = [](const reals &r) { return r.bounds[0]; };
    EXPECT_EQ(bound(apply(function::relu, of, 0, 0)), 0.5);
    EXPECT_NEAR(bound(apply(function::leaky_relu, of, 4, 0)), 2, 1e-5);
    EXPECT_NEAR(bound(apply(function::hard_sigmoid, of, -2, 0)), 1, 1e-5);
    EXPECT_NEAR(bound(apply(function::hard_swish, of, 0, 0)), 0.75, 1e-5);
    EXPECT_NEAR(bound(apply(binary::add, of, of)), 1, 1e-5);
    EXPECT_NEAR(bound(apply(binary::multiply, of, exact({1}, {-2}))), 1, 1e-5);
    EXPECT_NEAR(bound(apply(binary::multiply, of, of)), 3.25, 1e-5); // 3.5 * 3.5 - 9
    EXPECT_NEAR(bound(apply(binary::divide, of, exact({1}, {0.25F}))), 2, 1e-5);
    EXPECT_NEAR(bound(apply(binary::divide, exact({1}, {9}), of)), 0.6, 1e-5); // 9 / 2.5 - 3
    EXPECT_TRUE(std::isinf(bound(apply(binary::divide, of, {{1}, {0.25F}, {0.5}}))));
    EXPECT_NEAR(bound(apply(binary::prelu, of, exact({1}, {-3}))), 1.5, 1e-5);
}

} // namespace
