// Wrong attributes are refused at add_op, with a status and a message that says what is expected.
#include <cmath>
#include <limits>

#include "support/graph.hpp"

namespace dynquant::test {
namespace {

const std::string q = "op 3 'q' (DynamicQuantize): ", sq = "op 3 'q' (Quantize): ";
constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();

TEST(axis, is_refused_outside_of_the_rank) {
    EXPECT_TRUE(add_refuses(dynamic_op {.axis = 2}.make(), dnnl_invalid_arguments,
            q + "axis: expected a value in [-2, 1] for rank 2, given 2"));
    EXPECT_TRUE(add_refuses(dynamic_op {.axis = -3}.make(), dnnl_invalid_arguments,
            q + "axis: expected a value in [-2, 1] for rank 2, given -3"));
}

TEST(axis, is_refused_at_the_ends_of_s64) {
    EXPECT_TRUE(add_refuses(dynamic_op {.axis = least}.make(), dnnl_invalid_arguments,
            q + "axis: expected a value in [-2, 1] for rank 2, given -9223372036854775808"));
    EXPECT_TRUE(add_refuses(dynamic_op {.axis = most}.make(), dnnl_invalid_arguments,
            q + "axis: expected a value in [-2, 1] for rank 2, given 9223372036854775807"));
}

TEST(axis, is_refused_outside_of_any_rank_while_the_rank_is_unknown) {
    const dynamic_op op {.src = lt(0, type::f32), .scales = lt(1, type::f32), .zps = {}, .dst = lt(3, type::u8)};
    for (const std::int64_t axis : {std::int64_t {12}, std::int64_t {-13}, least, most}) {
        auto one = op;
        one.axis = axis;
        EXPECT_TRUE(add_refuses(one.make(), dnnl_invalid_arguments,
                q + "axis: expected a value in [-12, 11] for rank 12, given " + std::to_string(axis)));
    }
}

TEST(axis, is_refused_for_rank_1_by_its_default_of_1) {
    const dynamic_op op {.src = f32(0, {4}), .dst = u8(3, {4})};
    EXPECT_TRUE(add_refuses(
            op.make(), dnnl_invalid_arguments, q + "axis: expected a value in [-1, 0] for rank 1, given 1"));
}

TEST(axis, has_no_value_for_rank_0) {
    const dynamic_op op {.src = f32(0, {}), .scales = f32(1, {1}), .zps = {}, .dst = u8(3, {}), .axis = 0};
    EXPECT_TRUE(add_refuses(op.make(), dnnl_invalid_arguments,
            q + "qtype: expected per_tensor for a src of rank 0, given per_channel"));
}

TEST(axis, is_refused_at_compile_when_the_rank_comes_then) {
    const dynamic_op op {.src = lt(0, type::f32), .dst = lt(3, type::u8), .axis = 3};
    EXPECT_TRUE(compile_refuses(op.make(), dynamic_op {}.inputs(), {dynamic_op {}.dst}, dnnl_invalid_arguments,
            q + "axis: expected a value in [-2, 1] for rank 2, given 3"));
}

TEST(axis, does_not_matter_per_tensor) {
    for (const auto axis : {std::int64_t {5}, least, most}) {
        const dynamic_op op {.scales = f32(1, {1}), .zps = {}, .qtype = "per_tensor", .axis = axis};
        EXPECT_NO_THROW(partition_of(op.make()));
    }
}

TEST(qtype, is_refused_misspelt_with_a_near_name) {
    EXPECT_TRUE(add_refuses(dynamic_op {.qtype = "per_chanel"}.make(), dnnl_invalid_arguments,
            q
                    + "qtype: expected per_tensor, per_channel or per_group, given 'per_chanel' (did you mean "
                      "'per_channel'?)"));
    EXPECT_TRUE(add_refuses(static_op {.qtype = "per-tensor"}.make(), dnnl_invalid_arguments,
            sq + "qtype: expected per_tensor or per_channel, given 'per-tensor' (did you mean 'per_tensor'?)"));
}

TEST(qtype, is_refused_when_unknown) {
    EXPECT_TRUE(add_refuses(dynamic_op {.qtype = "blockwise"}.make(), dnnl_invalid_arguments,
            q + "qtype: expected per_tensor, per_channel or per_group, given 'blockwise'"));
}

TEST(qtype, is_refused_when_empty) {
    EXPECT_TRUE(add_refuses(dynamic_op {.qtype = ""}.make(), dnnl_invalid_arguments,
            q + "qtype: expected per_tensor, per_channel or per_group, given ''"));
}

TEST(attribute_type, of_axis_is_one_s64) {
    EXPECT_TRUE(add_refuses(dynamic_op {}.make().set_attr(attr::axis, 1.0f), dnnl_invalid_graph_op,
            q + "axis: expected a value of type s64, given one of type f32"));
    EXPECT_TRUE(add_refuses(dynamic_op {}.make().set_attr(attr::axis, true), dnnl_invalid_graph_op,
            q + "axis: expected a value of type s64, given one of type bool"));
    EXPECT_TRUE(add_refuses(dynamic_op {}.make().set_attr(attr::axis, std::vector<std::int64_t> {0, 1}),
            dnnl_invalid_graph_op, q + "axis: expected one value, given 2"));
}

TEST(attribute_type, of_axis_is_checked_per_tensor) {
    auto op = dynamic_op {.scales = f32(1, {1}), .zps = {}, .qtype = "per_tensor"}.make();
    EXPECT_TRUE(add_refuses(op.set_attr(attr::axis, std::string("1")), dnnl_invalid_graph_op,
            q + "axis: expected a value of type s64, given one of type string"));
}

TEST(attribute_type, of_qtype_is_string) {
    EXPECT_TRUE(add_refuses(dynamic_op {}.make().set_attr(attr::qtype, std::int64_t {1}), dnnl_invalid_graph_op,
            q + "qtype: expected a value of type string, given one of type s64"));
}

TEST(attribute_type, of_scales_is_f32) {
    EXPECT_TRUE(add_refuses(static_op {}.make().set_attr(attr::scales, std::vector<std::int64_t> {1, 2, 3, 4}),
            dnnl_invalid_graph_op, sq + "scales: expected a value of type f32, given one of type s64"));
}

TEST(attribute_type, of_zps_is_s64) {
    EXPECT_TRUE(add_refuses(static_op {}.make().set_attr(attr::zps, std::vector<float> {1, 2, 3, 4}),
            dnnl_invalid_graph_op, sq + "zps: expected a value of type s64, given one of type f32"));
}

TEST(attribute_name, is_refused_unless_the_op_has_it) {
    EXPECT_TRUE(add_refuses(dynamic_op {}.make().set_attr(attr::epsilon, 1e-5f), dnnl_invalid_graph_op,
            q + "epsilon: expected an attribute among qtype, axis, group_shape or mask, given epsilon"));
    EXPECT_TRUE(add_refuses(static_op {}.make().set_attr(attr::keep_dims, true), dnnl_invalid_graph_op,
            sq + "keep_dims: expected an attribute among qtype, axis, scales or zps, given keep_dims"));
}

TEST(attribute_name, is_refused_for_scales_and_zps_of_a_dynamic_op) {
    EXPECT_TRUE(add_refuses(dynamic_op {}.make().set_attr(attr::scales, std::vector<float> {1}), dnnl_invalid_graph_op,
            q + "scales: expected an attribute among qtype, axis, group_shape or mask, given scales"));
    EXPECT_TRUE(add_refuses(dynamic_op {}.make().set_attr(attr::zps, std::vector<std::int64_t> {1}),
            dnnl_invalid_graph_op, q + "zps: expected an attribute among qtype, axis, group_shape or mask, given zps"));
}

TEST(attribute_name, is_refused_when_it_is_newer_than_the_table) {
    const auto newer = static_cast<attr>(0xf0);
    EXPECT_TRUE(add_refuses(dynamic_op {}.make().set_attr(newer, true), dnnl_invalid_graph_op,
            q + "attribute 240: expected an attribute among qtype, axis, group_shape or mask, given attribute 240"));
}

TEST(scales_attribute, is_refused_when_missing) {
    for (const auto which : {kind::Quantize, kind::Dequantize}) {
        const bool quantize = which == kind::Quantize;
        const dg::op op(3, which, {quantize ? f32(0, {4}) : s8(0, {4})}, {quantize ? s8(1, {4}) : f32(1, {4})});
        EXPECT_TRUE(add_refuses(op, dnnl_invalid_graph_op,
                std::string("op 3 (") + (quantize ? "Quantize" : "Dequantize")
                        + "): scales: expected the attribute to be set, given none"));
    }
}

TEST(scales_attribute, is_refused_when_empty) {
    EXPECT_TRUE(add_refuses(static_op {.scales = {}}.make(), dnnl_invalid_arguments,
            sq + "scales: expected a list of one or more values, given an empty one"));
}

TEST(zps_attribute, is_refused_when_empty) {
    EXPECT_TRUE(add_refuses(static_op {.zps = std::vector<std::int64_t> {}}.make(), dnnl_invalid_arguments,
            sq + "zps: expected a list of one or more values, given an empty one"));
}

TEST(scales_attribute, has_one_value_for_each_channel) {
    EXPECT_TRUE(add_refuses(static_op {.scales = {1, 2, 3}}.make(), dnnl_invalid_shape,
            sq + "scales: expected 4 elements (dims[1] of src), given 3"));
    EXPECT_TRUE(add_refuses(static_op {.scales = {1, 2, 3, 4, 5}}.make(), dnnl_invalid_shape,
            sq + "scales: expected 4 elements (dims[1] of src), given 5"));
    EXPECT_TRUE(add_refuses(static_op {.qtype = "per_tensor", .zps = {}}.make(), dnnl_invalid_shape,
            sq + "scales: expected 1 element (qtype per_tensor), given 4"));
}

TEST(scales_attribute, may_hold_any_value) {
    const float inf = std::numeric_limits<float>::infinity();
    EXPECT_NO_THROW(partition_of(static_op {.scales = {0.0f, -1.0f, inf, std::nanf("")}}.make()));
}

TEST(zps_attribute, has_one_value_for_each_channel) {
    EXPECT_TRUE(add_refuses(static_op {.zps = std::vector<std::int64_t> {1}}.make(), dnnl_invalid_shape,
            sq + "zps: expected 4 elements (dims[1] of src), given 1"));
    EXPECT_TRUE(add_refuses(static_op {.zps = std::vector<std::int64_t> {1, 2, 3, 4, 5}}.make(), dnnl_invalid_shape,
            sq + "zps: expected 4 elements (dims[1] of src), given 5"));
}

TEST(zps_attribute, is_refused_beyond_s32) {
    EXPECT_TRUE(add_refuses(static_op {.zps = std::vector<std::int64_t> {0, 2147483648, 0, 0}}.make(),
            dnnl_invalid_arguments, sq + "zps: expected values within s32, given 2147483648 at index 1"));
    EXPECT_TRUE(add_refuses(static_op {.zps = std::vector<std::int64_t> {0, 0, 0, -2147483649}}.make(),
            dnnl_invalid_arguments, sq + "zps: expected values within s32, given -2147483649 at index 3"));
    EXPECT_NO_THROW(partition_of(static_op {.zps = std::vector<std::int64_t> {2147483647, -2147483648, 0, 0}}.make()));
}

TEST(parameter_attributes, must_agree_while_the_channels_are_unknown) {
    const static_op op {.src = lt(0, type::f32), .dst = lt(3, type::u8), .scales = {1, 2}};
    EXPECT_TRUE(
            add_refuses(op.make(), dnnl_invalid_shape, sq + "zps: expected 2 elements (as many as scales), given 4"));
}

TEST(parameter_attributes, must_agree_with_the_channels_of_compile) {
    const static_op op {.src = lt(0, type::f32), .dst = lt(3, type::u8)};
    EXPECT_TRUE(compile_refuses(op.make(), {f32(0, {2, 5})}, {u8(3, {2, 5})}, dnnl_invalid_shape,
            sq + "scales: expected 5 elements (dims[1] of src), given 4"));
}

} // namespace
} // namespace dynquant::test
