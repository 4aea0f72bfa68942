// compile matches ports by id and infers the unknown rank, dims and layout of dst.
#include <limits>

#include "support/graph.hpp"

namespace dynquant::test {
namespace {

/// The dst that compile infers from this src and dst.
lt inferred(const lt &src, const lt &dst) {
    dg::op op(3, kind::Quantize, {src}, {dst}, "q");
    op.set_attr(attr::scales, std::vector<float> {1});
    return partition_of(op).compile({src}, {dst}, cpu()).query_logical_tensor(dst.get_id());
}

TEST(layout_any, keeps_the_order_of_a_dense_src) {
    const std::pair<dims, dims> dense_tensors[] = {
            {{2, 3, 4, 5}, {60, 20, 5, 1}}, // row-major
            {{2, 3, 4, 5}, {60, 1, 15, 3}}, // nhwc
            {{2, 1, 4, 5}, {20, 1, 5, 1}},  // nhwc with one channel
            {{2, 3, 1, 5}, {15, 1, 15, 3}}, // nhwc with one row
            {{0, 3, 4, 5}, {60, 1, 15, 3}}, // nhwc without elements
            {{3, 4}, {1, 3}},               // transposed
    };
    for (const auto &[shape, order] : dense_tensors)
        EXPECT_TRUE(is(inferred(lt(0, type::f32, shape, order), lt(1, type::s8, shape, layout::any)), shape, order));
}

TEST(layout_any, of_padded_or_broadcast_src_is_row_major) {
    // Padded rows and columns, every second element, the same row three times.
    for (const auto &gaps : {dims {8, 1}, dims {1, 5}, dims {8, 2}, dims {0, 1}}) {
        const lt src(0, type::f32, dims {3, 4}, gaps);
        EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {3, 4}, layout::any)), {3, 4}, {4, 1}));
    }
}

TEST(layout_any, ignores_the_strides_of_dims_of_1) {
    const lt src(0, type::f32, dims {1, 3, 4}, dims {1000, 4, 1});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {1, 3, 4}, layout::any)), {1, 3, 4}, {12, 4, 1}));
}

TEST(layout_undef, of_dst_is_any) {
    const lt src(0, type::f32, dims {3, 4}, dims {1, 3});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {3, 4}, layout::undef)), {3, 4}, {1, 3}));
}

TEST(layout_strided, of_dst_is_kept) {
    EXPECT_TRUE(is(inferred(f32(0, {3, 4}), lt(1, type::s8, dims {3, 4}, dims {1, 5})), {3, 4}, {1, 5}));
}

TEST(layout_strided, is_row_major_without_strides) {
    const lt src(0, type::f32, dims {3, 4}, dims {1, 3});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, 2, layout::strided)), {3, 4}, {4, 1}));
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, layout::strided)), {3, 4}, {4, 1}));
}

TEST(unknown_dst, has_inferred_dims_and_rank) {
    const auto src = f32(0, {3, 4});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {unknown, 4}, layout::any)), {3, 4}, {4, 1}));
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, 2, layout::any)), {3, 4}, {4, 1}));
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8)), {3, 4}, {4, 1}));
}

TEST(unknown_dst, is_inferred_of_rank_0) {
    const auto dst = inferred(f32(0, {}), lt(1, type::s8));
    EXPECT_TRUE(dst.get_dims().empty());
    EXPECT_EQ(dst.get_layout_type(), layout::strided);
}

TEST(unknown_dst, is_inferred_of_rank_12) {
    const dims shape(12, 2);
    const auto dst = inferred(f32(0, shape), lt(1, type::s8));
    EXPECT_EQ(dst.get_dims(), shape);
    EXPECT_EQ(dst.get_strides(), (dims {2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1}));
}

TEST(unknown_dst, keeps_type_and_property) {
    const lt dst(1, type::u8, 2, layout::any, lt::property_type::variable);
    const auto final = inferred(f32(0, {3, 4}), dst);
    EXPECT_EQ(final.get_data_type(), type::u8);
    EXPECT_EQ(final.get_property_type(), lt::property_type::variable);
    EXPECT_EQ(final.get_mem_size(), 12u);
}

TEST(unknown_until_compile, everything_may_be) {
    const dynamic_op op {
            .src = lt(0, type::f32), .scales = lt(1, type::f32), .zps = lt(2, type::s8), .dst = lt(3, type::u8)};
    const dynamic_op known;
    const auto compiled = partition_of(op.make()).compile(known.inputs(), {op.dst}, cpu());
    EXPECT_TRUE(is(compiled.query_logical_tensor(3), {2, 4}, {4, 1}));
}

TEST(unknown_until_compile, shapes_may_differ_by_compile) {
    const dynamic_op op {.src = lt(0, type::f32, 2, layout::strided), .dst = lt(3, type::u8, 2, layout::strided)};
    const auto partition = partition_of(op.make());
    for (const std::int64_t rows : {1, 2, 7, 0}) {
        const auto compiled = partition.compile({f32(0, {rows, 4}), op.scales, *op.zps}, {op.dst}, cpu());
        EXPECT_TRUE(is(compiled.query_logical_tensor(3), {rows, 4}, {4, 1}));
    }
}

TEST(compile, replaces_dims_of_the_op) {
    const dynamic_op op; // 2x4
    const auto compiled = partition_of(op.make()).compile({f32(0, {9, 4}), op.scales, *op.zps}, {u8(3, {9, 4})}, cpu());
    EXPECT_TRUE(is(compiled.query_logical_tensor(3), {9, 4}, {4, 1}));
}

TEST(query, gives_inputs_and_outputs) {
    const dynamic_op op;
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu());
    for (const auto &t : {op.src, op.scales, *op.zps, op.dst})
        EXPECT_TRUE(compiled.query_logical_tensor(t.get_id()).is_equal(t));
}

TEST(query, gives_an_empty_logical_tensor_for_an_unknown_id) {
    const dynamic_op op;
    auto inputs = op.inputs();
    inputs.push_back(f32(50, {3})); // given to compile, but not an input of the op
    const auto compiled = partition_of(op.make()).compile(inputs, {op.dst}, cpu());
    for (const auto id : std::vector<std::size_t> {4, 50}) {
        const auto none = compiled.query_logical_tensor(id);
        EXPECT_EQ(none.get_id(), std::numeric_limits<std::size_t>::max());
        EXPECT_EQ(none.get_data_type(), type::undef);
        EXPECT_EQ(none.get_layout_type(), layout::any);
        EXPECT_THROW(none.get_dims(), dnnl::error); // the rank is unknown
    }
}

TEST(strides, of_dims_of_1_do_not_matter) {
    const lt src(0, type::f32, dims {1, 4}, dims {0, 1}), dst(1, type::s8, dims {1, 4}, dims {0, 1});
    EXPECT_TRUE(is(inferred(src, dst), {1, 4}, {0, 1}));
}

} // namespace
} // namespace dynquant::test
