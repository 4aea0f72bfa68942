// The graph API computes DynamicQuantize and DynamicDequantize whose attribute mask says along which dims of src scales
// and zps vary. Clauses are those of oneDNN's RFC (pull request 5743) and of the documentation of both ops in 3.14;
// values are worked out by hand.
#include <limits>
#include <numeric>

#include "support/direct.hpp"
#include "support/environment.hpp"
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

const std::string dq = "op 3 'q' (DynamicDequantize): ";
constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();

using bytes = std::vector<std::byte>;
using numbers = std::vector<std::int64_t>;

bytes floats_of(const std::vector<float> &values) {
    return encode_reals(data_type::f32, values);
}

bytes integers_of(const std::vector<int> &values) {
    bytes result;
    for (const int value : values)
        result.push_back(static_cast<std::byte>(static_cast<std::int8_t>(value)));
    return result;
}

/// op 3 'q', a valid DynamicDequantize of a 2 x 3 src with a scale for each row.
struct mask_op {
    kind which = kind::DynamicDequantize;
    lt src = s8(0, {2, 3});
    lt scales = f32(1, {2});
    std::optional<lt> zps = {};
    lt dst = f32(3, {2, 3});
    std::int64_t mask = 1;
    std::optional<numbers> group_shape = {};

    std::vector<lt> inputs() const { return zps ? std::vector {src, scales, *zps} : std::vector {src, scales}; }
    dg::op make() const {
        dg::op op(3, which, inputs(), {dst}, "q");
        op.set_attr(dg::newer::mask, mask);
        if (group_shape) op.set_attr(dg::newer::group_shape, *group_shape);
        return op;
    }

    void expect_gives(const std::vector<bytes> &given, const bytes &expected) const {
        expect_gives(make(), given, expected);
    }
    /// Compiles and executes `op`, which has these ports, by each kernel.
    void expect_gives(const dg::op &op, std::vector<bytes> given, const bytes &expected) const {
        for (const auto &v : universal_variants()) {
            const scoped_variable kernel("DYNQUANT_KERNEL", to_string(v.kernel));
            const scoped_variable isa("DYNQUANT_MAX_ISA", to_string(v.max_isa));
            const auto compiled = partition_of(op).compile(inputs(), {dst}, cpu());
            std::vector<dg::tensor> tensors;
            const auto ports = inputs();
            for (std::size_t i = 0; i < ports.size(); ++i)
                tensors.push_back(tensor_of(ports[i], given[i]));
            bytes result(expected.size());
            dg::stream stream(cpu());
            compiled.execute(stream, tensors, {tensor_of(dst, result)});
            EXPECT_EQ(result, expected) << v << ", mask " << mask;
        }
    }
};

/// Scales and zps for a src, and what they make of it. real = (integer - zp) * scale, without zps (index + 1) * scale.
struct parameters_case {
    std::int64_t mask;
    dims shape;
    std::vector<float> scales;
    std::vector<int> zps;
    std::vector<int> integers;
    std::vector<float> real;
    std::optional<numbers> group_shape = {};

    void expect_both_ops_compute(const dims &src) const {
        std::vector<int> counted(integers.size());
        std::iota(counted.begin(), counted.end(), 1);
        const mask_op dequantize {.src = s8(0, src),
                .scales = f32(1, shape),
                .dst = f32(3, src),
                .mask = mask,
                .group_shape = group_shape};
        const mask_op quantize {.which = kind::DynamicQuantize,
                .src = f32(0, src),
                .scales = f32(1, shape),
                .dst = s8(3, src),
                .mask = mask,
                .group_shape = group_shape};
        dequantize.expect_gives({integers_of(counted), floats_of(scales)}, floats_of(real));
        quantize.expect_gives({floats_of(real), floats_of(scales)}, integers_of(counted));
        auto with_zps = dequantize;
        with_zps.zps = s8(2, shape);
        with_zps.expect_gives({integers_of(integers), floats_of(scales), integers_of(zps)}, floats_of(real));
        with_zps = quantize;
        with_zps.zps = s8(2, shape);
        with_zps.expect_gives({floats_of(real), floats_of(scales), integers_of(zps)}, integers_of(integers));
    }
};

TEST(mask, selects_the_dims_of_a_2d_src) {
    const parameters_case cases[] = {
            {0, {}, {2}, {5}, {6, 7, 8, 9, 10, 11}, {2, 4, 6, 8, 10, 12}},
            {1, {2}, {1, 10}, {1, 2}, {2, 3, 4, 6, 7, 8}, {1, 2, 3, 40, 50, 60}},
            {2, {3}, {1, 10, 0.5F}, {0, 10, -10}, {1, 12, -7, 4, 15, -4}, {1, 20, 1.5F, 4, 50, 3}},
            {3, {2, 3}, {1, 2, 3, 10, 20, 30}, {0, 1, 2, 3, 4, 5}, {1, 3, 5, 7, 9, 11}, {1, 4, 9, 40, 100, 180}},
    };
    for (const auto &c : cases)
        c.expect_both_ops_compute({2, 3});
}

TEST(mask, selects_the_dims_of_a_3d_src) {
    const parameters_case cases[] = {
            {0, {}, {2}, {5}, {6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17},
                    {2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}},
            {1, {2}, {1, 10}, {10, -10}, {11, 12, 13, 14, 15, 16, -3, -2, -1, 0, 1, 2},
                    {1, 2, 3, 4, 5, 6, 70, 80, 90, 100, 110, 120}},
            {2, {3}, {1, 10, 100}, {0, 10, -10}, {1, 2, 13, 14, -5, -4, 7, 8, 19, 20, 1, 2},
                    {1, 2, 30, 40, 500, 600, 7, 8, 90, 100, 1100, 1200}},
            {3, {2, 3}, {1, 2, 3, 4, 5, 6}, {0, 1, 2, 3, 4, 5}, {1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17},
                    {1, 2, 6, 8, 15, 18, 28, 32, 45, 50, 66, 72}},
            {4, {2}, {1, 10}, {10, 20}, {11, 22, 13, 24, 15, 26, 17, 28, 19, 30, 21, 32},
                    {1, 20, 3, 40, 5, 60, 7, 80, 9, 100, 11, 120}},
            {5, {2, 2}, {1, 2, 3, 4}, {0, 10, 20, 30}, {1, 12, 3, 14, 5, 16, 27, 38, 29, 40, 31, 42},
                    {1, 4, 3, 8, 5, 12, 21, 32, 27, 40, 33, 48}},
            {6, {3, 2}, {1, 2, 3, 4, 5, 6}, {0, 10, 20, 30, 40, 50}, {1, 12, 23, 34, 45, 56, 7, 18, 29, 40, 51, 62},
                    {1, 4, 9, 16, 25, 36, 7, 16, 27, 40, 55, 72}},
            {7, {2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
                    {12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12}, {1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144}},
    };
    for (const auto &c : cases)
        c.expect_both_ops_compute({2, 3, 2});
}

TEST(mask, composes_with_group_shape_of_a_2d_src) {
    const parameters_case pairs {3, {2, 2}, {1, 10, 100, 1000}, {0, 1, 2, 3}, {1, 2, 4, 5, 7, 8, 10, 11},
            {1, 2, 30, 40, 500, 600, 7000, 8000}, numbers {1, 2}};
    pairs.expect_both_ops_compute({2, 4});
    const parameters_case blocks {
            3, {1, 2}, {1, 10}, {5, -5}, {6, 7, -2, -1, 10, 11, 2, 3}, {1, 2, 30, 40, 5, 6, 70, 80}, numbers {2, 2}};
    blocks.expect_both_ops_compute({2, 4});
}

// The RFC's two values, for the last two dims, and the documentation's value for each dim.
TEST(mask, composes_with_group_shape_of_a_3d_src) {
    const std::vector<int> by_last_two = {1, 2, 4, 5, 7, 8, 10, 11, 9, 10, 12, 13, 15, 16, 18, 19};
    const std::vector<float> varied_along_last_two = {
            1, 2, 30, 40, 500, 600, 7000, 8000, 9, 10, 110, 120, 1300, 1400, 15000, 16000};
    for (const auto &group : {numbers {1, 2}, numbers {1, 1, 2}}) {
        const parameters_case c {
                6, {2, 2}, {1, 10, 100, 1000}, {0, 1, 2, 3}, by_last_two, varied_along_last_two, group};
        c.expect_both_ops_compute({2, 2, 4});
    }
    const std::vector<int> by_blocks = {1, 2, 4, 5, 5, 6, 8, 9, 11, 12, 14, 15, 15, 16, 18, 19};
    const std::vector<float> varied_by_blocks = {
            1, 2, 30, 40, 5, 6, 70, 80, 900, 1000, 11000, 12000, 1300, 1400, 15000, 16000};
    for (const auto &group : {numbers {2, 2}, numbers {1, 2, 2}}) {
        const parameters_case c {7, {2, 1, 2}, {1, 10, 100, 1000}, {0, 1, 2, 3}, by_blocks, varied_by_blocks, group};
        c.expect_both_ops_compute({2, 2, 4});
    }
    const parameters_case all_dims {7, {1, 1, 2}, {1, 10}, {0, 1},
            {1, 2, 4, 5, 5, 6, 8, 9, 9, 10, 12, 13, 13, 14, 16, 17},
            {1, 2, 30, 40, 5, 6, 70, 80, 9, 10, 110, 120, 13, 14, 150, 160}, numbers {2, 2, 2}};
    all_dims.expect_both_ops_compute({2, 2, 4});
}

TEST(mask, composes_with_group_shape_of_a_1d_src) {
    const parameters_case c {1, {2}, {1, 10}, {1, 2}, {2, 3, 5, 6}, {1, 2, 30, 40}, numbers {2}};
    c.expect_both_ops_compute({4});
}

TEST(mask, of_3_is_per_head) { // of [B, H, S, D], with the types of a cache
    const mask_op op {.src = lt(0, dg::newer::u4, dims {1, 2, 2, 2}, layout::strided),
            .scales = lt(1, type::bf16, dims {1, 2}, layout::strided),
            .zps = lt(2, dg::newer::u4, dims {1, 2}, layout::strided),
            .dst = lt(3, type::f16, dims {1, 2, 2, 2}, layout::strided),
            .mask = 3};
    op.expect_gives({encode(data_type::u4, {0, 15, 8, 9, 1, 2, 3, 4}), encode_reals(data_type::bf16, {2, 0.5F}),
                            encode(data_type::u4, {8, 3})},
            encode_reals(data_type::f16, {-16, 14, 0, 2, -1, -0.5F, 0, 0.5F}));
}

TEST(mask, of_0_takes_a_src_of_rank_0) {
    const parameters_case c {0, {}, {2}, {5}, {6}, {2}};
    c.expect_both_ops_compute({});
}

TEST(mask, src_may_be_transposed) {
    const mask_op op {
            .src = lt(0, type::s8, dims {2, 3}, dims {1, 2}), .dst = lt(3, type::f32, dims {2, 3}, dims {1, 2})};
    op.expect_gives({integers_of({1, 2, 3, 4, 5, 6}), floats_of({1, 10})}, floats_of({1, 20, 3, 40, 5, 60}));
}

TEST(mask, takes_the_default_qtype_and_ignores_axis) {
    for (const auto axis : {std::int64_t {0}, std::int64_t {-1}, least, most}) {
        auto op = mask_op {}.make();
        op.set_attr<std::string>(attr::qtype, "per_tensor").set_attr(attr::axis, axis);
        mask_op {}.expect_gives(
                op, {integers_of({1, 2, 3, 4, 5, 6}), floats_of({1, 10})}, floats_of({1, 2, 3, 40, 50, 60}));
    }
}

TEST(mask, takes_dims_that_are_known_at_compile) {
    const mask_op known;
    auto op = mask_op {.src = lt(0, type::s8), .scales = lt(1, type::f32), .dst = lt(3, type::f32)}.make();
    known.expect_gives(op, {integers_of({1, 2, 3, 4, 5, 6}), floats_of({1, 10})}, floats_of({1, 2, 3, 40, 50, 60}));
}

TEST(mask, is_refused_beyond_the_dims_of_src) {
    for (const auto mask : {std::int64_t {-1}, std::int64_t {4}, std::int64_t {1} << 32, least, most})
        EXPECT_TRUE(add_refuses(mask_op {.mask = mask}.make(), dnnl_invalid_arguments,
                dq + "mask: expected a value in [0, 3] for rank 2, given " + std::to_string(mask)));
    EXPECT_TRUE(add_refuses(mask_op {.src = s8(0, {}), .scales = f32(1, {}), .dst = f32(3, {})}.make(),
            dnnl_invalid_arguments, dq + "mask: expected a value in [0, 0] for rank 0, given 1"));
}

TEST(mask, is_refused_beyond_any_rank_while_the_rank_is_unknown) {
    for (const auto mask : {std::int64_t {-1}, std::int64_t {4096}}) {
        const mask_op op {.src = lt(0, type::s8), .scales = lt(1, type::f32), .dst = lt(3, type::f32), .mask = mask};
        EXPECT_TRUE(add_refuses(op.make(), dnnl_invalid_arguments,
                dq + "mask: expected a value in [0, 4095] for rank 12, given " + std::to_string(mask)));
    }
}

TEST(mask, is_refused_at_compile_when_the_rank_comes_then) {
    const mask_op op {.src = lt(0, type::s8), .scales = lt(1, type::f32), .dst = lt(3, type::f32), .mask = 4};
    EXPECT_TRUE(compile_refuses(op.make(), mask_op {}.inputs(), {mask_op {}.dst}, dnnl_invalid_arguments,
            dq + "mask: expected a value in [0, 3] for rank 2, given 4"));
}

TEST(mask, is_one_s64) {
    EXPECT_TRUE(add_refuses(mask_op {}.make().set_attr(dg::newer::mask, 1.0F), dnnl_invalid_graph_op,
            dq + "mask: expected a value of type s64, given one of type f32"));
    EXPECT_TRUE(add_refuses(mask_op {}.make().set_attr(dg::newer::mask, numbers {0, 1}), dnnl_invalid_graph_op,
            dq + "mask: expected one value, given 2"));
}

TEST(mask, is_refused_beside_another_qtype) {
    for (const std::string qtype : {"per_channel", "per_group"})
        EXPECT_TRUE(add_refuses(mask_op {.group_shape = numbers {1, 1}}.make().set_attr(attr::qtype, qtype),
                dnnl_invalid_arguments, dq + "qtype: expected per_tensor or none beside mask, given " + qtype));
}

TEST(mask, is_refused_for_a_static_op) {
    EXPECT_TRUE(add_refuses(static_op {}.make().set_attr(dg::newer::mask, std::int64_t {2}), dnnl_invalid_graph_op,
            "op 3 'q' (Quantize): mask: expected an attribute among qtype, axis, scales or zps, given mask"));
    EXPECT_TRUE(add_refuses(
            static_op {.which = kind::Dequantize, .src = u8(0, {2, 4}), .dst = f32(3, {2, 4})}.make().set_attr(
                    dg::newer::mask, std::int64_t {2}),
            dnnl_invalid_graph_op,
            "op 3 'q' (Dequantize): mask: expected an attribute among qtype, axis, scales or zps, given mask"));
}

TEST(masked_parameters, have_a_dim_for_each_bit) {
    EXPECT_TRUE(add_refuses(mask_op {.scales = f32(1, {2, 1})}.make(), dnnl_invalid_shape,
            dq + "scales: expected rank 1, a dim for each bit of mask 1, given 2"));
    EXPECT_TRUE(add_refuses(mask_op {.scales = f32(1, {1}), .mask = 0}.make(), dnnl_invalid_shape,
            dq + "scales: expected rank 0, a dim for each bit of mask 0, given 1"));
    EXPECT_TRUE(add_refuses(mask_op {.zps = s32(2, {})}.make(), dnnl_invalid_shape,
            dq + "zps: expected rank 1, a dim for each bit of mask 1, given 0"));
}

TEST(masked_parameters, have_the_dims_of_the_bits) {
    EXPECT_TRUE(add_refuses(mask_op {.mask = 2}.make(), dnnl_invalid_shape,
            dq + "scales: expected 3 at dim 0 (dims[1] of src, 3, in groups of 1), given 2"));
    EXPECT_TRUE(add_refuses(mask_op {.zps = s32(2, {1})}.make(), dnnl_invalid_shape,
            dq + "zps: expected 2 at dim 0 (dims[0] of src, 2, in groups of 1), given 1"));
    const mask_op grouped {.scales = f32(1, {2, 3}), .mask = 3, .group_shape = numbers {1, 3}};
    EXPECT_TRUE(add_refuses(grouped.make(), dnnl_invalid_shape,
            dq + "scales: expected 1 at dim 1 (dims[1] of src, 3, in groups of 3), given 3"));
}

TEST(masked_parameters, are_refused_at_compile_when_their_dims_come_then) {
    const mask_op op {.scales = lt(1, type::f32)};
    EXPECT_TRUE(compile_refuses(op.make(), mask_op {.scales = f32(1, {3})}.inputs(), {op.dst}, dnnl_invalid_shape,
            dq + "scales: expected 2 at dim 0 (dims[0] of src, 2, in groups of 1), given 3"));
}

TEST(masked_parameters, are_dense) {
    EXPECT_TRUE(add_refuses(mask_op {.scales = lt(1, type::f32, dims {2, 3}, dims {1, 2}), .mask = 3}.make(),
            dnnl_invalid_shape, dq + "scales: expected dense row-major strides, given 1x2"));
}

TEST(masked_groups, have_the_bits_of_the_last_dims) {
    for (const auto &group : {numbers {2, 1}, numbers {1, 1}})
        EXPECT_TRUE(add_refuses(mask_op {.scales = f32(1, {3}), .mask = 2, .group_shape = group}.make(),
                dnnl_invalid_arguments,
                dq + "mask: expected bit 0 to be set for group_shape, which has " + std::to_string(group[0])
                        + " at dim 0, given 2"));
    const mask_op three {.src = s8(0, {2, 4, 4}), .scales = f32(1, {4}), .dst = f32(3, {2, 4, 4}), .mask = 2};
    for (const auto &group : {numbers {2, 1}, numbers {1, 2, 1}}) {
        auto op = three;
        op.group_shape = group;
        EXPECT_TRUE(add_refuses(op.make(), dnnl_invalid_arguments,
                dq + "mask: expected bit 2 to be set for group_shape, which has 1 at dim 2, given 2"));
    }
}

TEST(masked_groups, are_of_1_where_the_mask_has_no_bit) {
    const mask_op op {.src = s8(0, {2, 4, 4}),
            .scales = f32(1, {4, 4}),
            .dst = f32(3, {2, 4, 4}),
            .mask = 6,
            .group_shape = numbers {2, 1, 1}};
    EXPECT_TRUE(add_refuses(op.make(), dnnl_invalid_arguments,
            dq + "mask: expected bit 0 to be set for group_shape, which has 2 at dim 0, given 6"));
}

TEST(masked_groups, are_counted_for_all_dims_or_the_last_two) {
    const auto refuses = [](const dims &src, const numbers &group, const std::string &expected) {
        const mask_op op {.src = s8(0, src), .scales = lt(1, type::f32), .dst = f32(3, src), .group_shape = group};
        return add_refuses(
                op.make(), dnnl_invalid_shape, dq + "group_shape: expected a value for each dim of src, " + expected);
    };
    EXPECT_TRUE(refuses({4}, {2, 2}, "1, given 2"));
    EXPECT_TRUE(refuses({2, 4}, {2}, "2, given 1"));
    EXPECT_TRUE(refuses({2, 4}, {1, 1, 2}, "2, given 3"));
    EXPECT_TRUE(refuses({2, 4, 4}, {2}, "3, or for the last 2, given 1"));
    EXPECT_TRUE(refuses({2, 4, 4}, {1, 1, 1, 2}, "3, or for the last 2, given 4"));
}

TEST(masked_groups, are_positive_and_divide_the_dims) {
    const mask_op op {.scales = lt(1, type::f32), .mask = 3};
    auto none = op, uneven = op;
    none.group_shape = numbers {1, 0};
    EXPECT_TRUE(add_refuses(
            none.make(), dnnl_invalid_arguments, dq + "group_shape: expected values of 1 or more, given 0 at dim 1"));
    uneven.group_shape = numbers {1, 2};
    EXPECT_TRUE(add_refuses(uneven.make(), dnnl_invalid_shape,
            dq + "group_shape: expected a divisor of dims[1] of src, 3, given 2 at dim 1"));
}

} // namespace
} // namespace dynquant::test
