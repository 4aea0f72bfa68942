// Dequantize computes dst = (src - zps) * scales, with scales and zps from attributes: clause by clause of its
// specification. See dequantize_numerics.cpp for rounding and special values.
#include "operator_test.hpp"

namespace dynquant::test {
namespace {

single_op dequantize(dims shape, floats scales, std::vector<std::int64_t> zps = {}) {
    return make(kind::Dequantize, std::move(shape), std::move(scales), std::move(zps));
}

class dequantize_any_zps : public operator_test {};

TEST_P(dequantize_any_zps, per_channel_takes_scale_and_zero_point_along_axis) {
    auto op = dequantize({2, 3}, {0.5f, 1, 8}, {1, 2, 3});
    op.qtype = "per_channel";
    op.axis = 1;
    EXPECT_EQ(dequantized(op, {11, 22, 23, -9, -18, -17}), (floats {5, 20, 160, -5, -20, -160}));
}

TEST_P(dequantize_any_zps, axis_is_1_by_default) {
    auto op = dequantize({2, 3}, {1, 2, 3}, {0, 1, 2});
    op.qtype = "per_channel";
    EXPECT_EQ(dequantized(op, {60, 31, 22, 6, 3, 4}), (floats {60, 60, 60, 6, 4, 6}));
}

TEST_P(dequantize_any_zps, axis_counts_from_the_front_or_from_the_end) {
    auto op = dequantize({2, 2, 2}, {1, 2}, {10, 20});
    op.qtype = "per_channel";
    const ints by_axis[] = {
            {12, 14, 16, 18, 21, 22, 23, 24}, {12, 14, 23, 24, 12, 14, 23, 24}, {12, 22, 16, 24, 12, 22, 16, 24}};
    for (const std::int64_t axis : {0, 1, 2, -3, -2, -1}) {
        op.axis = axis;
        EXPECT_EQ(dequantized(op, by_axis[(axis + 3) % 3]), (floats {2, 4, 6, 8, 2, 4, 6, 8})) << axis;
    }
}

TEST_P(dequantize_any_zps, zps_may_be_as_large_as_s32_goes) {
    auto op = dequantize({1, 2}, {1, 1}, {2147483647, -2147483648});
    op.qtype = "per_channel";
    EXPECT_EQ(dequantized(op, {127, 127}), (floats {-0x1.fffffep30f, 0x1p31f})); // 2^31 - 128 is a float
}

INSTANTIATE_TEST_SUITE_P(
        kernels, dequantize_any_zps, testing::ValuesIn(universal_variants()), testing::PrintToStringParamName());

// Includes the onednn kernel, which takes one zp within 2^24 - 256, and none per channel.
class dequantize_one_zero_point : public operator_test {};

TEST_P(dequantize_one_zero_point, per_tensor_subtracts_the_zero_point_and_multiplies_by_the_scale) {
    auto op = dequantize({5}, {0.125f}, {-7});
    op.qtype = "per_tensor";
    EXPECT_EQ(dequantized(op, {-7, -6, -8, 3, 113}), (floats {0, 0.125f, -0.125f, 1.25f, 15}));
}

TEST_P(dequantize_one_zero_point, per_tensor_with_a_zero_point_beyond_the_range_of_src) {
    const auto op = dequantize({2}, {1}, {(1 << 24) - 256});
    EXPECT_EQ(dequantized(op, {127, -128}), (floats {-16776833, -16777088}));
}

TEST_P(dequantize_one_zero_point, per_channel_takes_the_scale_along_axis) {
    auto op = dequantize({2, 3}, {0.5f, 1, 8});
    op.qtype = "per_channel";
    for (const std::int64_t axis : {1, -1}) {
        op.axis = axis;
        EXPECT_EQ(dequantized(op, {10, 20, 20, -10, -20, -20}), (floats {5, 20, 160, -5, -20, -160}));
    }
}

TEST_P(dequantize_one_zero_point, qtype_is_per_tensor_by_default) {
    EXPECT_EQ(dequantized(dequantize({2, 2}, {3}, {1}), {2, 3, 4, 5}), (floats {3, 6, 9, 12}));
}

TEST_P(dequantize_one_zero_point, axis_does_not_matter_per_tensor) {
    auto op = dequantize({2, 2}, {2});
    op.axis = -77;
    EXPECT_EQ(dequantized(op, {1, 2, 3, 4}), (floats {2, 4, 6, 8}));
}

TEST_P(dequantize_one_zero_point, zps_are_zero_when_left_out) {
    EXPECT_EQ(dequantized(dequantize({4}, {0.25f}), {0, 4, -4, 20}), (floats {0, 1, -1, 5}));
}

TEST_P(dequantize_one_zero_point, src_type_is_s8_or_u8) {
    auto op = dequantize({3}, {0.5f}, {1});
    op.integer = s8;
    EXPECT_EQ(dequantized(op, {-128, 0, 127}), (floats {-64.5f, -0.5f, 63}));
    op.integer = u8;
    EXPECT_EQ(dequantized(op, {0, 128, 255}), (floats {-0.5f, 63.5f, 127}));
}

INSTANTIATE_TEST_SUITE_P(
        kernels, dequantize_one_zero_point, testing::ValuesIn(all_variants()), testing::PrintToStringParamName());

} // namespace
} // namespace dynquant::test
