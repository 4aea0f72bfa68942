// Products in plain code, of values worked out by hand.
#include "graph/layer/exact_product.hpp"

#include <gtest/gtest.h>

namespace dynquant::graph::core {
namespace {

// A zero point beyond the type and a scale for each two rows: (1 - 300) 1 + (-2 - 300) 2 = -903, (3 + 300) 3 +
// (4 + 300) 4 = 2125 and (5 - 0) 5 = 25, in the last block of one row.
TEST(multiply_plainly, scales_each_block_of_rows) {
    const std::int8_t weights[] = {1, -2, 3, 4, 5};
    const float x[] = {1, 2, 3, 4, 5};
    float y = 0;
    layers::weight_only_weights w {data_type::s8, 5, 1, reinterpret_cast<const std::byte *>(weights), false, 2,
            {0.5F, 2, 8}, {300, -300, 0}, 1};
    multiply_plainly(w, x, 1, &y);
    EXPECT_EQ(y, -903 * 0.5F + 2125 * 2 + 25 * 8);
    w.block = 9; // longer than there are rows
    w.scales = {0.5F};
    w.zero_points = {300};
    multiply_plainly(w, x, 1, &y);
    EXPECT_EQ(y, 0.5F * (-299 * 1 - 302 * 2 - 297 * 3 - 296 * 4 - 295 * 5));
}

// Rows less 300, -300 and 0, times 0.5, 2 and 4: -149.5 -149, 606 608, 20 24; times 1, 2 and 4.
TEST(multiply_plainly, scales_each_row) {
    const std::int8_t by_row[] = {1, 2, 3, 4, 5, 6}, by_column[] = {1, 3, 5, 2, 4, 6};
    const float x[] = {1, 2, 4};
    for (const bool is_transposed : {false, true}) {
        float y[2] = {};
        const layers::weight_only_weights w {data_type::s8, 3, 2,
                reinterpret_cast<const std::byte *>(is_transposed ? by_column : by_row), is_transposed, 1, {0.5F, 2, 4},
                {300, -300, 0}, 1};
        multiply_plainly(w, x, 1, y);
        EXPECT_EQ(y[0], -149.5F + 1212 + 80);
        EXPECT_EQ(y[1], -149.0F + 1216 + 96);
    }
}

} // namespace
} // namespace dynquant::graph::core
