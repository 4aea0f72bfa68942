// DynamicQuantize and Quantize compute dst = round(src / scales + zps), Quantize with scales and zps from attributes:
// clause by clause of their specifications. See quantize_numerics.cpp for rounding, saturation and special values.
#include "operator_test.hpp"

namespace dynquant::test {
namespace {

const std::vector<kind> both = {kind::DynamicQuantize, kind::Quantize};

class quantize_strict : public operator_test {};

TEST_P(quantize_strict, per_tensor_divides_by_the_scale_and_adds_the_zero_point) {
    auto op = make({5}, {0.1f}, {-7});
    op.qtype = "per_tensor";
    EXPECT_EQ(quantized(op, {0, 0.1f, -0.1f, 1.02f, -3.28f}), (ints {-7, -6, -8, 3, -40}));
    op = make({2, 3}, {0.5f}, {10});
    op.qtype = "per_tensor";
    EXPECT_EQ(quantized(op, {0, 0.5f, 1, -1, 20, -30}), (ints {10, 11, 12, 8, 50, -50}));
}

TEST_P(quantize_strict, per_channel_takes_scale_and_zero_point_along_axis) {
    auto op = make({2, 3, 2}, {1, 2, 4}, {0, 10, -5});
    op.qtype = "per_channel";
    op.axis = 1;
    // 8 and -8 in every channel: / 1 + 0, / 2 + 10, / 4 - 5.
    EXPECT_EQ(quantized(op, {8, -8, 8, -8, 8, -8, 8, -8, 8, -8, 8, -8}),
            (ints {8, -8, 14, 6, -3, -7, 8, -8, 14, 6, -3, -7}));
    op = make({2, 3}, {0.1f, 1, 10}, {1, 2, 3});
    op.qtype = "per_channel";
    EXPECT_EQ(quantized(op, {1, 20, 200, -1, -20, -200}), (ints {11, 22, 23, -9, -18, -17}));
}

TEST_P(quantize_strict, qtype_is_per_tensor_by_default) {
    EXPECT_EQ(quantized(make({2, 2}, {3}, {1}), {3, 6, 9, 12}), (ints {2, 3, 4, 5}));
}

TEST_P(quantize_strict, axis_is_1_by_default) {
    auto op = make({2, 3}, {1, 2, 3}, {0, 1, 2});
    op.qtype = "per_channel";
    EXPECT_EQ(quantized(op, {60, 60, 60, 60, 60, 60}), (ints {60, 31, 22, 60, 31, 22}));
}

TEST_P(quantize_strict, axis_counts_from_the_front_or_from_the_end) {
    auto op = make({2, 2, 2}, {1, 2}, {0, 100});
    op.qtype = "per_channel";
    const ints by_axis[] = {
            {2, 4, 6, 8, 101, 102, 103, 104}, {2, 4, 103, 104, 2, 4, 103, 104}, {2, 102, 6, 104, 2, 102, 6, 104}};
    for (const std::int64_t axis : {0, 1, 2, -3, -2, -1}) {
        op.axis = axis;
        EXPECT_EQ(quantized(op, {2, 4, 6, 8, 2, 4, 6, 8}), by_axis[(axis + 3) % 3]) << axis;
    }
}

TEST_P(quantize_strict, axis_does_not_matter_per_tensor) {
    auto op = make({2, 2}, {2});
    op.axis = -77;
    EXPECT_EQ(quantized(op, {2, 4, 6, 8}), (ints {1, 2, 3, 4}));
    op.qtype = "per_tensor";
    op.axis = 77;
    EXPECT_EQ(quantized(op, {2, 4, 6, 8}), (ints {1, 2, 3, 4}));
}

TEST_P(quantize_strict, zps_are_zero_when_left_out) {
    EXPECT_EQ(quantized(make({4}, {0.2f}), {0, 1, -1, 5}), (ints {0, 5, -5, 25}));
}

TEST_P(quantize_strict, dst_type_is_s8_or_u8) {
    auto op = make({6}, {1});
    op.integer = s8;
    EXPECT_EQ(quantized(op, {-300, -128, -1, 127, 128, 300}), (ints {-128, -128, -1, 127, 127, 127}));
    op.integer = u8;
    EXPECT_EQ(quantized(op, {-300, -128, -1, 127, 128, 300}), (ints {0, 0, 0, 127, 128, 255}));
}

TEST_P(quantize_strict, zps_of_any_type_go_with_any_dst_type) { // attributes have one type
    for (const auto zps_type : {s8, u8, s32})
        for (const auto integer : {s8, u8}) {
            auto op = make({2, 3}, {1, 2, 4}, {3, 5, 120});
            op.qtype = "per_channel";
            op.zps_type = zps_type;
            op.integer = integer;
            EXPECT_EQ(quantized(op, {4, 8, 16, 12, 24, 4}), (ints {7, 9, 124, 15, 17, 121}));
        }
}

TEST_P(quantize_strict, zps_may_lie_beyond_the_range_of_dst) {
    auto op = make({4}, {1}, {200});
    op.zps_type = u8; // dst is s8
    EXPECT_EQ(quantized(op, {0, -100, -328, -400}), (ints {127, 100, -128, -128}));
    op = make({4}, {1}, {-100});
    op.integer = u8;
    op.zps_type = s8;
    EXPECT_EQ(quantized(op, {0, 100, 101, 355}), (ints {0, 0, 1, 255}));
    op = make({4}, {1}, {100000});
    EXPECT_EQ(quantized(op, {0, -100000, -100005, -99990}), (ints {127, 0, -5, 10}));
    op = make({2, 2}, {1, 1}, {1000, -1000});
    op.qtype = "per_channel";
    EXPECT_EQ(quantized(op, {-1000, 1000, 0, 0}), (ints {0, 0, 127, -128}));
}

TEST_P(quantize_strict, zps_may_be_as_large_as_s32_goes) {
    // As floats: 2147483647 is 2^31, and -2147483648 is -2^31. Neighbours below 2^31 are 128 apart.
    auto op = make({3}, {1}, {std::numeric_limits<std::int32_t>::max()});
    EXPECT_EQ(quantized(op, {0, -0x1p31f, -0x1.fffffep30f}), (ints {127, 0, 127}));
    op = make({3}, {1}, {std::numeric_limits<std::int32_t>::min()});
    EXPECT_EQ(quantized(op, {0, 0x1p31f, 0x1.fffffep30f}), (ints {-128, 0, -128}));
    op = make({1, 2}, {1, 1}, {2147483647, -2147483648});
    op.qtype = "per_channel";
    EXPECT_EQ(quantized(op, {-0x1p31f, 0x1p31f}), (ints {0, 0}));
}

INSTANTIATE_TEST_SUITE_P(kernels, quantize_strict, testing::ValuesIn(each(both, universal_variants())),
        testing::PrintToStringParamName());

// Includes the onednn kernel under fpmath mode any, which takes one zp per tensor and none per channel.
class quantize_any : public operator_test {
  protected:
    static single_op any(single_op op) {
        op.fpmath = dg::fpmath_mode::any;
        return op;
    }
};

TEST_P(quantize_any, per_tensor_divides_by_the_scale_and_adds_the_zero_point) {
    for (const auto zps_type : {s8, u8, s32})
        for (const auto integer : {s8, u8}) {
            auto op = any(make({2, 3}, {0.5f}, {60}));
            op.zps_type = zps_type;
            op.integer = integer;
            EXPECT_EQ(quantized(op, {0, 0.5f, 1, -1, 20, -30}), (ints {60, 61, 62, 58, 100, 0}));
        }
}

TEST_P(quantize_any, per_channel_takes_the_scale_along_axis) {
    auto op = any(make({2, 3, 2}, {1, 0.3f, 4}));
    op.qtype = "per_channel";
    // 3.1 / 0.3 = 10.33: the error of the reciprocal shows only near ties.
    EXPECT_EQ(quantized(op, {8, -8, 3.1f, -3.1f, 8, -8, 8, -8, 3.1f, -3.1f, 8, -8}),
            (ints {8, -8, 10, -10, 2, -2, 8, -8, 10, -10, 2, -2}));
}

TEST_P(quantize_any, negative_axis_counts_from_the_end) {
    auto op = any(make({2, 2, 2}, {1, 2}));
    op.qtype = "per_channel";
    op.axis = -3;
    EXPECT_EQ(quantized(op, {2, 4, 6, 8, 2, 4, 6, 8}), (ints {2, 4, 6, 8, 1, 2, 3, 4}));
    op.axis = -1;
    EXPECT_EQ(quantized(op, {2, 4, 6, 8, 2, 4, 6, 8}), (ints {2, 2, 6, 4, 2, 2, 6, 4}));
}

TEST_P(quantize_any, saturates) {
    auto op = any(make({6}, {0.01f}, {-3}));
    EXPECT_EQ(quantized(op, {-1e30f, -1.25f, 1.29f, 1.31f, 1e30f, infinity}), (ints {-128, -128, 126, 127, 127, 127}));
    op.integer = u8;
    EXPECT_EQ(quantized(op, {-infinity, -1, 0.04f, 2.57f, 2.6f, 1e30f}), (ints {0, 0, 1, 254, 255, 255}));
}

INSTANTIATE_TEST_SUITE_P(
        kernels, quantize_any, testing::ValuesIn(each(both, all_variants())), testing::PrintToStringParamName());

// Includes the onednn kernel, which takes scales that are powers of two and dst of u8 under strict numerics.
class quantize_powers_of_two : public operator_test {
  protected:
    static single_op to_u8(single_op op) {
        op.integer = u8;
        return op;
    }
};

TEST_P(quantize_powers_of_two, per_tensor_divides_by_the_scale_and_adds_the_zero_point) {
    const auto op = to_u8(make({2, 4}, {0.25f}, {100}));
    EXPECT_EQ(quantized(op, {0, 0.25f, 1, -1, 50, -50, 0.375f, 0.625f}), (ints {100, 101, 104, 96, 255, 0, 102, 102}));
}

TEST_P(quantize_powers_of_two, per_channel_takes_the_scale_along_axis) {
    auto op = to_u8(make({2, 3, 2}, {0.5f, 1, 1024}));
    op.qtype = "per_channel";
    op.axis = -2;
    EXPECT_EQ(quantized(op, {8, 1, 8, 1.5f, 8192, 1536, 8, 2, 8, 2.5f, 8192, 2560}),
            (ints {16, 2, 8, 2, 8, 2, 16, 4, 8, 2, 8, 2}));
}

TEST_P(quantize_powers_of_two, special_values_saturate_and_nan_gives_the_lowest) {
    const auto op = to_u8(make({1, 5}, {0.5f}, {3}));
    EXPECT_EQ(quantized(op, {infinity, -infinity, nan, -0.0f, 1e38f}), (ints {255, 0, 0, 3, 255}));
}

INSTANTIATE_TEST_SUITE_P(kernels, quantize_powers_of_two, testing::ValuesIn(each({kind::Quantize}, all_variants())),
        testing::PrintToStringParamName());

} // namespace
} // namespace dynquant::test
