// Quantize computes dst = round(src / scales + zps), with scales and zps from attributes: clause by clause of its
// specification. See quantize_numerics.cpp for rounding, saturation and special values.
#include "operator_test.hpp"

namespace dynquant::test {
namespace {

single_op quantize(dims shape, floats scales, std::vector<std::int64_t> zps = {}) {
    return make(kind::Quantize, std::move(shape), std::move(scales), std::move(zps));
}

class quantize_strict : public operator_test {};

TEST_P(quantize_strict, per_tensor_divides_by_the_scale_and_adds_the_zero_point) {
    auto op = quantize({5}, {0.1f}, {-7});
    op.qtype = "per_tensor";
    EXPECT_EQ(quantized(op, {0, 0.1f, -0.1f, 1.02f, -3.28f}), (ints {-7, -6, -8, 3, -40}));
}

TEST_P(quantize_strict, per_channel_takes_scale_and_zero_point_along_axis) {
    auto op = quantize({2, 3}, {0.1f, 1, 10}, {1, 2, 3});
    op.qtype = "per_channel";
    op.axis = 1;
    EXPECT_EQ(quantized(op, {1, 20, 200, -1, -20, -200}), (ints {11, 22, 23, -9, -18, -17}));
}

TEST_P(quantize_strict, qtype_is_per_tensor_by_default) {
    EXPECT_EQ(quantized(quantize({2, 2}, {3}, {1}), {3, 6, 9, 12}), (ints {2, 3, 4, 5}));
}

TEST_P(quantize_strict, axis_is_1_by_default) {
    auto op = quantize({2, 3}, {1, 2, 3}, {0, 1, 2});
    op.qtype = "per_channel";
    EXPECT_EQ(quantized(op, {60, 60, 60, 60, 60, 60}), (ints {60, 31, 22, 60, 31, 22}));
}

TEST_P(quantize_strict, axis_counts_from_the_front_or_from_the_end) {
    auto op = quantize({2, 2, 2}, {1, 2}, {10, 20});
    op.qtype = "per_channel";
    const ints by_axis[] = {
            {12, 14, 16, 18, 21, 22, 23, 24}, {12, 14, 23, 24, 12, 14, 23, 24}, {12, 22, 16, 24, 12, 22, 16, 24}};
    for (const std::int64_t axis : {0, 1, 2, -3, -2, -1}) {
        op.axis = axis;
        EXPECT_EQ(quantized(op, {2, 4, 6, 8, 2, 4, 6, 8}), by_axis[(axis + 3) % 3]) << axis;
    }
}

TEST_P(quantize_strict, axis_does_not_matter_per_tensor) {
    auto op = quantize({2, 2}, {2});
    op.axis = -77;
    EXPECT_EQ(quantized(op, {2, 4, 6, 8}), (ints {1, 2, 3, 4}));
}

TEST_P(quantize_strict, zps_are_zero_when_left_out) {
    EXPECT_EQ(quantized(quantize({4}, {0.2f}), {0, 1, -1, 5}), (ints {0, 5, -5, 25}));
}

TEST_P(quantize_strict, dst_type_is_s8_or_u8) {
    auto op = quantize({6}, {1});
    op.integer = s8;
    EXPECT_EQ(quantized(op, {-300, -128, -1, 127, 128, 300}), (ints {-128, -128, -1, 127, 127, 127}));
    op.integer = u8;
    EXPECT_EQ(quantized(op, {-300, -128, -1, 127, 128, 300}), (ints {0, 0, 0, 127, 128, 255}));
}

TEST_P(quantize_strict, zps_may_lie_beyond_the_range_of_dst) {
    auto op = quantize({2, 2}, {1, 1}, {1000, -1000});
    op.qtype = "per_channel";
    EXPECT_EQ(quantized(op, {-1000, 1000, 0, 0}), (ints {0, 0, 127, -128}));
}

TEST_P(quantize_strict, zps_may_be_as_large_as_s32_goes) {
    auto op = quantize({1, 2}, {1, 1}, {2147483647, -2147483648});
    op.qtype = "per_channel";
    EXPECT_EQ(quantized(op, {-0x1p31f, 0x1p31f}), (ints {0, 0})); // 2147483647 is 2^31 as a float
}

INSTANTIATE_TEST_SUITE_P(
        kernels, quantize_strict, testing::ValuesIn(universal_variants()), testing::PrintToStringParamName());

// Includes the onednn kernel, which takes scales that are powers of two and dst of u8 under strict numerics.
class quantize_powers_of_two : public operator_test {
  protected:
    static single_op to_u8(single_op op) {
        op.integer = u8;
        return op;
    }
};

TEST_P(quantize_powers_of_two, per_tensor_divides_by_the_scale_and_adds_the_zero_point) {
    const auto op = to_u8(quantize({2, 4}, {0.25f}, {100}));
    EXPECT_EQ(quantized(op, {0, 0.25f, 1, -1, 50, -50, 0.375f, 0.625f}), (ints {100, 101, 104, 96, 255, 0, 102, 102}));
}

TEST_P(quantize_powers_of_two, per_channel_takes_the_scale_along_axis) {
    auto op = to_u8(quantize({2, 3, 2}, {0.5f, 1, 1024}));
    op.qtype = "per_channel";
    op.axis = -2;
    EXPECT_EQ(quantized(op, {8, 1, 8, 1.5f, 8192, 1536, 8, 2, 8, 2.5f, 8192, 2560}),
            (ints {16, 2, 8, 2, 8, 2, 16, 4, 8, 2, 8, 2}));
}

TEST_P(quantize_powers_of_two, special_values_saturate_and_nan_gives_the_lowest) {
    const auto op = to_u8(quantize({1, 5}, {0.5f}, {3}));
    EXPECT_EQ(quantized(op, {infinity, -infinity, nan, -0.0f, 1e38f}), (ints {255, 0, 0, 3, 255}));
}

INSTANTIATE_TEST_SUITE_P(
        kernels, quantize_powers_of_two, testing::ValuesIn(all_variants()), testing::PrintToStringParamName());

} // namespace
} // namespace dynquant::test
