// What the costs of layers are made of: counts of vectors, tiles, sums and copies, worked out by hand.
#include <gtest/gtest.h>

#include "layers/conv/window.hpp"
#include "onnxruntime/common/integer_cost.hpp"
#include "onnxruntime/common/weight_only_cost.hpp"

namespace dynquant::onnxruntime {
namespace {

TEST(cost_counts, of_a_product_of_weights_alone) {
    weight_only_extents e;
    e.rows = 7; // two tiles of 6
    e.inner = 10;
    e.columns = 20;
    e.block = 4; // three blocks
    e.weights = data_type::u4;
    auto counts = counts_of(e, targets::avx512); // 20 columns fill two vectors of 16, two sixteens
    EXPECT_EQ(counts.here, (weight_only_counts {1, 7 * 10 * 2, 2 * 10 * 2, 7 * 20, 7 * 3 * 2, 7 * 10}));
    EXPECT_EQ(counts.in_ort, (weight_only_counts {1, 2 * 7 * 10, 7 * 20, 200, 200, 0, 0, 3 * 20}));
    e.columns = 33; // three vectors of 16 are two pairs; in ONNX Runtime they are three
    counts = counts_of(e, targets::avx512);
    EXPECT_EQ(counts.here[1], 7 * 10 * 4);
    EXPECT_EQ(counts.in_ort[1], 3 * 7 * 10);
    e.columns = 8; // one vector of 8, half of sixteen
    e.block = 0;
    e.weights = data_type::f8_e4m3;
    e.scales_are_along_rows = true;
    counts = counts_of(e, targets::avx2);
    EXPECT_EQ(counts.here, (weight_only_counts {1, 35, 10, 56, 3.5, 70}));
    EXPECT_EQ(counts.in_ort, (weight_only_counts {1, 70, 56, 80, 0, 80, 80, 0}));
}

TEST(cost_counts, of_windows_of_floats) {
    weight_only_extents e;
    e.is_convolution = e.has_windows = true;
    e.rows = 70;  // positions, in five vectors of 16
    e.inner = 27; // three channels of 3 x 3 taps
    e.columns = 40;
    e.taps = 9;
    e.taps_of_line = 3;
    e.groups = 2; // each has these extents; a run is one
    const auto counts = counts_of(e, targets::avx512);
    EXPECT_EQ(counts.here,
            (weight_only_counts {1, 2 * 5 * 27 * 40, 2 * 5 * 27, 2 * 70 * 40, 2 * 27 * 40, 2 * 70 * 9, 2 * 40}));
    EXPECT_EQ(counts.in_ort, (weight_only_counts {1, 2 * 5 * 27 * 40, 2 * 70 * 40, 2 * 27 * 40, 0, 0, 2, 2 * 70 * 27}));
    // Positions fill vectors also of few columns, less than a panel of 32 or 16; rows of few positions do not.
    e.groups = 1;
    e.rows = 20;
    e.columns = 31;
    EXPECT_EQ(counts_of(e, targets::avx512).here[6], 31);
    e.columns = 32;
    EXPECT_EQ(counts_of(e, targets::avx512).here[6], 0);
    EXPECT_EQ(counts_of(e, targets::avx2).here[6], 0);
    e.columns = 15;
    EXPECT_EQ(counts_of(e, targets::avx2).here[6], 15);
    e.columns = 16;
    EXPECT_EQ(counts_of(e, targets::avx2).here[6], 0);
    e.rows = 64;
    EXPECT_EQ(counts_of(e, targets::avx2).here[6], 0);
    e.rows = 65;
    EXPECT_EQ(counts_of(e, targets::avx2).here[6], 16);
}

TEST(cost_counts, of_products_of_integers_in_onnx_runtime) {
    layers::integer_convolution p;
    p.batch = 3;
    p.channels = 10;
    p.filters = 20; // two vectors of 16
    p.window = layers::window_of_products(7);
    p.window.y = {7}; // rows: two tiles of 6
    EXPECT_EQ(counts_in_ort(p), (integer_counts {1, 3, 3 * 2 * 10 * 7, 3 * 2 * 10 * 2, 3 * 7 * 10, 0, 0, 3 * 7 * 20}));
}

TEST(cost_counts, of_convolutions_of_integers_in_onnx_runtime) {
    layers::integer_convolution p;
    p.batch = 1;
    p.groups = 2;
    p.channels = 6;
    p.filters = 14; // seven of a group: two tiles of 6
    p.is_channels_first = true;
    p.window = layers::make_window({}, {6, 7}, {2, 3}); // 5 x 5 positions: two vectors
    const int inner = 3 * 6;
    EXPECT_EQ(counts_in_ort(p),
            (integer_counts {1, 2, 2 * 2 * inner * 7, 2 * 2 * inner * 2, 2 * 25 * inner, 2 * 25 * inner, 2 * 5 * inner,
                    2 * 25 * 7}));
}

} // namespace
} // namespace dynquant::onnxruntime
