// DynamicDequantize and Dequantize compute dst = (src - zps) * scales, Dequantize with scales and zps from attributes:
// clause by clause of their specifications. See dequantize_numerics.cpp for rounding and special values.
#include "operator_test.hpp"

namespace dynquant::test {
namespace {

const std::vector<kind> both = {kind::DynamicDequantize, kind::Dequantize};

class dequantize_any_zps : public operator_test {};

TEST_P(dequantize_any_zps, per_tensor_with_s32_zps) {
    const auto op = make({2, 2}, {0.5f}, {1000});
    EXPECT_EQ(dequantized(op, {-128, -1, 0, 127}), (floats {-564, -500.5f, -500, -436.5f}));
}

TEST_P(dequantize_any_zps, per_channel_takes_scale_and_zero_point_along_axis) {
    auto op = make({2, 3, 2}, {1, 2, 4}, {0, 10, -5});
    op.qtype = "per_channel";
    op.axis = 1;
    EXPECT_EQ(dequantized(op, {8, -8, 14, 6, -3, -7, 8, -8, 14, 6, -3, -7}),
            (floats {8, -8, 8, -8, 8, -8, 8, -8, 8, -8, 8, -8}));
}

TEST_P(dequantize_any_zps, axis_is_1_by_default) {
    auto op = make({2, 3}, {1, 2, 3}, {1, 1, 2});
    op.qtype = "per_channel";
    EXPECT_EQ(dequantized(op, {5, 5, 5, -5, -5, -5}), (floats {4, 8, 9, -6, -12, -21}));
}

TEST_P(dequantize_any_zps, axis_counts_from_the_front_or_from_the_end) {
    auto op = make({2, 2, 2}, {1, 2}, {0, 100});
    op.qtype = "per_channel";
    const ints by_axis[] = {
            {2, 4, 6, 8, 101, 102, 103, 104}, {2, 4, 103, 104, 2, 4, 103, 104}, {2, 102, 6, 104, 2, 102, 6, 104}};
    for (const std::int64_t axis : {0, 1, 2, -3, -2, -1}) {
        op.axis = axis;
        EXPECT_EQ(dequantized(op, by_axis[(axis + 3) % 3]), (floats {2, 4, 6, 8, 2, 4, 6, 8})) << axis;
    }
}

TEST_P(dequantize_any_zps, zps_of_any_type_go_with_any_src_type) { // attributes have one type
    for (const auto zps_type : {s8, u8, s32})
        for (const auto integer : {s8, u8}) {
            auto op = make({2, 3}, {1, 2, 4}, {3, 5, 120});
            op.qtype = "per_channel";
            op.zps_type = zps_type;
            op.integer = integer;
            EXPECT_EQ(dequantized(op, {7, 9, 124, 15, 17, 121}), (floats {4, 8, 16, 12, 24, 4}));
        }
}

TEST_P(dequantize_any_zps, zps_may_be_as_large_as_s32_goes) {
    // The difference is exact, in 33 bits, and then rounded: floats are 128 apart below 2^31, and 256 above.
    auto op = make({2}, {0.5f}, {std::numeric_limits<std::int32_t>::min()});
    EXPECT_EQ(dequantized(op, {127, -128}), (floats {0x1p30f, 0x1.fffffep29f})); // 2^31 + 127 and 2^31 - 128
    op = make({2}, {0.5f}, {std::numeric_limits<std::int32_t>::max()});
    EXPECT_EQ(dequantized(op, {127, -128}), (floats {-0x1.fffffep29f, -0x1p30f})); // -2^31 + 128 and -2^31 - 127
    op = make({2}, {1}, {std::numeric_limits<std::int32_t>::min()});
    op.integer = u8;
    EXPECT_EQ(dequantized(op, {128, 255}), (floats {0x1p31f, 0x1.000002p31f})); // a tie to even, and 1 below a float
    op = make({1, 2}, {1, 1}, {2147483647, -2147483648});
    op.qtype = "per_channel";
    EXPECT_EQ(dequantized(op, {127, 127}), (floats {-0x1.fffffep30f, 0x1p31f})); // 2^31 - 128 is a float
}

INSTANTIATE_TEST_SUITE_P(kernels, dequantize_any_zps, testing::ValuesIn(each(both, universal_variants())),
        testing::PrintToStringParamName());

// Includes the onednn kernel, which takes s8 and u8 zps per tensor, as an attribute one zp within 2^24 - 256, and none
// per channel.
class dequantize_small_zps : public operator_test {
  protected:
    static single_op make(dims shape, floats scales, std::vector<std::int64_t> zps = {}) {
        auto op = operator_test::make(std::move(shape), std::move(scales), std::move(zps));
        op.zps_type = s8;
        return op;
    }
};

TEST_P(dequantize_small_zps, per_tensor_subtracts_the_zero_point_and_multiplies_by_the_scale) {
    auto op = make({5}, {0.125f}, {-7});
    op.qtype = "per_tensor";
    EXPECT_EQ(dequantized(op, {-7, -6, -8, 3, 113}), (floats {0, 0.125f, -0.125f, 1.25f, 15}));
    op = make({2, 3}, {0.5f}, {10});
    for (const auto zps_type : {s8, u8}) {
        op.zps_type = zps_type;
        EXPECT_EQ(dequantized(op, {10, 11, 12, 8, 50, -50}), (floats {0, 0.5f, 1, -1, 20, -30}));
    }
}

TEST_P(dequantize_small_zps, per_channel_takes_the_scale_along_axis) {
    auto op = make({2, 3, 2}, {1, 0.3f, 4});
    op.qtype = "per_channel";
    // 0.3f is 0x1.333334p-2, and three times that is a float.
    EXPECT_EQ(dequantized(op, {8, -8, 1, 3, 8, -8, 8, -8, -1, 3, 8, -8}),
            (floats {8, -8, 0.3f, 0x1.cccccep-1f, 32, -32, 8, -8, -0.3f, 0x1.cccccep-1f, 32, -32}));
}

TEST_P(dequantize_small_zps, axis_counts_from_the_front_or_from_the_end) {
    auto op = make({2, 2, 2}, {1, 2});
    op.qtype = "per_channel";
    const floats by_axis[] = {{1, 2, 3, 4, 2, 4, 6, 8}, {1, 2, 6, 8, 1, 2, 6, 8}, {1, 4, 3, 8, 1, 4, 3, 8}};
    for (const std::int64_t axis : {0, 1, 2, -3, -2, -1}) {
        op.axis = axis;
        EXPECT_EQ(dequantized(op, {1, 2, 3, 4, 1, 2, 3, 4}), by_axis[(axis + 3) % 3]) << axis;
    }
}

TEST_P(dequantize_small_zps, qtype_is_per_tensor_by_default) {
    EXPECT_EQ(dequantized(make({2, 2}, {3}, {1}), {2, 3, 4, 5}), (floats {3, 6, 9, 12}));
}

TEST_P(dequantize_small_zps, axis_does_not_matter_per_tensor) {
    auto op = make({2, 2}, {2});
    op.axis = -77;
    EXPECT_EQ(dequantized(op, {1, 2, 3, 4}), (floats {2, 4, 6, 8}));
    op.qtype = "per_tensor";
    op.axis = 77;
    EXPECT_EQ(dequantized(op, {1, 2, 3, 4}), (floats {2, 4, 6, 8}));
}

TEST_P(dequantize_small_zps, zps_are_zero_when_left_out) {
    EXPECT_EQ(dequantized(make({4}, {0.25f}), {0, 4, -4, 20}), (floats {0, 1, -1, 5}));
}

TEST_P(dequantize_small_zps, src_type_is_s8_or_u8) {
    auto op = make({3}, {0.5f}, {1});
    op.integer = s8;
    EXPECT_EQ(dequantized(op, {-128, 0, 127}), (floats {-64.5f, -0.5f, 63}));
    op.integer = u8;
    EXPECT_EQ(dequantized(op, {0, 128, 255}), (floats {-0.5f, 63.5f, 127}));
}

TEST_P(dequantize_small_zps, zps_may_be_at_either_end_of_their_type) {
    auto op = make({2}, {1}, {-128});
    EXPECT_EQ(dequantized(op, {-128, 127}), (floats {0, 255}));
    op = make({2}, {1}, {255});
    op.zps_type = u8;
    EXPECT_EQ(dequantized(op, {-128, 127}), (floats {-383, -128}));
}

INSTANTIATE_TEST_SUITE_P(kernels, dequantize_small_zps, testing::ValuesIn(each(both, all_variants())),
        testing::PrintToStringParamName());

class dequantize_by_attributes : public operator_test {};

TEST_P(dequantize_by_attributes, per_tensor_with_a_zero_point_beyond_the_range_of_src) {
    EXPECT_EQ(dequantized(make({2}, {1}, {(1 << 24) - 256}), {127, -128}), (floats {-16776833, -16777088}));
}

INSTANTIATE_TEST_SUITE_P(kernels, dequantize_by_attributes, testing::ValuesIn(each({kind::Dequantize}, all_variants())),
        testing::PrintToStringParamName());

} // namespace
} // namespace dynquant::test
