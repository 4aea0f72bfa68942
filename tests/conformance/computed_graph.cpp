// DynamicQuantize of the graph API computes its scales and zero points when it has the attribute scale_rule. Values are
// worked out by hand from the formulas of dynquant/scale_rule.hpp.
#include <limits>

#include "support/direct.hpp"
#include "support/environment.hpp"
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

const std::string q = "op 3 'q' (DynamicQuantize): ";
constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

using bytes = std::vector<std::byte>;
using numbers = std::vector<std::int64_t>;

bytes floats_of(const std::vector<float> &values) {
    return encode_reals(data_type::f32, values);
}

bytes integers_of(const std::vector<int> &values) {
    bytes result;
    for (const int value : values)
        result.push_back(static_cast<std::byte>(value & 0xff));
    return result;
}

lt of(std::size_t id, type t, const dims &shape) {
    return {id, t, shape, layout::strided};
}

/// What a compiled op is given and what it makes of it: dst, scales and perhaps zps.
struct buffers {
    std::vector<bytes> inputs, outputs;
};

/// op 3 'q', a valid DynamicQuantize of a 2 x 3 src with one scale.
struct computed_op {
    lt src = f32(0, {2, 3});
    std::optional<lt> global_scale = {};
    lt dst = s8(3, {2, 3}), scales = f32(4, {1});
    std::optional<lt> zps = {};
    std::string rule = "absmax";
    std::optional<std::string> qtype = {};
    std::optional<std::int64_t> axis = {}, mask = {};
    std::optional<numbers> group_shape = {};
    std::optional<bool> narrow = {}, saturate = {};
    std::optional<float> least = {}, of_zero = {};
    std::optional<std::string> quotient = {}, nonfinite = {};

    std::vector<lt> inputs() const { return global_scale ? std::vector {src, *global_scale} : std::vector {src}; }
    std::vector<lt> outputs() const { return zps ? std::vector {dst, scales, *zps} : std::vector {dst, scales}; }

    dg::op make() const {
        dg::op op(3, kind::DynamicQuantize, inputs(), outputs(), "q");
        op.set_attr(dg::own::scale_rule, rule);
        const auto set = [&](attr name, const auto &value) {
            if (value) op.set_attr(name, *value);
        };
        set(attr::qtype, qtype);
        set(attr::axis, axis);
        set(dg::newer::mask, mask);
        set(dg::newer::group_shape, group_shape);
        set(dg::own::narrow, narrow);
        set(dg::own::saturate, saturate);
        set(dg::own::least, least);
        set(dg::own::of_zero, of_zero);
        set(dg::own::quotient, quotient);
        set(dg::own::nonfinite, nonfinite);
        return op;
    }

    /// Compiles and executes it by the kernel that is chosen, and by reference.
    void expect_gives(const buffers &expected) const {
        expect_runs(partition_of(make()), expected);
        const scoped_variable kernel("DYNQUANT_KERNEL", "reference");
        expect_runs(partition_of(make()), expected);
    }

  private:
    void expect_runs(const dg::partition &partition, const buffers &expected) const {
        const auto compiled = partition.compile(inputs(), outputs(), cpu());
        auto given = expected.inputs;
        std::vector<bytes> results;
        for (const auto &each : expected.outputs)
            results.emplace_back(each.size(), std::byte {0xaa});
        std::vector<dg::tensor> in, out;
        for (std::size_t i = 0; i < given.size(); ++i)
            in.push_back(tensor_of(inputs()[i], given[i]));
        for (std::size_t i = 0; i < results.size(); ++i)
            out.push_back(tensor_of(outputs()[i], results[i]));
        dg::stream stream(cpu());
        compiled.execute(stream, in, out);
        EXPECT_EQ(results, expected.outputs) << compiled.get_info().isa;
    }
};

TEST(computed_graph, absmax_per_tensor) { // 63.75 / 127.5
    computed_op {}.expect_gives({{floats_of({-63.75F, 0.5F, 1, 63.75F, 0.25F, -0.75F})},
            {integers_of({-128, 1, 2, 127, 0, -2}), floats_of({0.5F})}});
}

TEST(computed_graph, absmax_per_token_by_mask) { // narrow: 127 / 127 and 254 / 127
    const computed_op op {.scales = f32(4, {2}), .mask = 1, .narrow = true};
    op.expect_gives(
            {{floats_of({127, -1, 2, -254, 3, 2})}, {integers_of({127, -1, 2, -127, 2, 1}), floats_of({1, 2})}});
}

TEST(computed_graph, minmax_per_channel) { // columns from -5 to 250 and from 0 to 127.5, by 255
    const computed_op op {.src = f32(0, {2, 2}),
            .dst = u8(3, {2, 2}),
            .scales = f32(4, {2}),
            .zps = u8(5, {2}),
            .rule = "minmax",
            .qtype = "per_channel",
            .axis = -1};
    op.expect_gives({{floats_of({-5, 127.5F, 250, 20})},
            {integers_of({0, 255, 255, 40}), floats_of({1, 0.5F}), integers_of({5, 0})}});
}

TEST(computed_graph, minmax_per_group_to_s4) { // by 15: from -7 to 8, lowest - (-7) is -1; from 0 to 30
    const computed_op op {.src = f32(0, {1, 4}),
            .dst = of(3, dg::newer::s4, {1, 4}),
            .scales = f32(4, {1, 2}),
            .zps = of(5, dg::newer::s4, {1, 2}),
            .rule = "minmax",
            .qtype = "per_group",
            .group_shape = numbers {1, 2}};
    op.expect_gives({{floats_of({-7, 8, 0, 30})},
            {encode(data_type::s4, {-8, 7, -8, 7}), floats_of({1, 2}), encode(data_type::s4, {-1, -8})}});
}

TEST(computed_graph, mask_packs_the_scales) { // along dims 0 and 2: 127, 254, 381 and 508, by 127
    const computed_op op {
            .src = f32(0, {2, 2, 2}), .dst = s8(3, {2, 2, 2}), .scales = f32(4, {2, 2}), .mask = 5, .narrow = true};
    op.expect_gives({{floats_of({127, 1, 2, 254, -381, 4, 3, -508})},
            {integers_of({127, 0, 2, 127, -127, 1, 1, -127}), floats_of({1, 2, 3, 4})}});
}

TEST(computed_graph, mask_composes_with_group_shape) { // blocks of 2 x 2
    const computed_op op {.src = f32(0, {2, 4}),
            .dst = s8(3, {2, 4}),
            .scales = f32(4, {1, 2}),
            .mask = 3,
            .group_shape = numbers {2, 2},
            .narrow = true};
    op.expect_gives({{floats_of({1, 2, -4, 2, 127, 3, 4, -254})},
            {integers_of({1, 2, -2, 1, 127, 3, 2, -127}), floats_of({1, 2})}});
}

TEST(computed_graph, mask_of_0_gives_a_scalar) {
    const computed_op op {.src = f32(0, {}), .dst = s8(3, {}), .scales = f32(4, {}), .mask = 0};
    op.expect_gives({{floats_of({255})}, {integers_of({127}), floats_of({2})}});
}

TEST(computed_graph, src_may_be_bf16_and_transposed) { // scales follow the index
    const computed_op op {.src = lt(0, type::bf16, dims {2, 2}, dims {1, 2}),
            .dst = lt(3, type::s8, dims {2, 2}, dims {1, 2}),
            .scales = of(4, type::bf16, {2}),
            .mask = 1,
            .narrow = true};
    op.expect_gives({{encode_reals(data_type::bf16, {127, 254, -1, -2})},
            {integers_of({127, 127, -1, -1}), encode_reals(data_type::bf16, {1, 2})}});
}

TEST(computed_graph, src_and_scales_may_be_f16) {
    const computed_op op {.src = of(0, type::f16, {2, 3}), .scales = of(4, type::f16, {1})};
    op.expect_gives({{encode_reals(data_type::f16, {-63.75F, 0.5F, 1, 63.75F, 0.25F, -0.75F})},
            {integers_of({-128, 1, 2, 127, 0, -2}), encode_reals(data_type::f16, {0.5F})}});
}

TEST(computed_graph, narrow_rules_compute_floats_if_told) { // by 448
    const computed_op op {.src = f32(0, {2}),
            .dst = of(3, dg::newer::f8_e4m3, {2}),
            .scales = f32(4, {1}),
            .rule = "vllm",
            .narrow = false};
    op.expect_gives({{floats_of({896, -6})}, {integers_of({0x7e, 0xc4}), floats_of({2})}});
}

// ONNX's example of DynamicQuantizeLinear, and its range of zero.
TEST(computed_graph, onnx) {
    const computed_op op {.dst = u8(3, {2, 3}), .zps = u8(5, {1}), .rule = "onnx"};
    op.expect_gives({{floats_of({0, 2, -3, -2.5F, 1.34F, 0.5F})},
            {integers_of({153, 255, 0, 26, 221, 179}), floats_of({5.0F / 255}), integers_of({153})}});
    op.expect_gives(
            {{floats_of({0, 0, 0, 0, 0, 0})}, {integers_of({0, 0, 0, 0, 0, 0}), floats_of({0}), integers_of({0})}});
}

TEST(computed_graph, onednn_dynamic_quantize) {
    const computed_op op {.rule = "onednn_dynamic_quantize"};
    op.expect_gives({{floats_of({infinity, 127, nan, -3, 2.5F, -127})},
            {integers_of({0, 127, 0, -3, 2, -127}), floats_of({1})}});
    op.expect_gives({{floats_of({0, 0, 0, 0, 0, 0})}, {integers_of({0, 0, 0, 0, 0, 0}), floats_of({1e-30F})}});
}

/// Blocks of two, 1000 and 1: 2^9 < 1000 < 2^10, 1000 / 448 is 2.2, and 2^8 < 448. Codes of e4m3: 256 is 0x78.
struct mx_case {
    std::string rule;
    int scale; // biased by 127
    std::vector<int> codes;
    bool saturate = true;
};

TEST(computed_graph, mx_to_e4m3) {
    for (const auto &c : {mx_case {"mx_floor", 128, {0x7e, 0x30}}, {"mx_floor", 128, {0x7f, 0x30}, false},
                 {"mx_ceil", 129, {0x78, 0x28}}, {"mx_even", 129, {0x78, 0x28}}, {"mx_rceil", 129, {0x78, 0x28}}}) {
        const computed_op op {.src = of(0, type::bf16, {1, 2}),
                .dst = of(3, dg::newer::f8_e4m3, {1, 2}),
                .scales = of(4, dg::newer::e8m0, {1, 1}),
                .rule = c.rule,
                .qtype = "per_group",
                .group_shape = numbers {1, 2},
                .saturate = c.saturate};
        op.expect_gives({{encode_reals(data_type::bf16, {1000, 1})}, {integers_of(c.codes), integers_of({c.scale})}});
    }
}

TEST(computed_graph, saturates_unless_told) { // 1000 / 2 is beyond 448
    const computed_op op {.src = f32(0, {1}),
            .dst = of(3, dg::newer::f8_e4m3, {1}),
            .scales = of(4, dg::newer::e8m0, {1}),
            .rule = "mx_floor"};
    op.expect_gives({{floats_of({1000})}, {integers_of({0x7e}), integers_of({128})}});
}

TEST(computed_graph, mx_to_e2m1) { // 12 / 2 is 6, code 7; 0.5 is 1, -1.5 is 8 + 3
    const computed_op op {.src = f32(0, {2, 2}),
            .dst = of(3, dg::newer::f4_e2m1, {2, 2}),
            .scales = of(4, dg::newer::e8m0, {2, 1}),
            .rule = "mx_floor",
            .qtype = "per_group",
            .group_shape = numbers {1, 2}};
    op.expect_gives({{floats_of({12, 1, 0, 0})}, {integers_of({0x17, 0}), integers_of({128, 0})}});
    op.expect_gives({{floats_of({12, -3, 6, nan})}, {integers_of({0xb7, 0x77}), integers_of({128, 255})}});
}

TEST(computed_graph,
        nvfp4_with_and_without_global_scale) { // 12 / 6 is 2, by 0.5 4; e4m3: 2 is 0x40, 4 is 0x48, 2^-6 is 8
    computed_op op {.src = f32(0, {2, 2}),
            .dst = of(3, dg::newer::f4_e2m1, {2, 2}),
            .scales = of(4, dg::newer::f8_e4m3, {2, 1}),
            .rule = "nvfp4",
            .qtype = "per_group",
            .group_shape = numbers {1, 2}};
    op.expect_gives({{floats_of({12, 3, 0, 0})}, {integers_of({0x37, 0}), integers_of({0x40, 0x08})}});
    for (const dims &shape : {dims {}, dims {1}, dims {1, 1}}) {
        op.global_scale = f32(1, shape);
        op.expect_gives(
                {{floats_of({12, 3, 0, 0}), floats_of({0.5F})}, {integers_of({0x37, 0}), integers_of({0x48, 0x08})}});
    }
}

TEST(computed_attributes, change_the_rule) {
    const bytes src = floats_of({-63.75F, 0.5F, 1, 63.75F, 0.25F, -0.75F}), zeros = floats_of({0, 0, 0, 0, 0, 0});
    computed_op {.least = 2.0F}.expect_gives({{src}, {integers_of({-32, 0, 0, 32, 0, 0}), floats_of({2})}});
    computed_op {.of_zero = 3.0F}.expect_gives({{zeros}, {integers_of({0, 0, 0, 0, 0, 0}), floats_of({3})}});
    const bytes special = floats_of({-255, nan, 0, 2, infinity, -infinity});
    computed_op {.nonfinite = "skip"}.expect_gives({{special}, {integers_of({-128, 0, 0, 1, 0, 0}), floats_of({2})}});
    const computed_op infinite {.src = f32(0, {2}), .dst = s8(3, {2}), .nonfinite = "propagate"};
    infinite.expect_gives({{floats_of({infinity, 1})}, {integers_of({-128, 0}), floats_of({infinity})}});
    computed_op narrow = infinite;
    narrow.rule = "onednn_dynamic_quantize";
    narrow.expect_gives({{floats_of({infinity, 1})}, {integers_of({-127, 0}), floats_of({infinity})}});
    narrow.narrow = false;
    narrow.expect_gives({{floats_of({infinity, 1})}, {integers_of({-128, 0}), floats_of({infinity})}});
}

// 889 / 127 is 7. 45.5 / 7 is a tie; 45.5 * f32(1 / 7) is 6.5000005.
TEST(computed_attributes, change_the_quotient) {
    for (const auto &[quotient, code] : {std::pair {"divide", 6}, {"multiply_reciprocal", 7}, {"multiply_range", 7}}) {
        const computed_op op {.src = f32(0, {2}), .dst = s8(3, {2}), .narrow = true, .quotient = std::string(quotient)};
        op.expect_gives({{floats_of({889, 45.5F})}, {integers_of({127, code}), floats_of({7})}});
    }
}

testing::AssertionResult is(const lt &t, const dims &shape, const dims &strides) {
    if (t.get_layout_type() != layout::strided) return testing::AssertionFailure() << "the layout is not strided";
    if (t.get_dims() != shape)
        return testing::AssertionFailure() << "dims are " << testing::PrintToString(t.get_dims());
    if (t.get_strides() != strides)
        return testing::AssertionFailure() << "strides are " << testing::PrintToString(t.get_strides());
    return testing::AssertionSuccess();
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
        const computed_op op {.dst = of(3, known, {2, 3}),
                .scales = of(4, type::undef, {1}),
                .zps = of(5, type::undef, {1}),
                .rule = "minmax"};
        EXPECT_NO_THROW(partition_of(op.make()));
        const computed_op by_zps {.dst = of(3, type::undef, {2, 3}),
                .scales = of(4, type::undef, {1}),
                .zps = of(5, known, {1}),
                .rule = "minmax"};
        EXPECT_NO_THROW(partition_of(by_zps.make()));
    }
    const computed_op mx {.dst = of(3, type::undef, {2, 3}), .scales = of(4, type::undef, {1}), .rule = "mx_ceil"};
    EXPECT_NO_THROW(partition_of(mx.make()));
    const computed_op global {.global_scale = of(1, type::undef, {1}), .scales = of(4, type::undef, {1})};
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
    op.expect_gives({{bytes {}}, {bytes {}, integers_of(std::vector<int>(12, 0xaa))}});
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

TEST(computed_graph, stands_beside_ops_of_onednn) {
    const lt x = f32(10, {2, 3});
    const computed_op op {.scales = lt(4, type::f32), .mask = 1, .narrow = true};
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(dg::op(1, kind::ReLU, {x}, {op.src}, "relu"));
    graph.add_op(op.make());
    graph.finalize();
    auto partitions = graph.get_partitions();
    ASSERT_EQ(partitions.size(), 2u);
    const bool relu_first = partitions[0].get_ops().front() == 1;
    const auto relu = partitions[relu_first ? 0 : 1].compile({x}, {op.src}, cpu());
    const auto quantize = partitions[relu_first ? 1 : 0].compile(op.inputs(), op.outputs(), cpu());
    std::vector<float> given {127, -1, 2, 254, 3, -2}, between(6), scales(2);
    std::vector<std::int8_t> dst(6);
    dg::stream stream(cpu());
    relu.execute(stream, {tensor_of(x, given)}, {tensor_of(op.src, between)});
    stream.wait();
    quantize.execute(stream, {tensor_of(op.src, between)},
            {tensor_of(op.dst, dst), tensor_of(quantize.query_logical_tensor(4), scales)});
    EXPECT_EQ(dst, (std::vector<std::int8_t> {127, 0, 2, 127, 2, 0}));
    EXPECT_EQ(scales, (std::vector<float> {1, 2}));
}

TEST(computed_graph, is_known_by_its_attribute) {
    const dg::op without(3, kind::DynamicQuantize, {f32(0, {2, 3})}, {s8(3, {2, 3})}, "q");
    EXPECT_TRUE(add_refuses(
            without, dnnl_invalid_graph_op, q + "inputs: expected 2 or 3 (src, scales, optionally zps), given 1"));
    auto others = dynamic_op {}.make();
    others.set_attr(dg::own::least, 1.0F);
    EXPECT_TRUE(add_refuses(others, dnnl_invalid_graph_op,
            q + "least: expected an attribute among qtype, axis, group_shape or mask, given least"));
}

TEST(computed_graph, is_no_other_op) {
    auto quantize = static_op {}.make();
    quantize.set_attr<std::string>(dg::own::scale_rule, "absmax");
    EXPECT_TRUE(add_refuses(quantize, dnnl_invalid_graph_op,
            "op 3 'q' (Quantize): scale_rule: expected an attribute among qtype, axis, scales or zps, given "
            "scale_rule"));
    auto dequantize = dynamic_op {.which = kind::DynamicDequantize, .src = u8(0, {2, 4}), .dst = f32(3, {2, 4})}.make();
    dequantize.set_attr<std::string>(dg::own::scale_rule, "absmax");
    EXPECT_TRUE(add_refuses(dequantize, dnnl_invalid_graph_op,
            "op 3 'q' (DynamicDequantize): scale_rule: expected an attribute among qtype, axis, group_shape or mask, "
            "given scale_rule"));
    dequantize = dynamic_op {.which = kind::DynamicDequantize, .src = u8(0, {2, 4}), .dst = f32(3, {2, 4})}.make();
    dequantize.set_attr(dg::own::saturate, true);
    EXPECT_TRUE(add_refuses(dequantize, dnnl_invalid_graph_op,
            "op 3 'q' (DynamicDequantize): saturate: expected an attribute among qtype, axis, group_shape or mask, "
            "given saturate"));
}

TEST(computed_attributes, are_words_with_near_ones_suggested) {
    const std::string rules =
            "scale_rule: expected absmax, minmax, onnx, onednn_dynamic_quantize, onednn_dynamic_fp, mx_floor, mx_ceil, "
            "mx_even, mx_rceil, nvfp4, torchao_symmetric, torchao_asymmetric, ggml_q8_0 or vllm, given ";
    EXPECT_TRUE(add_refuses(computed_op {.rule = "abs_max"}.make(), dnnl_invalid_arguments,
            q + rules + "'abs_max' (did you mean 'absmax'?)"));
    EXPECT_TRUE(add_refuses(computed_op {.rule = ""}.make(), dnnl_invalid_arguments, q + rules + "''"));
    EXPECT_TRUE(add_refuses(computed_op {.quotient = "division"}.make(), dnnl_invalid_arguments,
            q
                    + "quotient: expected divide, multiply_reciprocal or multiply_range, given 'division' (did you "
                      "mean "
                      "'divide'?)"));
    EXPECT_TRUE(add_refuses(computed_op {.nonfinite = "ignore"}.make(), dnnl_invalid_arguments,
            q + "nonfinite: expected propagate or skip, given 'ignore'"));
}

TEST(computed_attributes, have_types) {
    const auto refuses = [](attr name, const auto &value, const std::string &message) {
        return add_refuses(computed_op {}.make().set_attr(name, value), dnnl_invalid_graph_op, q + message);
    };
    const std::string of_s64 = ", given one of type s64";
    EXPECT_TRUE(refuses(dg::own::scale_rule, std::int64_t {1}, "scale_rule: expected a value of type string" + of_s64));
    EXPECT_TRUE(refuses(dg::own::narrow, std::int64_t {1}, "narrow: expected a value of type bool" + of_s64));
    EXPECT_TRUE(refuses(dg::own::least, std::int64_t {1}, "least: expected a value of type f32" + of_s64));
    EXPECT_TRUE(refuses(dg::own::of_zero, std::int64_t {1}, "of_zero: expected a value of type f32" + of_s64));
    EXPECT_TRUE(refuses(dg::own::quotient, std::int64_t {1}, "quotient: expected a value of type string" + of_s64));
    EXPECT_TRUE(refuses(dg::own::nonfinite, std::int64_t {1}, "nonfinite: expected a value of type string" + of_s64));
    EXPECT_TRUE(refuses(dg::own::saturate, std::int64_t {1}, "saturate: expected a value of type bool" + of_s64));
    EXPECT_TRUE(refuses(dg::own::least, std::vector<float> {1, 2}, "least: expected one value, given 2"));
    EXPECT_TRUE(refuses(attr::scales, std::vector<float> {1},
            "scales: expected an attribute among qtype, axis, group_shape, mask, scale_rule, narrow, least, of_zero, "
            "quotient, nonfinite or saturate, given scales"));
}

TEST(computed_attributes, are_finite_and_not_negative) {
    for (const auto &[value, shown] : {std::pair {-1.0F, "-1"}, {infinity, "inf"}, {nan, "nan"}}) {
        const std::string message = std::string(": expected a finite number of 0 or more, given ") + shown;
        EXPECT_TRUE(add_refuses(computed_op {.least = value}.make(), dnnl_invalid_arguments, q + "least" + message));
        EXPECT_TRUE(
                add_refuses(computed_op {.of_zero = value}.make(), dnnl_invalid_arguments, q + "of_zero" + message));
    }
}

// While dims are unknown, too.
TEST(computed_rule, fits_dst) {
    for (const bool known : {true, false}) {
        const auto dst = [&](type t) { return known ? of(3, t, {2, 3}) : lt(3, t); };
        const auto src = known ? f32(0, {2, 3}) : lt(0, type::f32);
        EXPECT_TRUE(add_refuses(computed_op {.src = src, .dst = dst(type::u8)}.make(), dnnl_invalid_arguments,
                q + "scale_rule: expected minmax, onnx or torchao_asymmetric for dst of u8, given absmax"));
        EXPECT_TRUE(add_refuses(
                computed_op {.src = src, .dst = dst(dg::newer::f8_e4m3), .zps = lt(5, type::s8), .rule = "minmax"}
                        .make(),
                dnnl_invalid_arguments,
                q
                        + "scale_rule: expected absmax, onednn_dynamic_fp, nvfp4 or torchao_symmetric for dst of "
                          "f8_e4m3, given minmax"));
        const auto refuses_vllm = [&](lt scales, std::optional<bool> narrow, const std::string &rules) {
            const auto op = computed_op {
                    .src = src, .dst = dst(dg::newer::f8_e4m3), .scales = scales, .rule = "vllm", .narrow = narrow};
            return add_refuses(op.make(), dnnl_invalid_arguments, q + rules);
        };
        EXPECT_TRUE(refuses_vllm(lt(4, type::undef), {},
                "scale_rule: expected absmax, onednn_dynamic_fp, mx_floor, mx_ceil, mx_even, mx_rceil, nvfp4 or "
                "torchao_symmetric for dst of f8_e4m3, given vllm"));
        EXPECT_TRUE(refuses_vllm(lt(4, dg::newer::e8m0), {},
                "scale_rule: expected mx_floor, mx_ceil, mx_even or mx_rceil for dst of f8_e4m3, given vllm"));
        EXPECT_TRUE(refuses_vllm(lt(4, type::f32), true, "narrow: expected false for dst of f8_e4m3, given true"));
        EXPECT_TRUE(add_refuses(
                computed_op {.src = src, .dst = dst(type::u8), .scales = lt(4, dg::newer::e8m0), .rule = "mx_ceil"}
                        .make(),
                dnnl_invalid_arguments,
                q + "scale_rule: expected minmax, onnx or torchao_asymmetric for dst of u8, given mx_ceil"));
        EXPECT_TRUE(add_refuses(computed_op {.src = src,
                                        .dst = dst(dg::newer::u4),
                                        .zps = lt(5, dg::newer::u4),
                                        .rule = "onnx",
                                        .narrow = true}
                                        .make(),
                dnnl_invalid_arguments, q + "narrow: expected false for dst of u4, given true"));
    }
}

TEST(computed_rule, says_whether_there_are_zps) {
    EXPECT_TRUE(add_refuses(computed_op {.dst = lt(3, type::u8), .rule = "minmax"}.make(), dnnl_invalid_graph_op,
            q + "outputs: expected 3 (dst, scales, zps) for scale_rule minmax, given 2"));
    EXPECT_TRUE(add_refuses(computed_op {.zps = s8(5, {1})}.make(), dnnl_invalid_graph_op,
            q + "outputs: expected 2 (dst, scales) for scale_rule absmax, given 3"));
    auto op = dg::op(3, kind::DynamicQuantize, {f32(0, {2, 3})}, {s8(3, {2, 3})}, "q");
    op.set_attr<std::string>(dg::own::scale_rule, "absmax");
    EXPECT_TRUE(add_refuses(
            op, dnnl_invalid_graph_op, q + "outputs: expected 2 or 3 (dst, scales, optionally zps), given 1"));
    auto inputs = computed_op {}.make();
    inputs.add_inputs({f32(1, {1}), f32(2, {1})});
    EXPECT_TRUE(add_refuses(
            inputs, dnnl_invalid_graph_op, q + "inputs: expected 1 or 2 (src, optionally global_scale), given 3"));
}

TEST(computed_rule, fits_the_types) {
    const auto refuses = [](const computed_op &op, dnnl_status_t status, const std::string &message) {
        return add_refuses(op.make(), status, q + message);
    };
    const auto e8m0 = lt(4, dg::newer::e8m0), e4m3 = lt(4, dg::newer::f8_e4m3);
    EXPECT_TRUE(refuses({.scales = e8m0}, dnnl_invalid_data_type,
            "scales: expected data type f32, f16, bf16 or f8_e4m3 for scale_rule absmax, given f8_e8m0"));
    EXPECT_TRUE(refuses({.rule = "mx_even"}, dnnl_invalid_data_type,
            "scales: expected data type f8_e8m0 for scale_rule mx_even, given f32"));
    EXPECT_TRUE(refuses({.scales = e4m3, .zps = s8(5, {1}), .rule = "minmax"}, dnnl_invalid_data_type,
            "scales: expected data type f32, f16 or bf16 for scale_rule minmax, given f8_e4m3"));
    EXPECT_TRUE(refuses({.global_scale = f32(1, {1})}, dnnl_invalid_data_type,
            "scales: expected data type f8_e4m3 beside a global_scale, given f32"));
    EXPECT_TRUE(refuses({.scales = e4m3, .rule = "ggml_q8_0"}, dnnl_invalid_arguments,
            "quotient: expected divide or multiply_reciprocal for scales of f8_e4m3, given multiply_range"));
    EXPECT_TRUE(refuses({.scales = e8m0, .rule = "ggml_q8_0"}, dnnl_invalid_data_type,
            "scales: expected data type f32, f16 or bf16 for scale_rule ggml_q8_0, given f8_e8m0"));
    for (const auto &scales : {lt(4, type::undef), lt(4, type::f32), e4m3}) {
        EXPECT_TRUE(refuses({.global_scale = f32(1, {1}), .scales = scales, .zps = s8(5, {1}), .rule = "onnx"},
                dnnl_invalid_graph_op, "inputs: expected 1 (src) for scale_rule onnx, given 2"));
        EXPECT_TRUE(refuses({.global_scale = f32(1, {1}), .scales = scales, .rule = "mx_rceil"}, dnnl_invalid_graph_op,
                "inputs: expected 1 (src) for scale_rule mx_rceil, given 2"));
    }
    EXPECT_TRUE(refuses({.global_scale = f32(1, {1}), .scales = lt(4, type::undef), .quotient = "multiply_range"},
            dnnl_invalid_arguments,
            "quotient: expected divide or multiply_reciprocal for a global_scale, given multiply_range"));
    for (const auto &zps : {u8(5, {1}), s32(5, {1})})
        EXPECT_TRUE(refuses({.zps = zps, .rule = "minmax"}, dnnl_invalid_data_type,
                "zps: expected data type s8, that of dst, given "
                        + std::string(zps.get_data_type() == type::u8 ? "u8" : "s32")));
    EXPECT_TRUE(refuses({.dst = u8(3, {2, 3}), .zps = s32(5, {1}), .rule = "minmax"}, dnnl_invalid_data_type,
            "zps: expected data type u8, that of dst, given s32"));
    const std::string quotient = "quotient: expected divide or multiply_reciprocal for ";
    EXPECT_TRUE(refuses({.zps = s8(5, {1}), .rule = "minmax", .quotient = "multiply_range"}, dnnl_invalid_arguments,
            quotient + "scale_rule minmax, given multiply_range"));
    EXPECT_TRUE(refuses({.scales = e8m0, .rule = "mx_ceil", .quotient = "multiply_range"}, dnnl_invalid_arguments,
            quotient + "scale_rule mx_ceil, given multiply_range"));
    EXPECT_TRUE(refuses({.scales = e4m3, .quotient = "multiply_range"}, dnnl_invalid_arguments,
            quotient + "scales of f8_e4m3, given multiply_range"));
}

TEST(computed_ports, have_types) {
    const auto refuses = [](const computed_op &op, const std::string &message) {
        return add_refuses(op.make(), dnnl_invalid_data_type, q + message);
    };
    EXPECT_TRUE(refuses({.src = s32(0, {2, 3})}, "src: expected data type f32, f16 or bf16, given s32"));
    EXPECT_TRUE(refuses({.global_scale = s8(1, {1}), .scales = of(4, dg::newer::f8_e4m3, {1})},
            "global_scale: expected data type f32, given s8"));
    EXPECT_TRUE(refuses({.dst = s32(3, {2, 3})},
            "dst: expected data type s8, s4, f8_e4m3, f8_e5m2 or f4_e2m1 for scale_rule absmax, given s32"));
    EXPECT_TRUE(refuses({.dst = s32(3, {2, 3}), .narrow = true},
            "dst: expected data type s8 or s4 for scale_rule absmax, given s32"));
    EXPECT_TRUE(refuses({.dst = s32(3, {2, 3}), .zps = s8(5, {1}), .rule = "onnx"},
            "dst: expected data type s8, u8, s4 or u4 for scale_rule onnx, given s32"));
    EXPECT_TRUE(refuses({.scales = s8(4, {1})},
            "scales: expected data type f32, f16, bf16 or f8_e4m3 for scale_rule absmax, given s8"));
    EXPECT_TRUE(refuses({.global_scale = f32(1, {1}), .scales = s8(4, {1})},
            "scales: expected data type f8_e4m3 beside a global_scale, given s8"));
    EXPECT_TRUE(refuses({.dst = lt(3, type::undef), .zps = s32(5, {1}), .rule = "minmax"},
            "zps: expected data type s8, u8, s4 or u4 for scale_rule minmax, given s32"));
    EXPECT_TRUE(compile_refuses(computed_op {.scales = lt(4, type::undef)}.make(), {f32(0, {2, 3})},
            {s8(3, {2, 3}), lt(4, type::undef)}, dnnl_invalid_data_type,
            q + "scales: expected data type f32, f16, bf16 or f8_e4m3 for scale_rule absmax, given undef"));
}

TEST(computed_ports, have_shapes) {
    const auto refuses = [](const computed_op &op, dnnl_status_t status, const std::string &message) {
        return add_refuses(op.make(), status, q + message);
    };
    EXPECT_TRUE(refuses(
            {.scales = f32(4, {2})}, dnnl_invalid_shape, "scales: expected 1 element (qtype per_tensor), given 2"));
    EXPECT_TRUE(refuses({.scales = f32(4, {1, 1})}, dnnl_invalid_shape, "scales: expected a 1-D tensor, given rank 2"));
    EXPECT_TRUE(refuses({.scales = f32(4, {2}), .qtype = "per_channel"}, dnnl_invalid_shape,
            "scales: expected 3 elements (dims[1] of src), given 2"));
    EXPECT_TRUE(refuses({.scales = lt(4, type::f32), .zps = s8(5, {2}), .rule = "onnx", .qtype = "per_channel"},
            dnnl_invalid_shape, "zps: expected 3 elements (dims[1] of src), given 2"));
    EXPECT_TRUE(refuses({.scales = f32(4, {3}), .mask = 1}, dnnl_invalid_shape,
            "scales: expected 2 at dim 0 (dims[0] of src, 2, in groups of 1), given 3"));
    EXPECT_TRUE(refuses({.scales = f32(4, {2}), .qtype = "per_group", .group_shape = numbers {1, 3}},
            dnnl_invalid_shape, "scales: expected the rank of src, 2, given 1"));
    EXPECT_TRUE(refuses({.scales = f32(4, {2, 1}), .qtype = "per_group", .group_shape = numbers {1, 2}},
            dnnl_invalid_shape, "group_shape: expected a divisor of dims[1] of src, 3, given 2 at dim 1"));
    EXPECT_TRUE(refuses({.global_scale = f32(1, {2}), .scales = of(4, dg::newer::f8_e4m3, {1})}, dnnl_invalid_shape,
            "global_scale: expected 1 element, given dims 2"));
    EXPECT_TRUE(refuses({.dst = s8(3, {2, 4})}, dnnl_invalid_shape, "dst: expected the dims of src, 2x3, given 2x4"));
}

TEST(computed_ports, of_scales_and_zps_are_dense) {
    const auto refuses = [](const computed_op &op, const std::string &message) {
        return add_refuses(op.make(), dnnl_invalid_shape, q + message);
    };
    EXPECT_TRUE(refuses({.scales = lt(4, type::f32, dims {3}, dims {2}), .qtype = "per_channel"},
            "scales: expected stride 1, given 2"));
    EXPECT_TRUE(refuses({.scales = lt(4, type::f32, dims {2, 3}, dims {1, 2}), .mask = 3},
            "scales: expected dense row-major strides, given 1x2"));
    const auto strided = [](const dims &strides) {
        return changed(lt(4, type::f32, dims(strides.size(), 1), strides), [](auto &t) {
            for (int d = 0; d < t.ndims; ++d)
                t.dims[d] = unknown;
        });
    };
    EXPECT_TRUE(refuses({.scales = strided({2}), .qtype = "per_channel"}, "scales: expected stride 1, given 2"));
    EXPECT_TRUE(refuses({.scales = strided({1, 2}), .mask = 3}, "scales: expected dense row-major strides, given 1x2"));
    const computed_op any;
    EXPECT_TRUE(compile_refuses(any.make(), {any.src},
            {any.dst, changed(any.scales, [](auto &t) { t.layout_type = dnnl_graph_layout_type_opaque; })},
            dnnl_invalid_arguments, q + "scales: expected layout strided or any, given opaque"));
}

TEST(computed_ports, are_all_given_to_compile) {
    const computed_op op;
    EXPECT_TRUE(compile_refuses(op.make(), {op.src}, {op.dst}, dnnl_invalid_arguments,
            q + "scales: expected logical tensor 4 among the outputs of compile, given 3"));
}

TEST(computed_ports, have_logical_tensors_of_their_own) {
    EXPECT_TRUE(add_refuses(computed_op {.zps = s8(3, {1}), .rule = "minmax"}.make(), dnnl_invalid_graph,
            q + "zps: expected a logical tensor of its own, given 3, which is dst too"));
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(computed_op {}.make());
    dg::op other(8, kind::DynamicDequantize, {s8(20, {2}), f32(21, {1})}, {f32(4, {2})}, "dq");
    EXPECT_TRUE(fails([&] { graph.add_op(other); }, dnnl_invalid_graph,
            "op 8 'dq' (DynamicDequantize): dst: expected a logical tensor that no other op writes, given 4, which is "
            "scales of op 3 'q' (DynamicQuantize)"));
}

TEST(computed_ports, are_named_in_a_cycle) { // src of q is made from its scales
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(computed_op {.src = f32(0, {2}), .dst = s8(3, {2})}.make());
    graph.add_op(dg::op(8, kind::DynamicDequantize, {s8(20, {2}), f32(4, {1})}, {f32(0, {2})}, "dq"));
    EXPECT_TRUE(fails([&] { graph.finalize(); }, dnnl_invalid_graph,
            q + "scales: expected a graph without cycles, given one in which logical tensor 4 depends on itself"));
}

class computed_execute_refuses : public testing::Test {
  protected:
    testing::AssertionResult refuses(
            const std::vector<dg::tensor> &inputs, const std::vector<dg::tensor> &outputs, const std::string &message) {
        auto refused = fails([&] { compiled_.execute(stream_, inputs, outputs); }, dnnl_invalid_arguments, q + message);
        if (dst_ != bytes(1, std::byte {77}) || scales_ != bytes(1, std::byte {77}))
            return testing::AssertionFailure() << "an output was written";
        return refused;
    }

    computed_op op_ {.src = f32(0, {2}),
            .global_scale = f32(1, {1}),
            .dst = of(3, dg::newer::f4_e2m1, {2}),
            .scales = of(4, dg::newer::f8_e4m3, {1}),
            .rule = "nvfp4"};
    dg::compiled_partition compiled_ = partition_of(op_.make()).compile(op_.inputs(), op_.outputs(), cpu());
    dg::stream stream_ {cpu()};
    std::vector<float> src_ {12, 3}, global_ {0.5F};
    bytes dst_ {std::byte {77}}, scales_ {std::byte {77}};
    dg::tensor src = tensor_of(op_.src, src_), global_scale = tensor_of(*op_.global_scale, global_),
               dst = tensor_of(op_.dst, dst_), scales = tensor_of(op_.scales, scales_), null;
};

TEST_F(computed_execute_refuses, null_handles) {
    const std::string message = ": expected a buffer, given a null pointer";
    EXPECT_TRUE(refuses({null, global_scale}, {dst, scales}, "src" + message));
    EXPECT_TRUE(refuses({src, null}, {dst, scales}, "global_scale" + message));
    EXPECT_TRUE(refuses({src, global_scale}, {null, scales}, "dst" + message));
    EXPECT_TRUE(refuses({src, global_scale}, {dst, null}, "scales" + message));
}

TEST_F(computed_execute_refuses, wrong_counts) {
    EXPECT_TRUE(refuses({src}, {dst, scales}, "inputs: expected 2 tensors, as compile was given, given 1"));
    EXPECT_TRUE(refuses({src, global_scale}, {dst}, "outputs: expected 2 tensors, as compile was given, given 1"));
}

TEST_F(computed_execute_refuses, and_computes_the_next_right_call) {
    compiled_.execute(stream_, {src, global_scale}, {dst, scales});
    EXPECT_EQ(dst_, integers_of({0x37}));
    EXPECT_EQ(scales_, integers_of({0x48}));
}

} // namespace
} // namespace dynquant::test
