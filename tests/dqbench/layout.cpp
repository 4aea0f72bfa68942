// dqbench parses and prints layouts and problems.
#include <gtest/gtest.h>

#include "layout.hpp"
#include "problem.hpp"

namespace {

using namespace dqbench;
using dynquant::dims;

dims strides(const std::string &text, const dims &extents) {
    return layout::parse(text).strides_for(extents);
}

TEST(dqbench_layout, tag_is_the_order_of_dims_outermost_first) {
    EXPECT_EQ(strides("abcd", {2, 3, 4, 5}), (dims {60, 20, 5, 1}));
    EXPECT_EQ(strides("acdb", {2, 3, 4, 5}), (dims {60, 1, 15, 3}));
    EXPECT_EQ(strides("ba", {2, 3}), (dims {1, 2}));
    EXPECT_EQ(strides("a", {7}), (dims {1}));
    EXPECT_EQ(strides("abcdefghijkl", dims(12, 1)), dims(12, 1));
}

TEST(dqbench_layout, x_stands_for_the_dims_that_are_not_named) {
    EXPECT_EQ(strides("abx", {2, 3, 4, 5}), (dims {60, 20, 5, 1}));
    EXPECT_EQ(strides("axb", {2, 3, 4, 5}), (dims {60, 1, 15, 3}));
    EXPECT_EQ(strides("xba", {2, 3, 4, 5}), (dims {1, 2, 30, 6}));
}

TEST(dqbench_layout, pattern_fits_every_rank) {
    EXPECT_EQ(strides("axb", {}), dims {});
    EXPECT_EQ(strides("axb", {7}), (dims {1}));
    EXPECT_EQ(strides("axb", {2, 3}), (dims {3, 1}));
    EXPECT_EQ(strides("xba", {2, 3}), (dims {1, 2}));
}

TEST(dqbench_layout, dims_of_zero_count_as_one) {
    EXPECT_EQ(strides("abx", {2, 0, 3}), (dims {3, 3, 1}));
}

TEST(dqbench_layout, strides_are_taken_as_they_are) {
    EXPECT_EQ(strides("strides:12x4x0", {2, 3, 4}), (dims {12, 4, 0}));
    EXPECT_EQ(strides("strides:scalar", {}), dims {});
}

TEST(dqbench_layout, reads_back_what_it_shows) {
    for (const auto *text : {"abx", "acdb", "any", "strides:12x4x1"})
        EXPECT_EQ(layout::parse(text).to_string(), text);
}

TEST(dqbench_problem, is_dims_with_an_optional_name) {
    EXPECT_EQ(parse_problem("8x64x56x56"), (problem {{8, 64, 56, 56}, ""}));
    EXPECT_EQ(parse_problem("7"), (problem {{7}, ""}));
    EXPECT_EQ(parse_problem("0x3"), (problem {{0, 3}, ""}));
    EXPECT_EQ(parse_problem("scalar"), (problem {{}, ""}));
    EXPECT_EQ(parse_problem("8x64n\"net:conv_1*3\""), (problem {{8, 64}, "net:conv_1*3"}));
    EXPECT_EQ(parse_problem("8x64nconv"), (problem {{8, 64}, "conv"})); // after the shell's unquoting
    EXPECT_EQ(parse_problem("scalarn\"bias\""), (problem {{}, "bias"}));
}

TEST(dqbench_problem, reads_back_what_it_shows) {
    for (const auto *text : {"8x64x56x56", "scalar", "0", "3x5n\"resnet50:fc\""})
        EXPECT_EQ(to_string(parse_problem(text)), text);
}

} // namespace
