// Shapes that numpy broadcasts, and where their elements lie, worked out by hand.
#include "quantization/broadcast.hpp"

#include <gtest/gtest.h>

namespace dynquant::test {
namespace {

TEST(broadcast, shapes) {
    EXPECT_EQ(broadcast_shape({2, 3}, {2, 3}), (dims {2, 3}));
    EXPECT_EQ(broadcast_shape({4, 1, 3}, {2, 1}), (dims {4, 2, 3}));
    EXPECT_EQ(broadcast_shape({}, {5}), (dims {5}));
    EXPECT_EQ(broadcast_shape({0}, {1}), (dims {0}));
    EXPECT_EQ(broadcast_shape({2}, {3}), std::nullopt);
    EXPECT_EQ(broadcast_shape({3, 2}, {3}), std::nullopt); // dims are compared from the last one on
}

TEST(broadcast, strides_are_0_where_a_tensor_repeats) {
    EXPECT_EQ(broadcast_strides({2, 1, 3}, {4, 2, 5, 3}), (dims {0, 3, 0, 1}));
    EXPECT_EQ(broadcast_strides({}, {2, 3}), (dims {0, 0}));
}

TEST(broadcast, offsets_by_row_major_index) {
    const dims shape = {2, 3}, strides = {10, 100};
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i < 6; ++i)
        offsets.push_back(offset_of(i, shape, strides));
    EXPECT_EQ(offsets, (std::vector<std::int64_t> {0, 100, 200, 10, 110, 210}));
    EXPECT_EQ(offset_of(0, {}, {}), 0);
    EXPECT_EQ(offset_of(5, shape, dims {10, 100, 7}), 210); // a stride more than the shape has dims
}

} // namespace
} // namespace dynquant::test
