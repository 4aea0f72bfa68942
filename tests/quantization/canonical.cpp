// The canonical form of a statement has the expected rows and loops, and walks the same elements as the statement.
#include "quantization/canonical.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <gtest/gtest.h>

#include "quantization/shape.hpp"
#include "support/random.hpp"

namespace dynquant {

static std::ostream &operator<<(std::ostream &out, const axis &a) {
    return out << a.extent << " by " << a.src_stride << ", " << a.dst_stride << ", " << a.parameter_stride;
}
static std::ostream &operator<<(std::ostream &out, const offsets &o) {
    return out << o.src << ", " << o.dst << ", " << o.parameter;
}

namespace test {
namespace {

quantization statement(const dims &extents, const dims &block, dims src_strides = {}, dims dst_strides = {}) {
    quantization q;
    q.src = {data_type::f32, extents, std::move(src_strides)};
    q.dst = {data_type::u8, extents, std::move(dst_strides)};
    q.scales = {data_type::f32, block, {}};
    return q;
}

struct expected_form {
    std::vector<axis> loops;
    axis row;
    offsets begin = {};
};

void expect_forms(const quantization &q, const std::vector<expected_form> &expected) {
    const auto forms = canonicalize(q);
    ASSERT_EQ(forms.size(), expected.size());
    for (std::size_t i = 0; i < forms.size(); ++i) {
        const auto &form = forms[i];
        EXPECT_EQ(std::vector(form.loops, form.loops + form.loop_count), expected[i].loops);
        EXPECT_EQ(form.row, expected[i].row);
        EXPECT_EQ(form.begin, expected[i].begin);
    }
}

void expect_form(const quantization &q, const std::vector<axis> &loops, const axis &row) {
    expect_forms(q, {{loops, row}});
}

TEST(canonical, a_dense_tensor_under_one_scale_is_one_row) {
    expect_form(statement({2, 3, 4, 5}, {2, 3, 4, 5}), {}, {120, 1, 1, 0});
}

TEST(canonical, a_scalar_is_a_row_of_one) {
    expect_form(statement({}, {}), {}, {1, 1, 1, 0});
    expect_form(statement({1, 1}, {1, 1}), {}, {1, 1, 1, 0});
}

TEST(canonical, channels_in_the_middle_are_a_loop_over_runs) {
    expect_form(statement({2, 3, 4, 5}, {2, 1, 4, 5}), {{2, 60, 60, 0}, {3, 20, 20, 1}}, {20, 1, 1, 0});
}

TEST(canonical, channels_at_the_front_are_the_only_loop) {
    expect_form(statement({3, 4, 5}, {1, 4, 5}), {{3, 20, 20, 1}}, {20, 1, 1, 0});
}

TEST(canonical, channels_at_the_end_have_a_parameter_for_each_element) {
    expect_form(statement({2, 3, 7}, {2, 3, 1}), {{6, 7, 7, 0}}, {7, 1, 1, 1});
}

TEST(canonical, channels_alone_are_one_row) {
    expect_form(statement({7}, {1}), {}, {7, 1, 1, 1});
    expect_form(statement({1, 7, 1}, {1, 1, 1}), {}, {7, 1, 1, 1});
}

TEST(canonical, nhwc_is_channels_at_the_end) {
    // dims n c h w = 2 3 4 5
    expect_form(statement({2, 3, 4, 5}, {2, 1, 4, 5}, {60, 1, 15, 3}, {60, 1, 15, 3}), {{40, 3, 3, 0}}, {3, 1, 1, 1});
    expect_form(statement({2, 3, 4, 5}, {2, 3, 4, 5}, {60, 1, 15, 3}, {60, 1, 15, 3}), {}, {120, 1, 1, 0});
}

TEST(canonical, dst_orders_the_dims) {
    expect_form(statement({3, 5}, {3, 5}, {5, 1}, {1, 3}), {{5, 1, 3, 0}}, {3, 5, 1, 0});
    expect_form(statement({3, 5}, {3, 5}, {1, 3}, {5, 1}), {{3, 1, 5, 0}}, {5, 3, 1, 0});
}

TEST(canonical, gaps_end_a_row) {
    expect_form(statement({3, 5}, {3, 5}, {8, 1}, {}), {{3, 8, 5, 0}}, {5, 1, 1, 0});
    expect_form(statement({3, 5}, {3, 5}, {}, {8, 1}), {{3, 5, 8, 0}}, {5, 1, 1, 0});
}

TEST(canonical, a_common_stride_is_one_strided_row) {
    expect_form(statement({3, 5}, {3, 5}, {10, 2}, {15, 3}), {}, {15, 2, 3, 0});
}

TEST(canonical, a_broadcast_src_walks_in_place) {
    expect_form(statement({3, 5}, {3, 5}, {0, 1}), {{3, 0, 5, 0}}, {5, 1, 1, 0});
    expect_form(statement({3, 5}, {3, 5}, {0, 0}), {}, {15, 0, 1, 0});
}

TEST(canonical, groups_split_a_dim) {
    // 4 groups of 8 in each of 4 rows: 16 parameters, whose groups are consecutive in every buffer.
    expect_form(statement({4, 32}, {1, 8}), {{16, 8, 8, 1}}, {8, 1, 1, 0});
    // Groups of 2 along the first dim: each column has its parameter, and pairs of rows share it.
    expect_form(statement({4, 32}, {2, 1}), {{2, 64, 64, 32}, {2, 32, 32, 0}}, {32, 1, 1, 1});
}

TEST(canonical, a_block_beyond_the_extent_is_the_whole_dim) {
    expect_form(statement({4, 32}, {4, 100}), {}, {128, 1, 1, 0});
}

TEST(canonical, a_short_last_block_has_a_form_of_its_own) {
    expect_form(statement({4, 30}, {4, 5}), {{4, 30, 30, 0}, {6, 5, 5, 1}}, {5, 1, 1, 0});
    expect_forms(statement({4, 32}, {4, 5}),
            {{{{4, 32, 32, 0}, {6, 5, 5, 1}}, {5, 1, 1, 0}}, {{{4, 32, 32, 0}}, {2, 1, 1, 0}, {30, 30, 6}}});
    // A short last block of the first dim, with padded strides and a parameter for each column.
    expect_forms(statement({7, 3}, {3, 1}, {10, 1}, {8, 2}),
            {{{{2, 30, 24, 3}, {3, 10, 8, 0}}, {3, 1, 2, 1}}, {{}, {3, 1, 2, 1}, {60, 48, 6}}});
}

TEST(canonical, short_last_blocks_of_several_dims_multiply) {
    expect_forms(statement({3, 5}, {2, 4}),
            {{{{2, 5, 5, 0}}, {4, 1, 1, 0}}, {{}, {4, 1, 1, 0}, {10, 10, 2}}, {{}, {2, 5, 5, 0}, {4, 4, 1}},
                    {{}, {1, 1, 1, 0}, {14, 14, 3}}});
}

TEST(canonical, rows_multiplies_the_loops) {
    EXPECT_EQ(canonicalize(statement({2, 3, 4, 5}, {2, 1, 4, 5})).front().rows(), 6);
    EXPECT_EQ(canonicalize(statement({7}, {7})).front().rows(), 1);
}

/// Offsets of src and dst, and the parameter's index.
using place = std::array<std::int64_t, 3>;

std::vector<place> places(const quantization &q) {
    std::vector<place> result;
    const auto src = strides_of(q.src), dst = strides_of(q.dst);
    for (std::int64_t linear = 0; linear < *volume(q.src.dims); ++linear) {
        place p = {0, 0, 0};
        std::int64_t rest = linear, parameters = 1;
        for (std::size_t d = q.src.dims.size(); d-- > 0;) {
            const auto index = rest % q.src.dims[d], block = q.scales.block[d];
            rest /= q.src.dims[d];
            p[0] += index * src[d];
            p[1] += index * dst[d];
            p[2] += index / block * parameters;
            parameters *= (q.src.dims[d] + block - 1) / block;
        }
        result.push_back(p);
    }
    return result;
}

std::vector<place> places(const canonical_form &form) {
    std::vector<axis> axes(form.loops, form.loops + form.loop_count);
    axes.push_back(form.row);
    std::vector<place> result = {{form.begin.src, form.begin.dst, form.begin.parameter}};
    for (const auto &a : axes) {
        std::vector<place> longer;
        for (const auto &p : result)
            for (std::int64_t i = 0; i < a.extent; ++i)
                longer.push_back({p[0] + i * a.src_stride, p[1] + i * a.dst_stride, p[2] + i * a.parameter_stride});
        result = std::move(longer);
    }
    return result;
}

TEST(canonical, walks_the_same_elements_as_the_statement) {
    int compared = 0, with_short_blocks = 0;
    for (int i = 0; i < 500; ++i) {
        random_source random(static_cast<std::uint64_t>(i));
        const auto q = random_statement(random).q;
        if (volume(q.src.dims) == 0) continue;
        const auto forms = canonicalize(q);
        std::vector<place> expected = places(q), given;
        for (const auto &form : forms)
            std::ranges::copy(places(form), std::back_inserter(given));
        std::ranges::sort(expected);
        std::ranges::sort(given);
        ASSERT_EQ(given, expected) << describe(q);
        ++compared;
        with_short_blocks += forms.size() > 1;
    }
    EXPECT_GT(compared, 400);
    EXPECT_GT(with_short_blocks, 50);
}

} // namespace
} // namespace test
} // namespace dynquant
