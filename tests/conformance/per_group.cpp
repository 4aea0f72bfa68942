// The graph API computes qtype per_group, with the types of language models' weights and caches. Clauses are those of
// DynamicDequantize's documentation, also applied to DynamicQuantize; values are worked out by hand.
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

TEST(per_group, each_group_has_its_scale) {
    const auto src = encode(data_type::s4, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, -8, -8});
    expect_gives(group_op {}, {src, floats_of({1, 2, 0.5f, 10})},
            floats_of({1, 2, 2, 4, 3, 6, 4, 8, 2.5f, 50, 3, 60, 3.5f, 70, -4, -80}));
}

TEST(per_group, zps_have_the_shape_of_scales) {
    group_op op {.src = dense(0, dg::newer::u4, {2, 4}),
            .scales = dense(1, type::bf16, {2, 2}),
            .zps = dense(2, dg::newer::u4, {2, 2}),
            .dst = dense(3, type::f16, {2, 4}),
            .group_shape = std::vector<std::int64_t> {1, 2}};
    expect_gives(op,
            {encode(data_type::u4, {0, 15, 8, 9, 1, 2, 3, 4}), encode_reals(data_type::bf16, {1, 2, 3, 4}),
                    encode(data_type::u4, {7, 8, 1, 15})},
            encode_reals(data_type::f16, {-7, 8, 0, 2, 0, 3, -48, -44}));
}

TEST(per_group, two_dims_may_be_grouped_at_once) {
    group_op op {.src = dense(0, type::s8, {2, 2, 4}),
            .scales = dense(1, type::f16, {2, 1, 2}),
            .dst = dense(3, type::f32, {2, 2, 4}),
            .group_shape = std::vector<std::int64_t> {1, 2, 2}};
    expect_gives(op,
            {encode(data_type::s8, {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8}),
                    encode_reals(data_type::f16, {1, 10, 2, 0.5f})},
            floats_of({1, 2, 30, 40, 5, 6, 70, 80, -2, -4, -1.5f, -2, -10, -12, -3.5f, -4}));
}

TEST(per_group, src_may_be_transposed) { // keys of a cache: tokens are dense, features are not
    group_op op {.src = {0, dg::newer::s4, dims {1, 2, 4}, dims {8, 1, 2}},
            .scales = dense(1, type::f32, {1, 1, 4}),
            .dst = dense(3, type::f32, {1, 2, 4}),
            .group_shape = std::vector<std::int64_t> {1, 2, 1}};
    expect_gives(op, {encode(data_type::s4, {1, 2, 3, 4, 5, 6, 7, -8}), floats_of({1, 2, 3, 4})},
            floats_of({1, 6, 15, 28, 2, 8, 18, -32}));
}

TEST(per_group, dynamic_quantize_has_it) {
    group_op op {.which = kind::DynamicQuantize,
            .src = dense(0, type::bf16, {1, 4}),
            .scales = dense(1, type::f32, {1, 2}),
            .dst = dense(3, dg::newer::s4, {1, 4}),
            .group_shape = std::vector<std::int64_t> {1, 2}};
    expect_gives(op, {encode_reals(data_type::bf16, {1, -2, 1, -20}), floats_of({0.5f, 2})},
            encode(data_type::s4, {2, -4, 0, -8}));
}

TEST(eight_bit_floats, are_quantized_and_dequantized_by_the_static_ops) {
    const auto real = f32(0, {4}), f8 = dense(1, dg::newer::f8_e4m3, {4});
    const auto codes = integers_of({0x40, 0xfe, 0x76, 0x30}), restored = floats_of({4, -896, 448, 1});
    const static_op quantize {.src = real, .dst = f8, .qtype = "per_tensor", .scales = {0.5f}, .zps = {}};
    static_op dequantize {.src = f8, .dst = f32(2, {4}), .qtype = "per_tensor", .scales = {2}, .zps = {}};
    dequantize.which = kind::Dequantize;
    EXPECT_EQ(executed(partition_of(quantize.make()).compile({real}, {f8}, cpu()), {real},
                      {floats_of({1, -224, 112, 0.25f})}, {f8}, {codes}),
            std::vector<bytes> {codes});
    EXPECT_EQ(executed(partition_of(dequantize.make()).compile({f8}, {dequantize.dst}, cpu()), {f8}, {codes},
                      {dequantize.dst}, {restored}),
            std::vector<bytes> {restored});
}

} // namespace
} // namespace dynquant::test
