// dqbench parses and prints layouts and problems.
#include <gtest/gtest.h>

#include "dqbench_support.hpp"
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

TEST(dqbench_layout, refuses_what_is_no_permutation) {
    for (const auto *text : {"", "aab", "ac", "xbx", "aBx16b", "nchw", "Any", "stride:1", "abcdefghijklm"})
        expect_usage_error([&] { layout::parse(text); }, std::string("given '") + text + "'");
    expect_usage_error([] { layout::parse("strides:4x-1"); }, "given '-1'");
    expect_usage_error([] { layout::parse("strides:4x1b"); }, "given '1b'");
}

TEST(dqbench_layout, refuses_another_rank) {
    expect_usage_error([] { strides("acdb", {2, 3}); }, "layout acdb is for rank 4, the problem is of rank 2");
    expect_usage_error([] { strides("strides:3", {2, 3}); }, "layout strides:3 is for rank 1");
    expect_usage_error([] { strides("any", {2, 3, 4}); }, "given any");
    expect_usage_error([] { strides("abx", {0, INT64_MAX, 3}); }, "63 bits");
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

TEST(dqbench_problem, refuses_bad_numbers_and_names) {
    const auto refused = [](const std::string &text, const std::string &message) {
        expect_usage_error([&] { parse_problem(text); }, "bad problem '" + text + "'");
        expect_usage_error([&] { parse_problem(text); }, message);
    };
    refused("", "given ''");
    refused("8x", "given ''");
    refused("x8", "given ''");
    refused("8xx8", "given ''");
    refused("-5x3", "given '-5'");
    refused("+5", "given '+5'");
    refused("5 ", "given '5 '");
    refused("5.0", "given '5.0'");
    refused("0x10h", "given '10h'");
    refused("9223372036854775808", "from 0 to 9223372036854775807");
    refused("4294967296x4294967296", "63 bits");
    refused("1x1x1x1x1x1x1x1x1x1x1x1x1", "given rank 13");
    refused("3n", "name");
    refused("3n\"\"", "name");
    refused("3n\"a b\"", "name");
    refused("3n$HOME", "name");
}

} // namespace
