// The graph API computes DynamicQuantize and DynamicDequantize whose attribute mask says along which dims of src scales
// and zps vary. Clauses are those of oneDNN's RFC (pull request 5743) and of the documentation of both ops in 3.14;
// values are worked out by hand.
#include <numeric>

#include "support/graph.hpp"

namespace dynquant::test {
namespace {

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
        SCOPED_TRACE(mask);
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
        expect_gives(dequantize, {integers_of(counted), floats_of(scales)}, floats_of(real));
        expect_gives(quantize, {floats_of(real), floats_of(scales)}, integers_of(counted));
        auto with_zps = dequantize;
        with_zps.zps = s8(2, shape);
        expect_gives(with_zps, {integers_of(integers), floats_of(scales), integers_of(zps)}, floats_of(real));
        with_zps = quantize;
        with_zps.zps = s8(2, shape);
        expect_gives(with_zps, {floats_of(real), floats_of(scales), integers_of(zps)}, integers_of(integers));
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
    expect_gives(op,
            {encode(data_type::u4, {0, 15, 8, 9, 1, 2, 3, 4}), encode_reals(data_type::bf16, {2, 0.5F}),
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
    expect_gives(op, {integers_of({1, 2, 3, 4, 5, 6}), floats_of({1, 10})}, floats_of({1, 20, 3, 40, 5, 60}));
}

TEST(mask, takes_the_default_qtype_and_ignores_axis) {
    for (const auto axis : {std::int64_t {0}, std::int64_t {-1}, INT64_MIN, INT64_MAX}) {
        auto op = mask_op {}.make();
        op.set_attr<std::string>(attr::qtype, "per_tensor").set_attr(attr::axis, axis);
        expect_gives(op, mask_op {}, {integers_of({1, 2, 3, 4, 5, 6}), floats_of({1, 10})},
                floats_of({1, 2, 3, 40, 50, 60}));
    }
}

TEST(mask, takes_dims_that_are_known_at_compile) {
    const mask_op known;
    auto op = mask_op {.src = lt(0, type::s8), .scales = lt(1, type::f32), .dst = lt(3, type::f32)}.make();
    expect_gives(op, known, {integers_of({1, 2, 3, 4, 5, 6}), floats_of({1, 10})}, floats_of({1, 2, 3, 40, 50, 60}));
}

} // namespace
} // namespace dynquant::test
