// All ops compute all shapes and layouts: ranks, strides, unknown dims, output layout any, zero volume.
#include <numeric>

#include "operator_test.hpp"

namespace dynquant::test {
namespace {

constexpr std::array<float, 4> channel_scales = {0.25f, 1, 0.5f, 2};

/// Both directions are exact, and each has the input of the other as its expected result. Integers count up, and reals
/// are integers times the scale of their channel.
class operator_layouts : public testing::TestWithParam<op_by_variant> {
  protected:
    static single_op per_channel(dims shape, std::int64_t axis) {
        auto op = per_tensor(std::move(shape));
        const auto channels = op.shape[static_cast<std::size_t>(axis)];
        op.qtype = "per_channel";
        op.axis = axis;
        op.scales.clear();
        for (std::int64_t i = 0; i < channels; ++i)
            op.scales.push_back(channel_scales[static_cast<std::size_t>(i) % channel_scales.size()]);
        return op;
    }

    static single_op per_tensor(dims shape) {
        single_op op {.kind = GetParam().op, .shape = std::move(shape), .integer = u8, .scales = {0.5f}};
        // The onednn kernel takes scales given at execute only under this mode. Results are exact, so the mode does not
        // matter.
        if (GetParam().by.kernel == kernel_kind::onednn) op.fpmath = dg::fpmath_mode::any;
        return op;
    }

    static ints integers(const single_op &op) {
        const auto count = std::accumulate(op.shape.begin(), op.shape.end(), std::int64_t {1}, std::multiplies {});
        ints result(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] = static_cast<int>(i % 251);
        return result;
    }

    static floats reals(const single_op &op) {
        const auto numbers = integers(op);
        floats result(numbers.begin(), numbers.end());
        std::size_t inner = 1;
        if (op.axis)
            for (auto d = static_cast<std::size_t>(*op.axis) + 1; d < op.shape.size(); ++d)
                inner *= static_cast<std::size_t>(op.shape[d]);
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] *= op.scales[i / inner % op.scales.size()];
        return result;
    }

    static testing::AssertionResult right(const single_op &op) {
        const auto &by = GetParam().by;
        const bool same = op.quantizes() ? op.quantize(by, reals(op)) == integers(op)
                                         : op.dequantize(by, integers(op)) == reals(op);
        return same ? testing::AssertionSuccess() : testing::AssertionFailure() << "dst is wrong";
    }
};

TEST_P(operator_layouts, rank_zero) {
    EXPECT_TRUE(right(per_tensor({})));
}

TEST_P(operator_layouts, rank_one_to_twelve_per_tensor) {
    for (std::size_t rank = 1; rank <= 12; ++rank)
        EXPECT_TRUE(right(per_tensor(dims(rank, 2)))) << rank;
}

TEST_P(operator_layouts, rank_one_to_twelve_per_channel_on_every_axis) {
    for (std::size_t rank = 1; rank <= 12; ++rank)
        for (std::size_t axis = 0; axis < rank; axis += rank < 6 ? 1 : 3) {
            dims shape(rank, rank < 6 ? 3 : 2);
            shape[axis] = 4;
            EXPECT_TRUE(right(per_channel(shape, static_cast<std::int64_t>(axis)))) << rank << ", axis " << axis;
        }
}

TEST_P(operator_layouts, real_shapes) {
    EXPECT_TRUE(right(per_channel({2, 24, 7, 7}, 1)));
    EXPECT_TRUE(right(per_channel({3, 5, 96}, 2)));
    EXPECT_TRUE(right(per_channel({64, 27}, 0)));
    EXPECT_TRUE(right(per_tensor({1, 1000})));
}

// single_op asserts that gaps are not written.
TEST_P(operator_layouts, strides) {
    struct layout {
        const char *name;
        dims shape;
        std::int64_t axis;
        dims src, dst;
    };
    const layout layouts[] = {
            {"src in the order nhwc", {2, 3, 4, 5}, 1, {60, 1, 15, 3}, {}},
            {"dst in the order nhwc", {2, 3, 4, 5}, 1, {}, {60, 1, 15, 3}},
            {"both permuted", {3, 4, 5}, 2, {1, 15, 3}, {4, 1, 12}},
            {"both padded", {3, 4, 5}, 1, {40, 8, 1}, {50, 11, 2}},
            {"any stride of dims of 1", {1, 4, 1, 5}, 1, {0, 5, 7, 1}, {1, 5, 3, 1}},
    };
    for (const auto &[name, shape, axis, src, dst] : layouts) {
        auto op = per_channel(shape, axis);
        op.src_strides = src;
        op.dst_strides = dst;
        EXPECT_TRUE(right(op)) << name;
    }
}

TEST_P(operator_layouts, dims_and_rank_are_unknown_until_compile) {
    auto op = per_channel({2, 3, 4}, 1);
    op.unknown_until_compile = true;
    EXPECT_TRUE(right(op));
}

TEST_P(operator_layouts, unknown_dims_of_dst_are_inferred) {
    auto op = per_channel({2, 3, 4}, 1);
    op.dst_dims_unknown = true;
    EXPECT_TRUE(right(op));
    op.dst_dims_unknown = false;
    op.dst_rank_unknown = true;
    EXPECT_TRUE(right(op));
}

TEST_P(operator_layouts, layout_any_keeps_the_order_of_dims) {
    auto op = per_channel({2, 3, 4, 5}, 1);
    op.dst_layout_any = true;
    EXPECT_EQ(op.compile(GetParam().by).query_logical_tensor(single_op::dst).get_strides(), (dims {60, 20, 5, 1}));
    EXPECT_TRUE(right(op));
    op.src_strides = {60, 1, 15, 3};
    EXPECT_EQ(op.compile(GetParam().by).query_logical_tensor(single_op::dst).get_strides(), (dims {60, 1, 15, 3}));
    EXPECT_TRUE(right(op));
}

TEST_P(operator_layouts, broadcast_src_is_read_again_and_again) {
    auto op = per_tensor({2, 3, 2});
    op.src_strides = {2, 0, 1};
    const auto by = GetParam().by;
    if (op.quantizes())
        EXPECT_EQ(op.quantize(by, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}), (ints {2, 4, 2, 4, 2, 4, 6, 8, 6, 8, 6, 8}));
    else
        EXPECT_EQ(
                op.dequantize(by, {2, 4, 2, 4, 2, 4, 6, 8, 6, 8, 6, 8}), (floats {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}));
}

TEST_P(operator_layouts, zero_volume) {
    EXPECT_TRUE(right(per_tensor({2, 0, 3})));
    EXPECT_TRUE(right(per_channel({2, 3, 0}, 1)));
    EXPECT_TRUE(right(per_channel({0, 3, 2}, 1)));
    const auto no_channels = per_channel({2, 0, 3}, 1);
    EXPECT_TRUE(!no_channels.dynamic() || right(no_channels)); // an attribute has at least one scale
}

const std::vector<kind> all = {kind::DynamicQuantize, kind::DynamicDequantize, kind::Quantize, kind::Dequantize};

INSTANTIATE_TEST_SUITE_P(
        kernels, operator_layouts, testing::ValuesIn(each(all, all_variants())), testing::PrintToStringParamName());

} // namespace
} // namespace dynquant::test
