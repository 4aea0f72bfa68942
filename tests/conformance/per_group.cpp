// The graph API computes qtype per_group, with the types of language models' weights and caches. Clauses are those of
// DynamicDequantize's documentation, also applied to DynamicQuantize; values are worked out by hand.
#include "support/direct.hpp"
#include "support/environment.hpp"
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

const std::string dq = "op 3 'q' (DynamicDequantize): ";

lt dense(std::size_t id, type of, const dims &shape) {
    return {id, of, shape, layout::strided};
}

/// op 3 'q', a valid per-group DynamicDequantize of 8 x 2 weights, with two groups of 4 along the first dim.
struct group_op {
    kind which = kind::DynamicDequantize;
    lt src = dense(0, dg::newer::s4, {8, 2});
    lt scales = dense(1, type::f32, {2, 2});
    std::optional<lt> zps = {};
    lt dst = dense(3, type::f32, {8, 2});
    std::optional<std::vector<std::int64_t>> group_shape = std::vector<std::int64_t> {4, 1};

    std::vector<lt> inputs() const { return zps ? std::vector {src, scales, *zps} : std::vector {src, scales}; }
    dg::op make() const {
        dg::op op(3, which, inputs(), {dst}, "q");
        op.set_attr(attr::qtype, std::string("per_group"));
        if (group_shape) op.set_attr(dg::newer::group_shape, *group_shape);
        return op;
    }

    /// Compiles and executes the op by each kernel. Buffers are bytes.
    void expect_gives(std::vector<std::vector<std::byte>> given, const std::vector<std::byte> &expected) const {
        for (const auto &v : universal_variants()) {
            const scoped_variable kernel("DYNQUANT_KERNEL", to_string(v.kernel));
            const scoped_variable isa("DYNQUANT_MAX_ISA", to_string(v.max_isa));
            const auto compiled = partition_of(make()).compile(inputs(), {dst}, cpu());
            std::vector<dg::tensor> tensors;
            const auto ports = inputs();
            for (std::size_t i = 0; i < ports.size(); ++i)
                tensors.push_back(tensor_of(ports[i], given[i]));
            std::vector<std::byte> result(expected.size());
            dg::stream stream(cpu());
            compiled.execute(stream, tensors, {tensor_of(dst, result)});
            EXPECT_EQ(result, expected) << v;
        }
    }
};

std::vector<std::byte> floats_of(const std::vector<float> &values) {
    return encode_reals(data_type::f32, values);
}

TEST(per_group, each_group_has_its_scale) {
    const auto src = encode(data_type::s4, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, -8, -8});
    group_op {}.expect_gives({src, floats_of({1, 2, 0.5f, 10})},
            floats_of({1, 2, 2, 4, 3, 6, 4, 8, 2.5f, 50, 3, 60, 3.5f, 70, -4, -80}));
}

TEST(per_group, zps_have_the_shape_of_scales) {
    group_op op {.src = dense(0, dg::newer::u4, {2, 4}),
            .scales = dense(1, type::bf16, {2, 2}),
            .zps = dense(2, dg::newer::u4, {2, 2}),
            .dst = dense(3, type::f16, {2, 4}),
            .group_shape = std::vector<std::int64_t> {1, 2}};
    op.expect_gives({encode(data_type::u4, {0, 15, 8, 9, 1, 2, 3, 4}), encode_reals(data_type::bf16, {1, 2, 3, 4}),
                            encode(data_type::u4, {7, 8, 1, 15})},
            encode_reals(data_type::f16, {-7, 8, 0, 2, 0, 3, -48, -44}));
}

TEST(per_group, two_dims_may_be_grouped_at_once) {
    group_op op {.src = dense(0, type::s8, {2, 2, 4}),
            .scales = dense(1, type::f16, {2, 1, 2}),
            .dst = dense(3, type::f32, {2, 2, 4}),
            .group_shape = std::vector<std::int64_t> {1, 2, 2}};
    op.expect_gives({encode(data_type::s8, {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8}),
                            encode_reals(data_type::f16, {1, 10, 2, 0.5f})},
            floats_of({1, 2, 30, 40, 5, 6, 70, 80, -2, -4, -1.5f, -2, -10, -12, -3.5f, -4}));
}

TEST(per_group, src_may_be_transposed) { // keys of a cache: tokens are dense, features are not
    group_op op {.src = {0, dg::newer::s4, dims {1, 2, 4}, dims {8, 1, 2}},
            .scales = dense(1, type::f32, {1, 1, 4}),
            .dst = dense(3, type::f32, {1, 2, 4}),
            .group_shape = std::vector<std::int64_t> {1, 2, 1}};
    op.expect_gives({encode(data_type::s4, {1, 2, 3, 4, 5, 6, 7, -8}), floats_of({1, 2, 3, 4})},
            floats_of({1, 6, 15, 28, 2, 8, 18, -32}));
}

TEST(per_group, dynamic_quantize_has_it) {
    group_op op {.which = kind::DynamicQuantize,
            .src = dense(0, type::bf16, {1, 4}),
            .scales = dense(1, type::f32, {1, 2}),
            .dst = dense(3, dg::newer::s4, {1, 4}),
            .group_shape = std::vector<std::int64_t> {1, 2}};
    op.expect_gives({encode_reals(data_type::bf16, {1, -2, 1, -20}), floats_of({0.5f, 2})},
            encode(data_type::s4, {2, -4, 0, -8}));
}

TEST(eight_bit_floats, are_quantized_and_dequantized_by_the_static_ops) {
    const lt f8(1, dg::newer::f8_e4m3, dims {4}, layout::strided);
    std::vector<float> src = {1, -224, 112, 0.25f}, restored(4);
    std::vector<std::uint8_t> quantized(4);
    const static_op quantize {.src = f32(0, {4}), .dst = f8, .qtype = "per_tensor", .scales = {0.5f}, .zps = {}};
    const static_op dequantize {
            .which = kind::Dequantize, .src = f8, .dst = f32(2, {4}), .qtype = "per_tensor", .scales = {2}, .zps = {}};
    dg::stream stream(cpu());
    partition_of(quantize.make())
            .compile({quantize.src}, {f8}, cpu())
            .execute(stream, {tensor_of(quantize.src, src)}, {tensor_of(f8, quantized)});
    EXPECT_EQ(quantized, (std::vector<std::uint8_t> {0x40, 0xfe, 0x76, 0x30}));
    partition_of(dequantize.make())
            .compile({f8}, {dequantize.dst}, cpu())
            .execute(stream, {tensor_of(f8, quantized)}, {tensor_of(dequantize.dst, restored)});
    EXPECT_EQ(restored, (std::vector<float> {4, -896, 448, 1}));
}

TEST(group_shape, is_refused_when_missing) {
    EXPECT_TRUE(add_refuses(group_op {.group_shape = {}}.make(), dnnl_invalid_graph_op,
            dq + "group_shape: expected the attribute to be set for qtype per_group, given none"));
}

TEST(group_shape, has_the_rank_of_src) {
    EXPECT_TRUE(add_refuses(group_op {.group_shape = std::vector<std::int64_t> {4}}.make(), dnnl_invalid_shape,
            dq + "group_shape: expected a value for each dim of src, 2, given 1"));
}

TEST(group_shape, is_positive) {
    for (const std::int64_t value : {0, -4})
        EXPECT_TRUE(add_refuses(group_op {.group_shape = std::vector<std::int64_t> {4, value}}.make(),
                dnnl_invalid_arguments,
                dq + "group_shape: expected values of 1 or more, given " + std::to_string(value) + " at dim 1"));
}

TEST(group_shape, divides_the_dims) {
    EXPECT_TRUE(add_refuses(group_op {.group_shape = std::vector<std::int64_t> {3, 1}}.make(), dnnl_invalid_shape,
            dq + "group_shape: expected a divisor of dims[0] of src, 8, given 3 at dim 0"));
    EXPECT_TRUE(add_refuses(group_op {.group_shape = std::vector<std::int64_t> {16, 1}}.make(), dnnl_invalid_shape,
            dq + "group_shape: expected a divisor of dims[0] of src, 8, given 16 at dim 0"));
}

TEST(group_shape, is_of_type_s64) {
    auto op = group_op {.group_shape = {}}.make();
    EXPECT_TRUE(add_refuses(op.set_attr(dg::newer::group_shape, std::vector<float> {4, 1}), dnnl_invalid_graph_op,
            dq + "group_shape: expected a value of type s64, given one of type f32"));
}

TEST(group_shape, is_refused_at_compile_when_the_dims_come_then) {
    const group_op op {.src = lt(0, dg::newer::s4),
            .scales = lt(1, type::f32),
            .dst = lt(3, type::f32),
            .group_shape = std::vector<std::int64_t> {3, 1}};
    const group_op known;
    EXPECT_TRUE(compile_refuses(op.make(), known.inputs(), {known.dst}, dnnl_invalid_shape,
            dq + "group_shape: expected a divisor of dims[0] of src, 8, given 3 at dim 0"));
}

TEST(group_shape, is_refused_for_a_static_op) {
    auto op = static_op {}.make();
    EXPECT_TRUE(add_refuses(op.set_attr(attr::qtype, std::string("per_group")), dnnl_invalid_arguments,
            "op 3 'q' (Quantize): qtype: expected per_tensor or per_channel, given 'per_group'"));
}

TEST(group_parameters, have_one_value_for_each_group) {
    EXPECT_TRUE(add_refuses(group_op {.scales = dense(1, type::f32, {4})}.make(), dnnl_invalid_shape,
            dq + "scales: expected the rank of src, 2, given 1"));
    EXPECT_TRUE(add_refuses(group_op {.scales = dense(1, type::f32, {8, 2})}.make(), dnnl_invalid_shape,
            dq + "scales: expected 2 at dim 0 (dims[0] of src, 8, in groups of 4), given 8"));
    EXPECT_TRUE(add_refuses(group_op {.zps = dense(2, type::s32, {2, 1})}.make(), dnnl_invalid_shape,
            dq + "zps: expected 2 at dim 1 (dims[1] of src, 2, in groups of 1), given 1"));
}

TEST(group_parameters, are_dense) {
    const lt scales(1, type::f32, dims {2, 2}, dims {1, 2});
    EXPECT_TRUE(add_refuses(group_op {.scales = scales}.make(), dnnl_invalid_shape,
            dq + "scales: expected dense row-major strides, given 1x2"));
}

} // namespace
} // namespace dynquant::test
