// Wrong attributes are refused at add_op, with a status and a message that says what is expected.
#include <cmath>
#include <limits>

#include "graph.hpp"

namespace dynquant::test {
namespace {

constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();

const lt undefined_src(0, type::f32), undefined_scales(1, type::f32), undefined_dst(3, type::u8); // of unknown rank
const lt undefined_s8(0, type::s8), undefined_f32(3, type::f32);

TEST(graph_attributes_refusals, axis) {
    for (const std::int64_t axis : {std::int64_t {2}, std::int64_t {-3}, least, most})
        expect_refused({{dynamic_op {.axis = axis}, bad_argument,
                {"axis", "a value in [-2, 1] for rank 2", std::to_string(axis)}}});
    for (const std::int64_t axis : {std::int64_t {12}, std::int64_t {-13}, least, most})
        expect_refused({{dynamic_op {.src = undefined_src,
                                 .scales = undefined_scales,
                                 .zps = {},
                                 .dst = undefined_dst,
                                 .axis = axis},
                bad_argument, {"axis", "a value in [-12, 11] for rank 12", std::to_string(axis)}}});
    const dynamic_op scalar {.src = f32(0, {}), .scales = f32(1, {1}), .zps = {}, .dst = u8(3, {}), .axis = 0};
    expect_refused({
            {dynamic_op {.src = f32(0, {4}), .dst = u8(3, {4})}, bad_argument, {"axis", "[-1, 0] for rank 1", "1"}},
            {scalar, bad_argument, {"qtype", "per_tensor for a src of rank 0", "per_channel"}},
    });
    const dynamic_op late {.src = undefined_src, .dst = undefined_dst, .axis = 3}, known;
    expect_refused_by_compile(
            {{late, known.inputs(), {known.dst}, bad_argument, {"axis", "a value in [-2, 1] for rank 2", "3"}}});
    for (const auto axis : {std::int64_t {5}, least, most}) {
        const dynamic_op op {.scales = f32(1, {1}), .zps = {}, .qtype = "per_tensor", .axis = axis};
        EXPECT_NO_THROW(partition_of(op.make()));
    }
}

TEST(graph_attributes_refusals, qtype) {
    EXPECT_TRUE(add_refuses(dynamic_op {.qtype = "per_chanel"}.make(), bad_argument,
            "op 3 'q' (DynamicQuantize): qtype: expected per_tensor, per_channel or per_group, given 'per_chanel' (did "
            "you mean 'per_channel'?)"));
    const std::string three = "per_tensor, per_channel or per_group", two = "per_tensor or per_channel";
    expect_refused({
            {static_op {.qtype = "per-tensor"}, bad_argument,
                    {"qtype", two, "'per-tensor' (did you mean 'per_tensor'?)"}},
            {static_op {.qtype = "per_group"}, bad_argument, {"qtype", two, "'per_group'"}},
            {dynamic_op {.qtype = "blockwise"}, bad_argument, {"qtype", three, "'blockwise'"}},
            {dynamic_op {.qtype = ""}, bad_argument, {"qtype", three, "''"}},
    });
}

TEST(graph_attributes_refusals, attribute_type) {
    const dynamic_op per_tensor {.scales = f32(1, {1}), .zps = {}, .qtype = "per_tensor"};
    expect_refused({
            {dynamic_op {}, attr::axis, 1.0F, {"axis", "s64", "one of type f32"}},
            {dynamic_op {}, attr::axis, true, {"axis", "s64", "one of type bool"}},
            {dynamic_op {}, attr::axis, numbers {0, 1}, {"axis", "one value", "2"}},
            {per_tensor, attr::axis, std::string("1"), {"axis", "s64", "one of type string"}},
            {dynamic_op {}, attr::qtype, std::int64_t {1}, {"qtype", "string", "one of type s64"}},
            {static_op {}, attr::scales, numbers {1, 2, 3, 4}, {"scales", "f32", "one of type s64"}},
            {static_op {}, attr::zps, std::vector<float> {1, 2, 3, 4}, {"zps", "s64", "one of type f32"}},
            {group_op {.group_shape = {}}, dg::newer::group_shape, std::vector<float> {4, 1},
                    {"group_shape", "s64", "one of type f32"}},
            {mask_op {}, dg::newer::mask, 1.0F, {"mask", "s64", "one of type f32"}},
            {mask_op {}, dg::newer::mask, numbers {0, 1}, {"mask", "one value", "2"}},
    });
}

TEST(graph_attributes_refusals, attribute_name) {
    const std::string of_dynamic = "qtype, axis, group_shape or mask", of_static = "qtype, axis, scales or zps";
    const static_op dequantize {.which = kind::Dequantize, .src = u8(0, {2, 4}), .dst = f32(3, {2, 4})};
    const auto newer_than_the_table = static_cast<attr>(0xf0);
    expect_refused({
            {dynamic_op {}, attr::epsilon, 1e-5F, {"epsilon", of_dynamic, "epsilon"}},
            {static_op {}, attr::keep_dims, true, {"keep_dims", of_static, "keep_dims"}},
            {dynamic_op {}, attr::scales, std::vector<float> {1}, {"scales", of_dynamic, "scales"}},
            {dynamic_op {}, attr::zps, numbers {1}, {"zps", of_dynamic, "zps"}},
            {dynamic_op {}, newer_than_the_table, true, {"attribute 240", of_dynamic, "attribute 240"}},
            {static_op {}, dg::newer::mask, std::int64_t {2}, {"mask", of_static, "mask"}},
            {dequantize, dg::newer::mask, std::int64_t {2}, {"mask", of_static, "mask"}},
    });
}

TEST(graph_attributes_refusals, scales_and_zps) {
    for (const auto which : {kind::Quantize, kind::Dequantize}) {
        const bool quantize = which == kind::Quantize;
        const dg::op op(3, which, {quantize ? f32(0, {4}) : s8(0, {4})}, {quantize ? s8(1, {4}) : f32(1, {4})});
        EXPECT_TRUE(add_refuses(op, dnnl_invalid_graph_op, names {"scales", "the attribute to be set", "none"},
                std::string("op 3 (") + (quantize ? "Quantize" : "Dequantize") + "): "));
    }
    expect_refused({
            {static_op {.scales = {}}, bad_argument, {"scales", "one or more values", "an empty one"}},
            {static_op {.zps = numbers {}}, bad_argument, {"zps", "one or more values", "an empty one"}},
            {static_op {.scales = {1, 2, 3}}, bad_shape, {"scales", "4 elements (dims[1] of src)", "3"}},
            {static_op {.scales = {1, 2, 3, 4, 5}}, bad_shape, {"scales", "4 elements (dims[1] of src)", "5"}},
            {static_op {.qtype = "per_tensor", .zps = {}}, bad_shape, {"scales", "1 element (qtype per_tensor)", "4"}},
            {static_op {.zps = numbers {1}}, bad_shape, {"zps", "4 elements (dims[1] of src)", "1"}},
            {static_op {.zps = numbers {1, 2, 3, 4, 5}}, bad_shape, {"zps", "4 elements (dims[1] of src)", "5"}},
            {static_op {.zps = numbers {0, 2147483648, 0, 0}}, bad_argument, {"zps", "s32", "2147483648 at index 1"}},
            {static_op {.zps = numbers {0, 0, 0, -2147483649}}, bad_argument, {"zps", "s32", "-2147483649 at index 3"}},
            {static_op {.src = undefined_src, .dst = undefined_dst, .scales = {1, 2}}, bad_shape,
                    {"zps", "2 elements (as many as scales)", "4"}},
    });
    const float inf = std::numeric_limits<float>::infinity();
    EXPECT_NO_THROW(partition_of(static_op {.scales = {0.0F, -1.0F, inf, std::nanf("")}}.make()));
    EXPECT_NO_THROW(partition_of(static_op {.zps = numbers {2147483647, -2147483648, 0, 0}}.make()));
    const auto late = partition_of(static_op {.src = undefined_src, .dst = undefined_dst}.make());
    EXPECT_TRUE(fails(
            [&] {
                late.compile({f32(0, {2, 5})}, {u8(3, {2, 5})}, cpu());
            },
            bad_shape, names {"scales", "5 elements (dims[1] of src)", "4"}, named(static_op {})));
}

TEST(graph_attributes_refusals, group_shape) {
    for (const std::int64_t value : {0, -4})
        expect_refused({{group_op {.group_shape = numbers {4, value}}, bad_argument,
                {"group_shape", "1 or more", std::to_string(value) + " at dim 1"}}});
    expect_refused({
            {group_op {.group_shape = {}}, dnnl_invalid_graph_op,
                    {"group_shape", "to be set for qtype per_group", "none"}},
            {group_op {.group_shape = numbers {4}}, bad_shape, {"group_shape", "each dim of src, 2", "1"}},
            {group_op {.group_shape = numbers {3, 1}}, bad_shape,
                    {"group_shape", "a divisor of dims[0] of src, 8", "3 at dim 0"}},
            {group_op {.group_shape = numbers {16, 1}}, bad_shape,
                    {"group_shape", "a divisor of dims[0] of src, 8", "16 at dim 0"}},
            {group_op {.scales = f32(1, {4})}, bad_shape, {"scales", "the rank of src, 2", "1"}},
            {group_op {.scales = f32(1, {8, 2})}, bad_shape,
                    {"scales", "2 at dim 0 (dims[0] of src, 8, in groups of 4)", "8"}},
            {group_op {.zps = s32(2, {2, 1})}, bad_shape,
                    {"zps", "2 at dim 1 (dims[1] of src, 2, in groups of 1)", "1"}},
            {group_op {.scales = lt(1, type::f32, dims {2, 2}, dims {1, 2})}, bad_shape,
                    {"scales", "dense row-major strides", "1x2"}},
    });
    const group_op known,
            late {.src = lt(0, dg::newer::s4),
                    .scales = undefined_scales,
                    .dst = undefined_f32,
                    .group_shape = numbers {3, 1}};
    expect_refused_by_compile({{late, known.inputs(), {known.dst}, bad_shape,
            {"group_shape", "a divisor of dims[0] of src, 8", "3 at dim 0"}}});
}

TEST(graph_attributes_refusals, mask) {
    const mask_op open {.src = undefined_s8, .scales = undefined_scales, .dst = undefined_f32, .mask = 4}, known;
    for (const auto mask : {std::int64_t {-1}, std::int64_t {4}, std::int64_t {1} << 32, least, most})
        expect_refused({{mask_op {.mask = mask}, bad_argument,
                {"mask", "a value in [0, 3] for rank 2", std::to_string(mask)}}});
    for (const auto mask : {std::int64_t {-1}, std::int64_t {4096}}) {
        auto op = open;
        op.mask = mask;
        expect_refused({{op, bad_argument, {"mask", "a value in [0, 4095] for rank 12", std::to_string(mask)}}});
    }
    expect_refused({{mask_op {.src = s8(0, {}), .scales = f32(1, {}), .dst = f32(3, {})}, bad_argument,
            {"mask", "a value in [0, 0] for rank 0", "1"}}});
    expect_refused_by_compile(
            {{open, known.inputs(), {known.dst}, bad_argument, {"mask", "a value in [0, 3] for rank 2", "4"}}});
    for (const std::string qtype : {"per_channel", "per_group"})
        EXPECT_TRUE(add_refuses(mask_op {.group_shape = numbers {1, 1}}.make().set_attr(attr::qtype, qtype),
                bad_argument, names {"qtype", "per_tensor or none beside mask", qtype}, named(known)));
}

TEST(graph_attributes_refusals, masked_parameters) {
    expect_refused({
            {mask_op {.scales = f32(1, {2, 1})}, bad_shape, {"scales", "rank 1, a dim for each bit of mask 1", "2"}},
            {mask_op {.scales = f32(1, {1}), .mask = 0}, bad_shape, {"scales", "rank 0, a dim for each", "1"}},
            {mask_op {.zps = s32(2, {})}, bad_shape, {"zps", "rank 1, a dim for each bit of mask 1", "0"}},
            {mask_op {.mask = 2}, bad_shape, {"scales", "3 at dim 0 (dims[1] of src, 3, in groups of 1)", "2"}},
            {mask_op {.zps = s32(2, {1})}, bad_shape, {"zps", "2 at dim 0 (dims[0] of src, 2, in groups of 1)", "1"}},
            {mask_op {.scales = f32(1, {2, 3}), .mask = 3, .group_shape = numbers {1, 3}}, bad_shape,
                    {"scales", "1 at dim 1 (dims[1] of src, 3, in groups of 3)", "3"}},
            {mask_op {.scales = lt(1, type::f32, dims {2, 3}, dims {1, 2}), .mask = 3}, bad_shape,
                    {"scales", "dense row-major strides", "1x2"}},
    });
    const mask_op late {.scales = undefined_scales}, wrong {.scales = f32(1, {3})};
    expect_refused_by_compile({{late, wrong.inputs(), {late.dst}, bad_shape,
            {"scales", "2 at dim 0 (dims[0] of src, 2, in groups of 1)", "3"}}});
}

TEST(graph_attributes_refusals, masked_groups) {
    const auto of_three = [](std::int64_t mask, const numbers &group) {
        const lt scales = mask == 6 ? f32(1, {4, 4}) : f32(1, {4});
        return mask_op {.src = s8(0, {2, 4, 4}),
                .scales = scales,
                .dst = f32(3, {2, 4, 4}),
                .mask = mask,
                .group_shape = group};
    };
    const auto of_src = [](const dims &src, const numbers &group) {
        return mask_op {.src = s8(0, src), .scales = undefined_scales, .dst = f32(3, src), .group_shape = group};
    };
    const auto of_rows = [](const numbers &group) {
        return mask_op {.scales = f32(1, {3}), .mask = 2, .group_shape = group};
    };
    const auto open = [](const numbers &group) {
        return mask_op {.scales = undefined_scales, .mask = 3, .group_shape = group};
    };
    expect_refused({
            {of_rows({2, 1}), bad_argument, {"mask", "bit 0 to be set for group_shape, which has 2 at dim 0", "2"}},
            {of_rows({1, 1}), bad_argument, {"mask", "bit 0 to be set for group_shape, which has 1 at dim 0", "2"}},
            {of_three(2, {2, 1}), bad_argument, {"mask", "bit 2 to be set for group_shape, which has 1 at dim 2", "2"}},
            {of_three(2, {1, 2, 1}), bad_argument, {"mask", "bit 2 to be set", "2"}},
            {of_three(6, {2, 1, 1}), bad_argument,
                    {"mask", "bit 0 to be set for group_shape, which has 2 at dim 0", "6"}},
            {of_src({4}, {2, 2}), bad_shape, {"group_shape", "each dim of src, 1", "2"}},
            {of_src({2, 4}, {2}), bad_shape, {"group_shape", "each dim of src, 2", "1"}},
            {of_src({2, 4}, {1, 1, 2}), bad_shape, {"group_shape", "each dim of src, 2", "3"}},
            {of_src({2, 4, 4}, {2}), bad_shape, {"group_shape", "each dim of src, 3, or for the last 2", "1"}},
            {of_src({2, 4, 4}, {1, 1, 1, 2}), bad_shape, {"group_shape", "each dim of src, 3, or for the last 2", "4"}},
            {open({1, 0}), bad_argument, {"group_shape", "values of 1 or more", "0 at dim 1"}},
            {open({1, 2}), bad_shape, {"group_shape", "a divisor of dims[1] of src, 3", "2 at dim 1"}},
    });
}

} // namespace
} // namespace dynquant::test
