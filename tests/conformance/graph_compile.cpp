// Compiling partitions: how ports are matched, and what of dst is inferred.
#include <limits>

#include "graph_support.hpp"

namespace dynquant::test {
namespace {

/// dst as compile makes it of this src and this dst.
lt inferred(const lt &src, const lt &dst) {
    dg::op op(3, kind::Quantize, {src}, {dst}, "q");
    op.set_attr(attr::scales, std::vector<float> {1});
    return partition_of(op).compile({src}, {dst}, cpu()).query_logical_tensor(dst.get_id());
}

testing::AssertionResult is(const lt &t, const dims &shape, const dims &strides) {
    if (t.get_layout_type() != layout::strided) return testing::AssertionFailure() << "the layout is not strided";
    if (t.get_dims() != shape)
        return testing::AssertionFailure() << "dims are " << testing::PrintToString(t.get_dims());
    if (t.get_strides() != strides)
        return testing::AssertionFailure() << "strides are " << testing::PrintToString(t.get_strides());
    return testing::AssertionSuccess();
}

TEST(LayoutAny, OfRowMajorSrcIsRowMajor) {
    EXPECT_TRUE(is(inferred(f32(0, {2, 3, 4, 5}), lt(1, type::s8, dims {2, 3, 4, 5}, layout::any)), {2, 3, 4, 5},
            {60, 20, 5, 1}));
}

TEST(LayoutAny, OfNhwcSrcIsNhwc) {
    const lt src(0, type::f32, dims {2, 3, 4, 5}, dims {60, 1, 15, 3});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {2, 3, 4, 5}, layout::any)), {2, 3, 4, 5}, {60, 1, 15, 3}));
}

TEST(LayoutAny, OfNhwcSrcWithOneChannelOrRowIsNhwc) {
    const lt channel(0, type::f32, dims {2, 1, 4, 5}, dims {20, 1, 5, 1});
    EXPECT_TRUE(is(inferred(channel, lt(1, type::s8, dims {2, 1, 4, 5}, layout::any)), {2, 1, 4, 5}, {20, 1, 5, 1}));
    const lt row(0, type::f32, dims {2, 3, 1, 5}, dims {15, 1, 15, 3});
    EXPECT_TRUE(is(inferred(row, lt(1, type::s8, dims {2, 3, 1, 5}, layout::any)), {2, 3, 1, 5}, {15, 1, 15, 3}));
}

TEST(LayoutAny, OfTransposedSrcIsTransposed) {
    const lt src(0, type::f32, dims {3, 4}, dims {1, 3});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {3, 4}, layout::any)), {3, 4}, {1, 3}));
}

TEST(LayoutAny, OfPaddedSrcIsRowMajor) {
    const lt rows(0, type::f32, dims {3, 4}, dims {8, 1});
    EXPECT_TRUE(is(inferred(rows, lt(1, type::s8, dims {3, 4}, layout::any)), {3, 4}, {4, 1}));
    const lt columns(0, type::f32, dims {3, 4}, dims {1, 5});
    EXPECT_TRUE(is(inferred(columns, lt(1, type::s8, dims {3, 4}, layout::any)), {3, 4}, {4, 1}));
    const lt every_second(0, type::f32, dims {3, 4}, dims {8, 2});
    EXPECT_TRUE(is(inferred(every_second, lt(1, type::s8, dims {3, 4}, layout::any)), {3, 4}, {4, 1}));
}

TEST(LayoutAny, OfBroadcastSrcIsRowMajor) {
    const lt src(0, type::f32, dims {3, 4}, dims {0, 1});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {3, 4}, layout::any)), {3, 4}, {4, 1}));
}

TEST(LayoutAny, IgnoresTheStridesOfDimsOfOne) {
    const lt src(0, type::f32, dims {1, 3, 4}, dims {1000, 4, 1});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {1, 3, 4}, layout::any)), {1, 3, 4}, {12, 4, 1}));
}

TEST(LayoutAny, OfZeroVolumeKeepsTheOrder) {
    const lt src(0, type::f32, dims {0, 3, 4, 5}, dims {60, 1, 15, 3});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {0, 3, 4, 5}, layout::any)), {0, 3, 4, 5}, {60, 1, 15, 3}));
}

TEST(LayoutUndef, OfDstIsAny) {
    const lt src(0, type::f32, dims {3, 4}, dims {1, 3});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {3, 4}, layout::undef)), {3, 4}, {1, 3}));
}

TEST(LayoutStrided, OfDstIsKept) {
    EXPECT_TRUE(is(inferred(f32(0, {3, 4}), lt(1, type::s8, dims {3, 4}, dims {1, 5})), {3, 4}, {1, 5}));
}

TEST(LayoutStrided, WithoutStridesIsRowMajor) {
    const lt src(0, type::f32, dims {3, 4}, dims {1, 3});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, 2, layout::strided)), {3, 4}, {4, 1}));
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, layout::strided)), {3, 4}, {4, 1}));
}

TEST(UnknownDst, DimsAndRankAreInferred) {
    const auto src = f32(0, {3, 4});
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, dims {unknown, 4}, layout::any)), {3, 4}, {4, 1}));
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8, 2, layout::any)), {3, 4}, {4, 1}));
    EXPECT_TRUE(is(inferred(src, lt(1, type::s8)), {3, 4}, {4, 1}));
}

TEST(UnknownDst, OfRankZero) {
    const auto dst = inferred(f32(0, {}), lt(1, type::s8));
    EXPECT_TRUE(dst.get_dims().empty());
    EXPECT_EQ(dst.get_layout_type(), layout::strided);
}

TEST(UnknownDst, OfRankTwelve) {
    const dims shape(12, 2);
    const auto dst = inferred(f32(0, shape), lt(1, type::s8));
    EXPECT_EQ(dst.get_dims(), shape);
    EXPECT_EQ(dst.get_strides(), (dims {2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1}));
}

TEST(UnknownDst, KeepsTypeAndProperty) {
    const lt dst(1, type::u8, 2, layout::any, lt::property_type::variable);
    const auto final = inferred(f32(0, {3, 4}), dst);
    EXPECT_EQ(final.get_data_type(), type::u8);
    EXPECT_EQ(final.get_property_type(), lt::property_type::variable);
    EXPECT_EQ(final.get_mem_size(), 12u);
}

TEST(UnknownUntilCompile, Everything) {
    const dynamic_op op {
            .src = lt(0, type::f32), .scales = lt(1, type::f32), .zps = lt(2, type::s8), .dst = lt(3, type::u8)};
    const dynamic_op known;
    const auto compiled = partition_of(op.make()).compile(known.inputs(), {op.dst}, cpu());
    EXPECT_TRUE(is(compiled.query_logical_tensor(3), {2, 4}, {4, 1}));
}

TEST(UnknownUntilCompile, OnePartitionServesManyShapes) {
    const dynamic_op op {.src = lt(0, type::f32, 2, layout::strided), .dst = lt(3, type::u8, 2, layout::strided)};
    const auto partition = partition_of(op.make());
    for (const std::int64_t rows : {1, 2, 7, 0}) {
        const auto compiled = partition.compile({f32(0, {rows, 4}), op.scales, *op.zps}, {op.dst}, cpu());
        EXPECT_TRUE(is(compiled.query_logical_tensor(3), {rows, 4}, {4, 1}));
    }
}

TEST(CompileReplaces, DimsThatTheOpHad) {
    const dynamic_op op; // 2x4
    const auto compiled = partition_of(op.make()).compile({f32(0, {9, 4}), op.scales, *op.zps}, {u8(3, {9, 4})}, cpu());
    EXPECT_TRUE(is(compiled.query_logical_tensor(3), {9, 4}, {4, 1}));
}

TEST(Query, GivesInputsAndOutputs) {
    const dynamic_op op;
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu());
    for (const auto &t : {op.src, op.scales, *op.zps, op.dst})
        EXPECT_TRUE(compiled.query_logical_tensor(t.get_id()).is_equal(t));
}

TEST(Query, OfAnUnknownIdGivesAnEmptyLogicalTensor) {
    const dynamic_op op;
    auto inputs = op.inputs();
    inputs.push_back(f32(50, {3})); // given to compile, but not the op's
    const auto compiled = partition_of(op.make()).compile(inputs, {op.dst}, cpu());
    for (const auto id : std::vector<std::size_t> {4, 50}) {
        const auto none = compiled.query_logical_tensor(id);
        EXPECT_EQ(none.get_id(), std::numeric_limits<std::size_t>::max());
        EXPECT_EQ(none.get_data_type(), type::undef);
        EXPECT_EQ(none.get_layout_type(), layout::any);
        EXPECT_THROW(none.get_dims(), dnnl::error); // the rank is unknown
    }
}

TEST(Strides, OfDimsOfOneDoNotMatter) {
    const lt src(0, type::f32, dims {1, 4}, dims {0, 1}), dst(1, type::s8, dims {1, 4}, dims {0, 1});
    EXPECT_TRUE(is(inferred(src, dst), {1, 4}, {0, 1}));
}

} // namespace
} // namespace dynquant::test
