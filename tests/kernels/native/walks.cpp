// The native kernel plans a walk of a canonical form: it joins rows, expands parameters to columns, and transposes in
// tiles where that pays. And it resolves what computes the walk's rows.
#include <gtest/gtest.h>

#include "kernels/native/implementation.hpp"
#include "kernels/native/plan.hpp"
#include "support/direct.hpp"

namespace dynquant::kernels::native {
namespace {

using order = walk::order;

/// The walk for 16 lanes. A plan runs nothing, so any processor will do.
kernel_loops sixteen_lanes() {
    auto set = loops_for(targets::scalar);
    static std::vector<family> families(set.families, set.families + set.family_count);
    set.lanes = 16;
    set.families = families.data();
    for (auto &family : families) {
        for (auto *kernels : {&family.any_parameters, &family.guarded})
            for (const auto by : {form::rows, form::short_groups, form::segs1, form::segs2, form::segs4})
                kernels->set(by, family.any_parameters.at(form::rows));
        family.guarded.set(form::rows, family.any_parameters.at(form::cols), access::of_f16);
    }
    return set;
}

std::vector<walk> walks_for(const dims &extents, const dims &block, dims src_strides = {}, dims dst_strides = {},
        data_type src = data_type::f32) {
    static const auto set = sixteen_lanes();
    auto q = test::statement_of(direction::quantize, src, data_type::u8, extents, block);
    q.src.strides = std::move(src_strides);
    q.dst.strides = std::move(dst_strides);
    return plan_of(q, canonicalize(q), set).walks;
}

walk walk_for(const dims &extents, const dims &block, dims src_strides = {}, dims dst_strides = {}) {
    return walks_for(extents, block, std::move(src_strides), std::move(dst_strides)).front();
}

TEST(walks, a_dense_tensor_under_one_scale_is_one_row) {
    const auto w = walk_for({4, 5, 6}, {4, 5, 6});
    EXPECT_EQ(w.traversal, order::rows);
    EXPECT_EQ(w.axes.loop_count, 0);
    EXPECT_EQ(w.axes.row, (axis {120, 1, 1, 0}));
}

TEST(walks, long_groups_stay_rows_under_a_parameter_each) {
    const auto w = walk_for({8, 5, 33}, {8, 1, 33});
    EXPECT_EQ(w.traversal, order::rows);
    EXPECT_EQ(w.axes.loop_count, 2);
    EXPECT_EQ(w.axes.row, (axis {33, 1, 1, 0}));
}

TEST(walks, short_groups_that_many_rows_share_are_expanded_to_columns) {
    const auto w = walk_for({8, 500, 25}, {8, 1, 25});
    EXPECT_EQ(w.traversal, order::columns);
    EXPECT_EQ(w.microkernel_form, form::cols);
    EXPECT_TRUE(w.expands);
    EXPECT_EQ(w.group_length, 25);
    EXPECT_EQ(w.axes.row, (axis {12500, 1, 1, 1}));
    EXPECT_LE(w.chunk, chunk_capacity);
    EXPECT_EQ(w.chunk % 25, 0);
}

TEST(walks, short_groups_of_few_rows_are_permuted_or_segments) {
    auto w = walk_for({500, 9}, {1, 9});
    EXPECT_EQ(w.microkernel_form, form::short_groups);
    EXPECT_FALSE(w.expands);
    EXPECT_EQ(w.group_length, 9);
    // Columns 16 to 31 are of parameters 1, 1, 2 ...
    EXPECT_EQ(w.first[1], 1);
    EXPECT_EQ(w.index[16], 0);
    EXPECT_EQ(w.index[18], 1);
    EXPECT_EQ(walk_for({500, 16}, {1, 16}).microkernel_form, form::segs1);
    EXPECT_EQ(walk_for({500, 32}, {1, 32}).microkernel_form, form::segs2);
    EXPECT_EQ(walk_for({500, 64}, {1, 64}).microkernel_form, form::segs4);
    EXPECT_EQ(walk_for({500, 27}, {1, 27}).microkernel_form, form::rows);
}

TEST(walks, few_channels_come_again_and_again_in_rows_of_whole_cache_lines) {
    const auto walks = walks_for({100000, 3}, {100000, 1});
    ASSERT_EQ(walks.size(), 2U); // whole rows and the remainder
    EXPECT_EQ(walks[0].period, 3);
    EXPECT_EQ(walks[0].axes.row, (axis {960, 1, 1, 1}));
    EXPECT_EQ(walks[0].axes.loops[0], (axis {312, 960, 960, 0}));
    EXPECT_EQ(walks[1].axes.row, (axis {480, 1, 1, 1}));
    EXPECT_EQ(walks[1].axes.begin.src, 312 * 960);
}

TEST(walks, many_channels_are_walked_in_chunks) {
    const auto w = walk_for({1000, 4096}, {1000, 1});
    EXPECT_EQ(w.microkernel_form, form::cols);
    EXPECT_EQ(w.period, 0);
    EXPECT_EQ(w.chunk, 1024); // four chunks, of whole cache lines
    EXPECT_EQ(walk_for({1000, 5000}, {1000, 1}).chunk, 1024);
    EXPECT_EQ(walk_for({1000, 1088}, {1000, 1}).chunk, 1088); // one chunk, the most columns that are prepared at once
    EXPECT_EQ(walk_for({1000, 1089}, {1000, 1}).chunk, 576);  // two chunks
}

TEST(walks, padded_rows_are_not_joined) {
    const auto w = walk_for({2, 5, 3}, {2, 1, 3}, {20, 4, 1});
    EXPECT_EQ(w.traversal, order::rows);
    EXPECT_EQ(w.axes.row, (axis {3, 1, 1, 0}));
}

TEST(walks, permuted_tensors_are_transposed_in_tiles_along_the_loop_where_src_is_dense) {
    auto w = walk_for({2, 20, 30}, {2, 20, 30}, {}, {600, 1, 20});
    EXPECT_EQ(w.traversal, order::transposed);
    EXPECT_EQ(w.axes.row, (axis {20, 30, 1, 0}));
    EXPECT_EQ(w.axes.loops[1], (axis {30, 1, 20, 0}));
    w = walk_for({20, 30, 7}, {20, 30, 7}, {1, 20, 600}); // not the innermost in dst
    EXPECT_EQ(w.traversal, order::transposed);
    EXPECT_EQ(w.axes.loops[w.axes.loop_count - 1], (axis {20, 1, 210, 0}));
}

TEST(walks, tiles_of_few_rows_are_not_worth_it) {
    EXPECT_NE(walk_for({2, 15, 30}, {2, 15, 30}, {450, 1, 15}).traversal, order::transposed);
    EXPECT_EQ(walk_for({2, 16, 30}, {2, 16, 30}, {480, 1, 16}).traversal, order::transposed);
}

TEST(resolved, microkernels_of_a_state_stage_what_they_do_not_read) {
    const auto of_f16 = [](dims strides) {
        return walks_for({64}, {64}, std::move(strides), {}, data_type::f16)[0].own;
    };
    const auto dense = of_f16({});
    EXPECT_FALSE(dense[chunk_state::any_parameters].usual.is_direct);
    EXPECT_NE(dense[chunk_state::any_parameters].usual.memory.read, nullptr);
    EXPECT_TRUE(dense[chunk_state::guarded].usual.is_direct);
    EXPECT_EQ(dense[chunk_state::guarded].usual.memory.read, nullptr);
    const auto strided = of_f16({2});
    EXPECT_FALSE(strided[chunk_state::guarded].usual.is_direct);
    EXPECT_NE(strided[chunk_state::guarded].usual.memory.read, nullptr);
}

TEST(resolved, groups_are_rows_in_states_that_lack_their_form) {
    const auto w = walk_for({500, 16}, {1, 16});
    EXPECT_EQ(w.own[chunk_state::guarded].max_rows_of_groups, 0);
    EXPECT_EQ(w.own[chunk_state::no_zero_points].max_rows_of_groups, INT64_MAX);
    EXPECT_EQ(w.of_groups[chunk_state::guarded].by, form::rows);
    EXPECT_NE(w.of_groups[chunk_state::guarded].usual.kernel, nullptr);
}

} // namespace
} // namespace dynquant::kernels::native
