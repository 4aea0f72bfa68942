// Wrong attributes are refused at add_op, with a status and a message that says what is expected.
#include <cmath>
#include <limits>

#include "graph.hpp"

namespace dynquant::test {
namespace {

constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();

TEST(graph_attributes_refusals, axis_is_refused_outside_of_the_rank) {
    EXPECT_TRUE(refuses(
            dynamic_op {.axis = 2}, dnnl_invalid_arguments, "axis: expected a value in [-2, 1] for rank 2, given 2"));
    EXPECT_TRUE(refuses(
            dynamic_op {.axis = -3}, dnnl_invalid_arguments, "axis: expected a value in [-2, 1] for rank 2, given -3"));
}

TEST(graph_attributes_refusals, axis_is_refused_at_the_ends_of_s64) {
    EXPECT_TRUE(refuses(dynamic_op {.axis = least}, dnnl_invalid_arguments,
            "axis: expected a value in [-2, 1] for rank 2, given -9223372036854775808"));
    EXPECT_TRUE(refuses(dynamic_op {.axis = most}, dnnl_invalid_arguments,
            "axis: expected a value in [-2, 1] for rank 2, given 9223372036854775807"));
}

TEST(graph_attributes_refusals, axis_is_refused_outside_of_any_rank_while_the_rank_is_unknown) {
    const dynamic_op op {.src = lt(0, type::f32), .scales = lt(1, type::f32), .zps = {}, .dst = lt(3, type::u8)};
    for (const std::int64_t axis : {std::int64_t {12}, std::int64_t {-13}, least, most}) {
        auto one = op;
        one.axis = axis;
        EXPECT_TRUE(refuses(one, dnnl_invalid_arguments,
                "axis: expected a value in [-12, 11] for rank 12, given " + std::to_string(axis)));
    }
}

TEST(graph_attributes_refusals, axis_is_refused_for_rank_1_by_its_default_of_1) {
    const dynamic_op op {.src = f32(0, {4}), .dst = u8(3, {4})};
    EXPECT_TRUE(refuses(op, dnnl_invalid_arguments, "axis: expected a value in [-1, 0] for rank 1, given 1"));
}

TEST(graph_attributes_refusals, axis_has_no_value_for_rank_0) {
    const dynamic_op op {.src = f32(0, {}), .scales = f32(1, {1}), .zps = {}, .dst = u8(3, {}), .axis = 0};
    EXPECT_TRUE(
            refuses(op, dnnl_invalid_arguments, "qtype: expected per_tensor for a src of rank 0, given per_channel"));
}

TEST(graph_attributes_refusals, axis_is_refused_at_compile_when_the_rank_comes_then) {
    const dynamic_op op {.src = lt(0, type::f32), .dst = lt(3, type::u8), .axis = 3};
    EXPECT_TRUE(compile_refuses(op, dynamic_op {}.inputs(), {dynamic_op {}.dst}, dnnl_invalid_arguments,
            "axis: expected a value in [-2, 1] for rank 2, given 3"));
}

TEST(graph_attributes_refusals, axis_does_not_matter_per_tensor) {
    for (const auto axis : {std::int64_t {5}, least, most}) {
        const dynamic_op op {.scales = f32(1, {1}), .zps = {}, .qtype = "per_tensor", .axis = axis};
        EXPECT_NO_THROW(partition_of(op.make()));
    }
}

TEST(graph_attributes_refusals, qtype_is_refused_misspelt_with_a_near_name) {
    EXPECT_TRUE(refuses(dynamic_op {.qtype = "per_chanel"}, dnnl_invalid_arguments,
            "qtype: expected per_tensor, per_channel or per_group, given 'per_chanel' (did you mean 'per_channel'?)"));
    EXPECT_TRUE(refuses(static_op {.qtype = "per-tensor"}, dnnl_invalid_arguments,
            "qtype: expected per_tensor or per_channel, given 'per-tensor' (did you mean 'per_tensor'?)"));
}

TEST(graph_attributes_refusals, qtype_is_refused_when_unknown) {
    EXPECT_TRUE(refuses(dynamic_op {.qtype = "blockwise"}, dnnl_invalid_arguments,
            "qtype: expected per_tensor, per_channel or per_group, given 'blockwise'"));
}

TEST(graph_attributes_refusals, qtype_is_refused_when_empty) {
    EXPECT_TRUE(refuses(dynamic_op {.qtype = ""}, dnnl_invalid_arguments,
            "qtype: expected per_tensor, per_channel or per_group, given ''"));
}

TEST(graph_attributes_refusals, attribute_type_of_axis_is_one_s64) {
    EXPECT_TRUE(
            refuses_with(dynamic_op {}, attr::axis, 1.0f, "axis: expected a value of type s64, given one of type f32"));
    EXPECT_TRUE(refuses_with(
            dynamic_op {}, attr::axis, true, "axis: expected a value of type s64, given one of type bool"));
    EXPECT_TRUE(refuses_with(
            dynamic_op {}, attr::axis, std::vector<std::int64_t> {0, 1}, "axis: expected one value, given 2"));
}

TEST(graph_attributes_refusals, attribute_type_of_axis_is_checked_per_tensor) {
    const dynamic_op op {.scales = f32(1, {1}), .zps = {}, .qtype = "per_tensor"};
    EXPECT_TRUE(refuses_with(
            op, attr::axis, std::string("1"), "axis: expected a value of type s64, given one of type string"));
}

TEST(graph_attributes_refusals, attribute_type_of_qtype_is_string) {
    EXPECT_TRUE(refuses_with(dynamic_op {}, attr::qtype, std::int64_t {1},
            "qtype: expected a value of type string, given one of type s64"));
}

TEST(graph_attributes_refusals, attribute_type_of_scales_is_f32) {
    EXPECT_TRUE(refuses_with(static_op {}, attr::scales, std::vector<std::int64_t> {1, 2, 3, 4},
            "scales: expected a value of type f32, given one of type s64"));
}

TEST(graph_attributes_refusals, attribute_type_of_zps_is_s64) {
    EXPECT_TRUE(refuses_with(static_op {}, attr::zps, std::vector<float> {1, 2, 3, 4},
            "zps: expected a value of type s64, given one of type f32"));
}

TEST(graph_attributes_refusals, attribute_name_is_refused_unless_the_op_has_it) {
    EXPECT_TRUE(refuses_with(dynamic_op {}, attr::epsilon, 1e-5f,
            "epsilon: expected an attribute among qtype, axis, group_shape or mask, given epsilon"));
    EXPECT_TRUE(refuses_with(static_op {}, attr::keep_dims, true,
            "keep_dims: expected an attribute among qtype, axis, scales or zps, given keep_dims"));
}

TEST(graph_attributes_refusals, attribute_name_is_refused_for_scales_and_zps_of_a_dynamic_op) {
    EXPECT_TRUE(refuses_with(dynamic_op {}, attr::scales, std::vector<float> {1},
            "scales: expected an attribute among qtype, axis, group_shape or mask, given scales"));
    EXPECT_TRUE(refuses_with(dynamic_op {}, attr::zps, std::vector<std::int64_t> {1},
            "zps: expected an attribute among qtype, axis, group_shape or mask, given zps"));
}

TEST(graph_attributes_refusals, attribute_name_is_refused_when_it_is_newer_than_the_table) {
    const auto newer = static_cast<attr>(0xf0);
    EXPECT_TRUE(refuses_with(dynamic_op {}, newer, true,
            "attribute 240: expected an attribute among qtype, axis, group_shape or mask, given attribute 240"));
}

TEST(graph_attributes_refusals, scales_attribute_is_refused_when_missing) {
    for (const auto which : {kind::Quantize, kind::Dequantize}) {
        const bool quantize = which == kind::Quantize;
        const dg::op op(3, which, {quantize ? f32(0, {4}) : s8(0, {4})}, {quantize ? s8(1, {4}) : f32(1, {4})});
        EXPECT_TRUE(add_refuses(op, dnnl_invalid_graph_op,
                std::string("op 3 (") + (quantize ? "Quantize" : "Dequantize")
                        + "): scales: expected the attribute to be set, given none"));
    }
}

TEST(graph_attributes_refusals, scales_attribute_is_refused_when_empty) {
    EXPECT_TRUE(refuses(static_op {.scales = {}}, dnnl_invalid_arguments,
            "scales: expected a list of one or more values, given an empty one"));
}

TEST(graph_attributes_refusals, zps_attribute_is_refused_when_empty) {
    EXPECT_TRUE(refuses(static_op {.zps = std::vector<std::int64_t> {}}, dnnl_invalid_arguments,
            "zps: expected a list of one or more values, given an empty one"));
}

TEST(graph_attributes_refusals, scales_attribute_has_one_value_for_each_channel) {
    EXPECT_TRUE(refuses(static_op {.scales = {1, 2, 3}}, dnnl_invalid_shape,
            "scales: expected 4 elements (dims[1] of src), given 3"));
    EXPECT_TRUE(refuses(static_op {.scales = {1, 2, 3, 4, 5}}, dnnl_invalid_shape,
            "scales: expected 4 elements (dims[1] of src), given 5"));
    EXPECT_TRUE(refuses(static_op {.qtype = "per_tensor", .zps = {}}, dnnl_invalid_shape,
            "scales: expected 1 element (qtype per_tensor), given 4"));
}

TEST(graph_attributes_refusals, scales_attribute_may_hold_any_value) {
    const float inf = std::numeric_limits<float>::infinity();
    EXPECT_NO_THROW(partition_of(static_op {.scales = {0.0f, -1.0f, inf, std::nanf("")}}.make()));
}

TEST(graph_attributes_refusals, zps_attribute_has_one_value_for_each_channel) {
    EXPECT_TRUE(refuses(static_op {.zps = std::vector<std::int64_t> {1}}, dnnl_invalid_shape,
            "zps: expected 4 elements (dims[1] of src), given 1"));
    EXPECT_TRUE(refuses(static_op {.zps = std::vector<std::int64_t> {1, 2, 3, 4, 5}}, dnnl_invalid_shape,
            "zps: expected 4 elements (dims[1] of src), given 5"));
}

TEST(graph_attributes_refusals, zps_attribute_is_refused_beyond_s32) {
    EXPECT_TRUE(refuses(static_op {.zps = std::vector<std::int64_t> {0, 2147483648, 0, 0}}, dnnl_invalid_arguments,
            "zps: expected values within s32, given 2147483648 at index 1"));
    EXPECT_TRUE(refuses(static_op {.zps = std::vector<std::int64_t> {0, 0, 0, -2147483649}}, dnnl_invalid_arguments,
            "zps: expected values within s32, given -2147483649 at index 3"));
    EXPECT_NO_THROW(partition_of(static_op {.zps = std::vector<std::int64_t> {2147483647, -2147483648, 0, 0}}.make()));
}

TEST(graph_attributes_refusals, parameter_attributes_must_agree_while_the_channels_are_unknown) {
    const static_op op {.src = lt(0, type::f32), .dst = lt(3, type::u8), .scales = {1, 2}};
    EXPECT_TRUE(refuses(op, dnnl_invalid_shape, "zps: expected 2 elements (as many as scales), given 4"));
}

TEST(graph_attributes_refusals, parameter_attributes_must_agree_with_the_channels_of_compile) {
    const static_op op {.src = lt(0, type::f32), .dst = lt(3, type::u8)};
    EXPECT_TRUE(compile_refuses(op, {f32(0, {2, 5})}, {u8(3, {2, 5})}, dnnl_invalid_shape,
            "scales: expected 5 elements (dims[1] of src), given 4"));
}

TEST(graph_attributes_refusals, group_shape_is_refused_when_missing) {
    EXPECT_TRUE(refuses(group_op {.group_shape = {}}, dnnl_invalid_graph_op,
            "group_shape: expected the attribute to be set for qtype per_group, given none"));
}

TEST(graph_attributes_refusals, group_shape_has_the_rank_of_src) {
    EXPECT_TRUE(refuses(group_op {.group_shape = std::vector<std::int64_t> {4}}, dnnl_invalid_shape,
            "group_shape: expected a value for each dim of src, 2, given 1"));
}

TEST(graph_attributes_refusals, group_shape_is_positive) {
    for (const std::int64_t value : {0, -4})
        EXPECT_TRUE(refuses(group_op {.group_shape = std::vector<std::int64_t> {4, value}}, dnnl_invalid_arguments,
                "group_shape: expected values of 1 or more, given " + std::to_string(value) + " at dim 1"));
}

TEST(graph_attributes_refusals, group_shape_divides_the_dims) {
    EXPECT_TRUE(refuses(group_op {.group_shape = std::vector<std::int64_t> {3, 1}}, dnnl_invalid_shape,
            "group_shape: expected a divisor of dims[0] of src, 8, given 3 at dim 0"));
    EXPECT_TRUE(refuses(group_op {.group_shape = std::vector<std::int64_t> {16, 1}}, dnnl_invalid_shape,
            "group_shape: expected a divisor of dims[0] of src, 8, given 16 at dim 0"));
}

TEST(graph_attributes_refusals, group_shape_is_of_type_s64) {
    EXPECT_TRUE(refuses_with(group_op {.group_shape = {}}, dg::newer::group_shape, std::vector<float> {4, 1},
            "group_shape: expected a value of type s64, given one of type f32"));
}

TEST(graph_attributes_refusals, group_shape_is_refused_at_compile_when_the_dims_come_then) {
    const group_op op {.src = lt(0, dg::newer::s4),
            .scales = lt(1, type::f32),
            .dst = lt(3, type::f32),
            .group_shape = std::vector<std::int64_t> {3, 1}};
    const group_op known;
    EXPECT_TRUE(compile_refuses(op, known.inputs(), {known.dst}, dnnl_invalid_shape,
            "group_shape: expected a divisor of dims[0] of src, 8, given 3 at dim 0"));
}

TEST(graph_attributes_refusals, group_shape_is_refused_for_a_static_op) {
    EXPECT_TRUE(refuses(static_op {.qtype = "per_group"}, dnnl_invalid_arguments,
            "qtype: expected per_tensor or per_channel, given 'per_group'"));
}

TEST(graph_attributes_refusals, group_parameters_have_one_value_for_each_group) {
    EXPECT_TRUE(refuses(group_op {.scales = dense(1, type::f32, {4})}, dnnl_invalid_shape,
            "scales: expected the rank of src, 2, given 1"));
    EXPECT_TRUE(refuses(group_op {.scales = dense(1, type::f32, {8, 2})}, dnnl_invalid_shape,
            "scales: expected 2 at dim 0 (dims[0] of src, 8, in groups of 4), given 8"));
    EXPECT_TRUE(refuses(group_op {.zps = dense(2, type::s32, {2, 1})}, dnnl_invalid_shape,
            "zps: expected 2 at dim 1 (dims[1] of src, 2, in groups of 1), given 1"));
}

TEST(graph_attributes_refusals, group_parameters_are_dense) {
    const lt scales(1, type::f32, dims {2, 2}, dims {1, 2});
    EXPECT_TRUE(refuses(
            group_op {.scales = scales}, dnnl_invalid_shape, "scales: expected dense row-major strides, given 1x2"));
}

TEST(graph_attributes_refusals, mask_is_refused_beyond_the_dims_of_src) {
    for (const auto mask : {std::int64_t {-1}, std::int64_t {4}, std::int64_t {1} << 32, least, most})
        EXPECT_TRUE(refuses(mask_op {.mask = mask}, dnnl_invalid_arguments,
                "mask: expected a value in [0, 3] for rank 2, given " + std::to_string(mask)));
    EXPECT_TRUE(refuses(mask_op {.src = s8(0, {}), .scales = f32(1, {}), .dst = f32(3, {})}, dnnl_invalid_arguments,
            "mask: expected a value in [0, 0] for rank 0, given 1"));
}

TEST(graph_attributes_refusals, mask_is_refused_beyond_any_rank_while_the_rank_is_unknown) {
    for (const auto mask : {std::int64_t {-1}, std::int64_t {4096}}) {
        const mask_op op {.src = lt(0, type::s8), .scales = lt(1, type::f32), .dst = lt(3, type::f32), .mask = mask};
        EXPECT_TRUE(refuses(op, dnnl_invalid_arguments,
                "mask: expected a value in [0, 4095] for rank 12, given " + std::to_string(mask)));
    }
}

TEST(graph_attributes_refusals, mask_is_refused_at_compile_when_the_rank_comes_then) {
    const mask_op op {.src = lt(0, type::s8), .scales = lt(1, type::f32), .dst = lt(3, type::f32), .mask = 4};
    EXPECT_TRUE(compile_refuses(op, mask_op {}.inputs(), {mask_op {}.dst}, dnnl_invalid_arguments,
            "mask: expected a value in [0, 3] for rank 2, given 4"));
}

TEST(graph_attributes_refusals, mask_is_one_s64) {
    EXPECT_TRUE(refuses_with(
            mask_op {}, dg::newer::mask, 1.0F, "mask: expected a value of type s64, given one of type f32"));
    EXPECT_TRUE(refuses_with(mask_op {}, dg::newer::mask, numbers {0, 1}, "mask: expected one value, given 2"));
}

TEST(graph_attributes_refusals, mask_is_refused_beside_another_qtype) {
    for (const std::string qtype : {"per_channel", "per_group"})
        EXPECT_TRUE(add_refuses(mask_op {.group_shape = numbers {1, 1}}.make().set_attr(attr::qtype, qtype),
                dnnl_invalid_arguments,
                "op 3 'q' (DynamicDequantize): qtype: expected per_tensor or none beside mask, given " + qtype));
}

TEST(graph_attributes_refusals, mask_is_refused_for_a_static_op) {
    EXPECT_TRUE(refuses_with(static_op {}, dg::newer::mask, std::int64_t {2},
            "mask: expected an attribute among qtype, axis, scales or zps, given mask"));
    EXPECT_TRUE(refuses_with(static_op {.which = kind::Dequantize, .src = u8(0, {2, 4}), .dst = f32(3, {2, 4})},
            dg::newer::mask, std::int64_t {2},
            "mask: expected an attribute among qtype, axis, scales or zps, given mask"));
}

TEST(graph_attributes_refusals, masked_parameters_have_a_dim_for_each_bit) {
    EXPECT_TRUE(refuses(mask_op {.scales = f32(1, {2, 1})}, dnnl_invalid_shape,
            "scales: expected rank 1, a dim for each bit of mask 1, given 2"));
    EXPECT_TRUE(refuses(mask_op {.scales = f32(1, {1}), .mask = 0}, dnnl_invalid_shape,
            "scales: expected rank 0, a dim for each bit of mask 0, given 1"));
    EXPECT_TRUE(refuses(mask_op {.zps = s32(2, {})}, dnnl_invalid_shape,
            "zps: expected rank 1, a dim for each bit of mask 1, given 0"));
}

TEST(graph_attributes_refusals, masked_parameters_have_the_dims_of_the_bits) {
    EXPECT_TRUE(refuses(mask_op {.mask = 2}, dnnl_invalid_shape,
            "scales: expected 3 at dim 0 (dims[1] of src, 3, in groups of 1), given 2"));
    EXPECT_TRUE(refuses(mask_op {.zps = s32(2, {1})}, dnnl_invalid_shape,
            "zps: expected 2 at dim 0 (dims[0] of src, 2, in groups of 1), given 1"));
    const mask_op grouped {.scales = f32(1, {2, 3}), .mask = 3, .group_shape = numbers {1, 3}};
    EXPECT_TRUE(refuses(
            grouped, dnnl_invalid_shape, "scales: expected 1 at dim 1 (dims[1] of src, 3, in groups of 3), given 3"));
}

TEST(graph_attributes_refusals, masked_parameters_are_refused_at_compile_when_their_dims_come_then) {
    const mask_op op {.scales = lt(1, type::f32)};
    EXPECT_TRUE(compile_refuses(op, mask_op {.scales = f32(1, {3})}.inputs(), {op.dst}, dnnl_invalid_shape,
            "scales: expected 2 at dim 0 (dims[0] of src, 2, in groups of 1), given 3"));
}

TEST(graph_attributes_refusals, masked_parameters_are_dense) {
    EXPECT_TRUE(refuses(mask_op {.scales = lt(1, type::f32, dims {2, 3}, dims {1, 2}), .mask = 3}, dnnl_invalid_shape,
            "scales: expected dense row-major strides, given 1x2"));
}

TEST(graph_attributes_refusals, masked_groups_have_the_bits_of_the_last_dims) {
    for (const auto &group : {numbers {2, 1}, numbers {1, 1}})
        EXPECT_TRUE(refuses(mask_op {.scales = f32(1, {3}), .mask = 2, .group_shape = group}, dnnl_invalid_arguments,
                "mask: expected bit 0 to be set for group_shape, which has " + std::to_string(group[0])
                        + " at dim 0, given 2"));
    const mask_op three {.src = s8(0, {2, 4, 4}), .scales = f32(1, {4}), .dst = f32(3, {2, 4, 4}), .mask = 2};
    for (const auto &group : {numbers {2, 1}, numbers {1, 2, 1}}) {
        auto op = three;
        op.group_shape = group;
        EXPECT_TRUE(refuses(op, dnnl_invalid_arguments,
                "mask: expected bit 2 to be set for group_shape, which has 1 at dim 2, given 2"));
    }
}

TEST(graph_attributes_refusals, masked_groups_are_of_1_where_the_mask_has_no_bit) {
    const mask_op op {.src = s8(0, {2, 4, 4}),
            .scales = f32(1, {4, 4}),
            .dst = f32(3, {2, 4, 4}),
            .mask = 6,
            .group_shape = numbers {2, 1, 1}};
    EXPECT_TRUE(refuses(op, dnnl_invalid_arguments,
            "mask: expected bit 0 to be set for group_shape, which has 2 at dim 0, given 6"));
}

TEST(graph_attributes_refusals, masked_groups_are_counted_for_all_dims_or_the_last_two) {
    const auto refuses = [](const dims &src, const numbers &group, const std::string &expected) {
        const mask_op op {.src = s8(0, src), .scales = lt(1, type::f32), .dst = f32(3, src), .group_shape = group};
        return test::refuses(op, dnnl_invalid_shape, "group_shape: expected a value for each dim of src, " + expected);
    };
    EXPECT_TRUE(refuses({4}, {2, 2}, "1, given 2"));
    EXPECT_TRUE(refuses({2, 4}, {2}, "2, given 1"));
    EXPECT_TRUE(refuses({2, 4}, {1, 1, 2}, "2, given 3"));
    EXPECT_TRUE(refuses({2, 4, 4}, {2}, "3, or for the last 2, given 1"));
    EXPECT_TRUE(refuses({2, 4, 4}, {1, 1, 1, 2}, "3, or for the last 2, given 4"));
}

TEST(graph_attributes_refusals, masked_groups_are_positive_and_divide_the_dims) {
    const mask_op op {.scales = lt(1, type::f32), .mask = 3};
    auto none = op, uneven = op;
    none.group_shape = numbers {1, 0};
    EXPECT_TRUE(refuses(none, dnnl_invalid_arguments, "group_shape: expected values of 1 or more, given 0 at dim 1"));
    uneven.group_shape = numbers {1, 2};
    EXPECT_TRUE(refuses(
            uneven, dnnl_invalid_shape, "group_shape: expected a divisor of dims[1] of src, 3, given 2 at dim 1"));
}

} // namespace
} // namespace dynquant::test
