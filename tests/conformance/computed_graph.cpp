// DynamicQuantize of the graph API computes its scales and zero points when it has the attribute scale_rule. Values are
// worked out by hand from the formulas of dynquant/scale_rule.hpp.
#include <limits>

#include "support/graph.hpp"

namespace dynquant::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

/// What a compiled op is given and what it makes of it: dst, scales and perhaps zps.
struct buffers {
    std::vector<bytes> inputs, outputs;
};

/// Compiles and executes it by the kernel that is chosen, and by reference.
void expect_gives(const computed_op &op, const buffers &expected) {
    const auto expect_runs = [&] {
        const auto compiled = partition_of(op.make()).compile(op.inputs(), op.outputs(), cpu());
        EXPECT_EQ(executed(compiled, op.inputs(), expected.inputs, op.outputs(), expected.outputs), expected.outputs)
                << compiled.get_info().isa;
    };
    expect_runs();
    const scoped_variable kernel("DYNQUANT_KERNEL", "reference");
    expect_runs();
}

TEST(computed_graph, absmax_per_tensor) { // 63.75 / 127.5
    expect_gives(computed_op {},
            {{floats_of({-63.75F, 0.5F, 1, 63.75F, 0.25F, -0.75F})},
                    {integers_of({-128, 1, 2, 127, 0, -2}), floats_of({0.5F})}});
}

TEST(computed_graph, absmax_per_token_by_mask) { // narrow: 127 / 127 and 254 / 127
    const computed_op op {.scales = f32(4, {2}), .mask = 1, .narrow = true};
    expect_gives(
            op, {{floats_of({127, -1, 2, -254, 3, 2})}, {integers_of({127, -1, 2, -127, 2, 1}), floats_of({1, 2})}});
}

TEST(computed_graph, minmax_per_channel) { // columns from -5 to 250 and from 0 to 127.5, by 255
    const computed_op op {.src = f32(0, {2, 2}),
            .dst = u8(3, {2, 2}),
            .scales = f32(4, {2}),
            .zps = u8(5, {2}),
            .rule = "minmax",
            .qtype = "per_channel",
            .axis = -1};
    expect_gives(op,
            {{floats_of({-5, 127.5F, 250, 20})},
                    {integers_of({0, 255, 255, 40}), floats_of({1, 0.5F}), integers_of({5, 0})}});
}

TEST(computed_graph, minmax_per_group_to_s4) { // by 15: from -7 to 8, lowest - (-7) is -1; from 0 to 30
    const computed_op op {.src = f32(0, {1, 4}),
            .dst = dense(3, dg::newer::s4, {1, 4}),
            .scales = f32(4, {1, 2}),
            .zps = dense(5, dg::newer::s4, {1, 2}),
            .rule = "minmax",
            .qtype = "per_group",
            .group_shape = numbers {1, 2}};
    expect_gives(op,
            {{floats_of({-7, 8, 0, 30})},
                    {encode(data_type::s4, {-8, 7, -8, 7}), floats_of({1, 2}), encode(data_type::s4, {-1, -8})}});
}

TEST(computed_graph, mask_packs_the_scales) { // along dims 0 and 2: 127, 254, 381 and 508, by 127
    const computed_op op {
            .src = f32(0, {2, 2, 2}), .dst = s8(3, {2, 2, 2}), .scales = f32(4, {2, 2}), .mask = 5, .narrow = true};
    expect_gives(op,
            {{floats_of({127, 1, 2, 254, -381, 4, 3, -508})},
                    {integers_of({127, 0, 2, 127, -127, 1, 1, -127}), floats_of({1, 2, 3, 4})}});
}

TEST(computed_graph, mask_composes_with_group_shape) { // blocks of 2 x 2
    const computed_op op {.src = f32(0, {2, 4}),
            .dst = s8(3, {2, 4}),
            .scales = f32(4, {1, 2}),
            .mask = 3,
            .group_shape = numbers {2, 2},
            .narrow = true};
    expect_gives(op,
            {{floats_of({1, 2, -4, 2, 127, 3, 4, -254})},
                    {integers_of({1, 2, -2, 1, 127, 3, 2, -127}), floats_of({1, 2})}});
}

TEST(computed_graph, mask_of_0_gives_a_scalar) {
    const computed_op op {.src = f32(0, {}), .dst = s8(3, {}), .scales = f32(4, {}), .mask = 0};
    expect_gives(op, {{floats_of({255})}, {integers_of({127}), floats_of({2})}});
}

TEST(computed_graph, src_may_be_bf16_and_transposed) { // scales follow the index
    const computed_op op {.src = lt(0, type::bf16, dims {2, 2}, dims {1, 2}),
            .dst = lt(3, type::s8, dims {2, 2}, dims {1, 2}),
            .scales = dense(4, type::bf16, {2}),
            .mask = 1,
            .narrow = true};
    expect_gives(op,
            {{encode_reals(data_type::bf16, {127, 254, -1, -2})},
                    {integers_of({127, 127, -1, -1}), encode_reals(data_type::bf16, {1, 2})}});
}

TEST(computed_graph, src_and_scales_may_be_f16) {
    const computed_op op {.src = dense(0, type::f16, {2, 3}), .scales = dense(4, type::f16, {1})};
    expect_gives(op,
            {{encode_reals(data_type::f16, {-63.75F, 0.5F, 1, 63.75F, 0.25F, -0.75F})},
                    {integers_of({-128, 1, 2, 127, 0, -2}), encode_reals(data_type::f16, {0.5F})}});
}

TEST(computed_graph, narrow_rules_compute_floats_if_told) { // by 448
    const computed_op op {.src = f32(0, {2}),
            .dst = dense(3, dg::newer::f8_e4m3, {2}),
            .scales = f32(4, {1}),
            .rule = "vllm",
            .narrow = false};
    expect_gives(op, {{floats_of({896, -6})}, {integers_of({0x7e, 0xc4}), floats_of({2})}});
}

// ONNX's example of DynamicQuantizeLinear, and its range of zero.
TEST(computed_graph, onnx) {
    const computed_op op {.dst = u8(3, {2, 3}), .zps = u8(5, {1}), .rule = "onnx"};
    expect_gives(op,
            {{floats_of({0, 2, -3, -2.5F, 1.34F, 0.5F})},
                    {integers_of({153, 255, 0, 26, 221, 179}), floats_of({5.0F / 255}), integers_of({153})}});
    expect_gives(
            op, {{floats_of({0, 0, 0, 0, 0, 0})}, {integers_of({0, 0, 0, 0, 0, 0}), floats_of({1}), integers_of({0})}});
}

TEST(computed_graph, onednn_dynamic_quantize) {
    const computed_op op {.rule = "onednn_dynamic_quantize"};
    expect_gives(op,
            {{floats_of({infinity, 127, nan, -3, 2.5F, -127})},
                    {integers_of({0, 127, 0, -3, 2, -127}), floats_of({1})}});
    expect_gives(op, {{floats_of({0, 0, 0, 0, 0, 0})}, {integers_of({0, 0, 0, 0, 0, 0}), floats_of({1e-30F})}});
}

/// Blocks of two, 1000 and 1: 2^9 < 1000 < 2^10, 1000 / 448 is 2.2, and 2^8 < 448. Codes of e4m3: 256 is 0x78.
struct mx_case {
    std::string rule;
    int scale; // biased by 127
    std::vector<int> codes;
    std::optional<bool> saturate = {};
};

TEST(computed_graph, mx_to_e4m3) { // saturates unless told
    for (const auto &c : {mx_case {"mx_floor", 128, {0x7e, 0x30}}, {"mx_floor", 128, {0x7e, 0x30}, true},
                 {"mx_floor", 128, {0x7f, 0x30}, false}, {"mx_ceil", 129, {0x78, 0x28}}, {"mx_even", 129, {0x78, 0x28}},
                 {"mx_rceil", 129, {0x78, 0x28}}}) {
        const computed_op op {.src = dense(0, type::bf16, {1, 2}),
                .dst = dense(3, dg::newer::f8_e4m3, {1, 2}),
                .scales = dense(4, dg::newer::e8m0, {1, 1}),
                .rule = c.rule,
                .qtype = "per_group",
                .group_shape = numbers {1, 2},
                .saturate = c.saturate};
        expect_gives(op, {{encode_reals(data_type::bf16, {1000, 1})}, {integers_of(c.codes), integers_of({c.scale})}});
    }
}

TEST(computed_graph, mx_to_e2m1) { // 12 / 2 is 6, code 7; 0.5 is 1, -1.5 is 8 + 3
    const computed_op op {.src = f32(0, {2, 2}),
            .dst = dense(3, dg::newer::f4_e2m1, {2, 2}),
            .scales = dense(4, dg::newer::e8m0, {2, 1}),
            .rule = "mx_floor",
            .qtype = "per_group",
            .group_shape = numbers {1, 2}};
    expect_gives(op, {{floats_of({12, 1, 0, 0})}, {integers_of({0x17, 0}), integers_of({128, 0})}});
    expect_gives(op, {{floats_of({12, -3, 6, nan})}, {integers_of({0xb7, 0x77}), integers_of({128, 255})}});
}

TEST(computed_graph,
        nvfp4_with_and_without_global_scale) { // 12 / 6 is 2, by 0.5 4; e4m3: 2 is 0x40, 4 is 0x48, 2^-6 is 8
    computed_op op {.src = f32(0, {2, 2}),
            .dst = dense(3, dg::newer::f4_e2m1, {2, 2}),
            .scales = dense(4, dg::newer::f8_e4m3, {2, 1}),
            .rule = "nvfp4",
            .qtype = "per_group",
            .group_shape = numbers {1, 2}};
    expect_gives(op, {{floats_of({12, 3, 0, 0})}, {integers_of({0x37, 0}), integers_of({0x40, 0x08})}});
    for (const dims &shape : {dims {}, dims {1}, dims {1, 1}}) {
        op.global_scale = f32(1, shape);
        expect_gives(op,
                {{floats_of({12, 3, 0, 0}), floats_of({0.5F})}, {integers_of({0x37, 0}), integers_of({0x48, 0x08})}});
    }
}

TEST(computed_attributes, change_the_rule) {
    const bytes src = floats_of({-63.75F, 0.5F, 1, 63.75F, 0.25F, -0.75F}), zeros = floats_of({0, 0, 0, 0, 0, 0});
    expect_gives(computed_op {.least = 2.0F}, {{src}, {integers_of({-32, 0, 0, 32, 0, 0}), floats_of({2})}});
    expect_gives(computed_op {.of_zero = 3.0F}, {{zeros}, {integers_of({0, 0, 0, 0, 0, 0}), floats_of({3})}});
    const bytes special = floats_of({-255, nan, 0, 2, infinity, -infinity});
    expect_gives(computed_op {.nonfinite = "skip"}, {{special}, {integers_of({-128, 0, 0, 1, 0, 0}), floats_of({2})}});
    const computed_op infinite {.src = f32(0, {2}), .dst = s8(3, {2}), .nonfinite = "propagate"};
    expect_gives(infinite, {{floats_of({infinity, 1})}, {integers_of({-128, 0}), floats_of({infinity})}});
    computed_op narrow = infinite;
    narrow.rule = "onednn_dynamic_quantize";
    expect_gives(narrow, {{floats_of({infinity, 1})}, {integers_of({-127, 0}), floats_of({infinity})}});
    narrow.narrow = false;
    expect_gives(narrow, {{floats_of({infinity, 1})}, {integers_of({-128, 0}), floats_of({infinity})}});
}

// 889 / 127 is 7. 45.5 / 7 is a tie; 45.5 * f32(1 / 7) is 6.5000005.
TEST(computed_attributes, change_the_quotient) {
    for (const auto &[quotient, code] : {std::pair {"divide", 6}, {"multiply_reciprocal", 7}, {"multiply_range", 7}}) {
        const computed_op op {.src = f32(0, {2}), .dst = s8(3, {2}), .narrow = true, .quotient = std::string(quotient)};
        expect_gives(op, {{floats_of({889, 45.5F})}, {integers_of({127, code}), floats_of({7})}});
    }
}

/// Whether compile infers these dims of scales and zps, whatever of them is unknown.
void expect_inferred(computed_op op, const dims &shape, const dims &strides) {
    op.dst = lt(3, type::u8);
    op.rule = "minmax";
    const auto rank = static_cast<int>(shape.size());
    for (const auto &[id, zps] : {std::pair {lt(4, type::f32), lt(5, type::u8)},
                 {lt(4, type::f32, layout::any), lt(5, type::u8, layout::strided)},
                 {lt(4, type::f32, rank, layout::any), lt(5, type::u8, rank, layout::strided)}}) {
        op.scales = id;
        op.zps = zps;
        const auto compiled = partition_of(op.make()).compile(op.inputs(), op.outputs(), cpu());
        EXPECT_TRUE(is(compiled.query_logical_tensor(4), shape, strides));
        EXPECT_TRUE(is(compiled.query_logical_tensor(5), shape, strides));
        EXPECT_EQ(compiled.query_logical_tensor(3).get_dims(), op.src.get_dims());
    }
}

TEST(computed_outputs, have_inferred_dims) {
    const computed_op op {.src = f32(0, {2, 3, 4})};
    expect_inferred(op, {1}, {1});
    auto channels = op, groups = op, masked = op, masked_groups = op;
    channels.qtype = "per_channel";
    expect_inferred(channels, {3}, {1});
    channels.axis = -1;
    expect_inferred(channels, {4}, {1});
    groups.qtype = "per_group";
    groups.group_shape = numbers {1, 3, 2};
    expect_inferred(groups, {2, 1, 2}, {2, 2, 1});
    masked.mask = 5;
    expect_inferred(masked, {2, 4}, {4, 1});
    masked_groups.mask = 6;
    masked_groups.group_shape = numbers {1, 2};
    expect_inferred(masked_groups, {3, 2}, {2, 1});
}

TEST(computed_outputs, have_rank_0_for_mask_0) {
    const computed_op op {.scales = lt(4, type::f32), .mask = 0};
    const auto compiled = partition_of(op.make()).compile(op.inputs(), op.outputs(), cpu());
    EXPECT_TRUE(is(compiled.query_logical_tensor(4), {}, {}));
}

TEST(computed_outputs, may_all_be_unknown_until_compile) {
    const computed_op op {.src = lt(0, type::undef),
            .dst = lt(3, type::undef),
            .scales = lt(4, type::undef),
            .zps = lt(5, type::undef),
            .rule = "minmax",
            .mask = 1};
    const auto compiled = partition_of(op.make()).compile(
            {f32(0, {2, 3})}, {lt(3, type::u8), lt(4, type::bf16), lt(5, type::u8)}, cpu());
    EXPECT_TRUE(is(compiled.query_logical_tensor(4), {2}, {1}));
    EXPECT_EQ(compiled.query_logical_tensor(4).get_data_type(), type::bf16);
}

TEST(computed_outputs, of_unknown_types_fit_the_known_ones) { // dims are known, so the whole statement is checked
    for (const auto known : {type::undef, type::u8, dg::newer::s4}) {
        const computed_op op {.dst = dense(3, known, {2, 3}),
                .scales = dense(4, type::undef, {1}),
                .zps = dense(5, type::undef, {1}),
                .rule = "minmax"};
        EXPECT_NO_THROW(partition_of(op.make()));
        const computed_op by_zps {.dst = dense(3, type::undef, {2, 3}),
                .scales = dense(4, type::undef, {1}),
                .zps = dense(5, known, {1}),
                .rule = "minmax"};
        EXPECT_NO_THROW(partition_of(by_zps.make()));
    }
    const computed_op mx {
            .dst = dense(3, type::undef, {2, 3}), .scales = dense(4, type::undef, {1}), .rule = "mx_ceil"};
    EXPECT_NO_THROW(partition_of(mx.make()));
    const computed_op global {.global_scale = dense(1, type::undef, {1}), .scales = dense(4, type::undef, {1})};
    EXPECT_NO_THROW(partition_of(global.make()));
}

TEST(computed_outputs, are_matched_by_position) {
    computed_op op {.dst = u8(3, {2, 3}), .zps = u8(5, {1}), .rule = "onnx"};
    const std::vector<lt> shuffled {*op.zps, op.scales, op.dst};
    const auto compiled = partition_of(op.make()).compile({f32(9, {1}), op.src}, shuffled, cpu());
    std::vector<float> src {0, 2, -3, -2.5F, 1.34F, 0.5F}, scales {0}, other {0};
    std::vector<std::uint8_t> dst(6), zps {0};
    dg::stream stream(cpu());
    compiled.execute(stream, {tensor_of(f32(9, {1}), other), tensor_of(op.src, src)},
            {tensor_of(*op.zps, zps), tensor_of(op.scales, scales), tensor_of(op.dst, dst)});
    EXPECT_EQ(dst, (std::vector<std::uint8_t> {153, 255, 0, 26, 221, 179}));
    EXPECT_EQ(scales, (std::vector {5.0F / 255}));
    EXPECT_EQ(zps, (std::vector<std::uint8_t> {153}));
}

TEST(computed_outputs, are_ports_of_the_partition) {
    const computed_op op {.dst = u8(3, {2, 3}), .zps = u8(5, {1}), .rule = "onnx"};
    const auto partition = partition_of(op.make());
    std::vector<std::size_t> ids;
    for (const auto &port : partition.get_output_ports())
        ids.push_back(port.get_id());
    EXPECT_EQ(ids, (std::vector<std::size_t> {3, 4, 5}));
    EXPECT_EQ(partition.get_input_ports().size(), 1u);
    EXPECT_TRUE(partition.is_supported());
}

TEST(computed_outputs, of_zero_volume_are_not_written) {
    const computed_op op {.src = f32(0, {0, 3}), .dst = s8(3, {0, 3}), .scales = f32(4, {3}), .qtype = "per_channel"};
    expect_gives(op, {{bytes {}}, {bytes {}, integers_of(std::vector<int>(12, 0xaa))}});
    const auto compiled = partition_of(op.make()).compile(op.inputs(), op.outputs(), cpu());
    dg::stream stream(cpu());
    EXPECT_NO_THROW(compiled.execute(stream, std::vector<dg::tensor>(1), std::vector<dg::tensor>(2)));
}

/// Runs q and a DynamicDequantize of its outputs, in one graph; returns what comes back.
std::vector<float> round_trip(const computed_op &op, const std::vector<float> &values, std::size_t bytes_of_dst) {
    const lt result(7, type::f32);
    std::vector<lt> inputs = op.outputs();
    dg::op dequantize(8, kind::DynamicDequantize, inputs, {result}, "dq");
    if (op.qtype) dequantize.set_attr(attr::qtype, *op.qtype);
    if (op.mask) dequantize.set_attr(dg::newer::mask, *op.mask);
    if (op.group_shape) dequantize.set_attr(dg::newer::group_shape, *op.group_shape);
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(dequantize);
    graph.add_op(op.make());
    graph.finalize();
    const auto partitions = graph.get_partitions();
    EXPECT_EQ(partitions.size(), 2u);
    EXPECT_EQ(partitions.at(0).get_ops(), (std::vector<std::size_t> {3}));

    const auto quantizing = partitions[0].compile(op.inputs(), op.outputs(), cpu());
    for (auto &t : inputs)
        t = quantizing.query_logical_tensor(t.get_id());
    const auto dequantizing = partitions[1].compile(inputs, {result}, cpu());
    auto src = values;
    std::vector<float> back(values.size());
    std::vector<bytes> between(3, bytes(64));
    between[0].resize(bytes_of_dst);
    std::vector<dg::tensor> tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        tensors.push_back(tensor_of(inputs[i], between[i]));
    dg::stream stream(cpu());
    quantizing.execute(stream, {tensor_of(op.src, src)}, tensors);
    dequantizing.execute(stream, tensors, {tensor_of(result, back)});
    return back;
}

TEST(computed_outputs, are_read_by_dynamic_dequantize) {
    const computed_op integers {
            .dst = lt(3, type::u8), .scales = lt(4, type::f32), .zps = lt(5, type::u8), .rule = "minmax", .mask = 1};
    EXPECT_EQ(
            round_trip(integers, {-5, 250, 100, 0, 127.5F, 20}, 6), (std::vector<float> {-5, 250, 100, 0, 127.5F, 20}));
    // 12 / 2 is 6, 1 / 2 is 0.5 and -3 / 2 is -1.5 in e2m1; 5 / 2 is a tie to 2.
    const computed_op mx {.src = f32(0, {2, 2}),
            .dst = lt(3, dg::newer::f4_e2m1),
            .scales = lt(4, dg::newer::e8m0),
            .rule = "mx_floor",
            .qtype = "per_group",
            .group_shape = numbers {1, 2}};
    EXPECT_EQ(round_trip(mx, {12, -3, 0.5F, 6}, 2), (std::vector<float> {12, -3, 0.5F, 6}));
    EXPECT_EQ(round_trip(mx, {12, 1, 12, 5}, 2), (std::vector<float> {12, 1, 12, 4}));
    auto nvfp4 = mx, e4m3 = mx, e5m2 = mx;
    nvfp4.scales = lt(4, dg::newer::f8_e4m3);
    nvfp4.rule = "nvfp4";
    EXPECT_EQ(round_trip(nvfp4, {12, 3, 6, -0.5F}, 2), (std::vector<float> {12, 3, 6, -0.5F}));
    e4m3.dst = lt(3, dg::newer::f8_e4m3);
    EXPECT_EQ(round_trip(e4m3, {448, 3, 6, -0.5F}, 4), (std::vector<float> {448, 3, 6, -0.5F}));
    e5m2.dst = lt(3, dg::newer::f8_e5m2);
    e5m2.scales = lt(4, type::f32);
    e5m2.rule = "absmax";
    EXPECT_EQ(round_trip(e5m2, {57344, 3, -114688, 4}, 4), (std::vector<float> {57344, 3, -114688, 4}));
}

} // namespace
} // namespace dynquant::test
