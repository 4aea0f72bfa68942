// How the native kernel walks a canonical form: which rows are joined and what is turned in tiles.
#include <gtest/gtest.h>

#include "kernels/native/plan.hpp"

namespace dynquant::kernels::native {
namespace {

layout layout_for(const dims &extents, const dims &block, dims src_strides = {}, dims dst_strides = {}) {
    quantization q;
    q.src = {data_type::f32, extents, std::move(src_strides)};
    q.dst = {data_type::u8, extents, std::move(dst_strides)};
    q.scales = {data_type::f32, block, {}};
    return layout_of(canonicalize(q).front());
}

TEST(layout, a_dense_tensor_under_one_scale_is_one_uniform_row) {
    const auto l = layout_for({4, 5, 6}, {4, 5, 6});
    EXPECT_EQ(l.rows, layout::kind::uniform);
    EXPECT_EQ(l.form.loop_count, 0);
    EXPECT_EQ(l.form.row, (axis {120, 1, 1, 0}));
}

TEST(layout, long_runs_stay_rows_under_a_parameter_each) {
    const auto l = layout_for({2, 5, 21}, {2, 1, 21});
    EXPECT_EQ(l.rows, layout::kind::uniform);
    EXPECT_EQ(l.form.loop_count, 2);
    EXPECT_EQ(l.form.row, (axis {21, 1, 1, 0}));
}

TEST(layout, short_runs_are_joined_to_a_row_of_all_channels) {
    const auto l = layout_for({2, 500, 16}, {2, 1, 16});
    EXPECT_EQ(l.rows, layout::kind::alongside);
    EXPECT_EQ(l.form.loop_count, 1);
    EXPECT_EQ(l.form.row, (axis {8000, 1, 1, 1}));
    EXPECT_EQ(l.repeat, 16);
    EXPECT_EQ(l.period, 0);
    EXPECT_EQ(l.parameter_of[15], 0);
    EXPECT_EQ(l.parameter_of[16], 1);
    EXPECT_EQ(l.parameter_of[519], 32);
}

TEST(layout, few_channels_come_again_and_again_in_one_row) {
    auto l = layout_for({1000, 512}, {1000, 1});
    EXPECT_EQ(l.form.loop_count, 0);
    EXPECT_EQ(l.form.row, (axis {512000, 1, 1, 1}));
    EXPECT_EQ(l.repeat, 1);
    EXPECT_EQ(l.period, 512);
    l = layout_for({1000, 3, 4}, {1000, 1, 4});
    EXPECT_EQ(l.form.row, (axis {12000, 1, 1, 1}));
    EXPECT_EQ(l.repeat, 4);
    EXPECT_EQ(l.period, 3);
}

TEST(layout, many_channels_stay_rows_of_their_own) {
    const auto l = layout_for({1000, 513}, {1000, 1});
    EXPECT_EQ(l.rows, layout::kind::alongside);
    EXPECT_EQ(l.form.loop_count, 1);
    EXPECT_EQ(l.form.row, (axis {513, 1, 1, 1}));
    EXPECT_EQ(l.period, 0);
}

TEST(layout, padded_rows_are_not_joined) {
    const auto l = layout_for({2, 5, 3}, {2, 1, 3}, {20, 4, 1});
    EXPECT_EQ(l.rows, layout::kind::uniform);
    EXPECT_EQ(l.form.row, (axis {3, 1, 1, 0}));
}

TEST(layout, permuted_tensors_are_turned_in_tiles_along_the_loop_where_src_is_dense) {
    auto l = layout_for({2, 20, 30}, {2, 20, 30}, {}, {600, 1, 20});
    EXPECT_EQ(l.rows, layout::kind::tiled);
    EXPECT_EQ(l.form.row, (axis {20, 30, 1, 0}));
    EXPECT_EQ(l.form.loops[1], (axis {30, 1, 20, 0}));
    l = layout_for({20, 30, 7}, {20, 30, 7}, {1, 20, 600}); // not the innermost in dst
    EXPECT_EQ(l.rows, layout::kind::tiled);
    EXPECT_EQ(l.form.loops[l.form.loop_count - 1], (axis {20, 1, 210, 0}));
}

TEST(layout, tiles_of_few_rows_are_not_worth_it) {
    EXPECT_EQ(layout_for({2, 15, 30}, {2, 15, 30}, {450, 1, 15}).rows, layout::kind::alongside);
    EXPECT_EQ(layout_for({2, 16, 30}, {2, 16, 30}, {480, 1, 16}).rows, layout::kind::tiled);
}

TEST(layout, what_is_dense_nowhere_walks_strides) {
    EXPECT_EQ(layout_for({40, 30}, {40, 30}, {2, 80}).rows, layout::kind::alongside);
    EXPECT_EQ(layout_for({40, 30}, {40, 30}, {1, 40}, {60, 2}).rows, layout::kind::alongside);
}

} // namespace
} // namespace dynquant::kernels::native
