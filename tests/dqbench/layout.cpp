// dqbench parses and prints layouts and problems.
#include <gtest/gtest.h>

#include "layout.hpp"
#include "problem.hpp"

namespace {

using namespace dqbench;
using dynquant::dims;

TEST(dqbench_layout, strides_for_extents) {
    struct row {
        std::string text;
        dims extents, strides;
    };
    for (const auto &[text, extents, strides] : {
                 // A tag is the order of the dims, outermost first.
                 row {"abcd", {2, 3, 4, 5}, {60, 20, 5, 1}},
                 row {"acdb", {2, 3, 4, 5}, {60, 1, 15, 3}},
                 row {"ba", {2, 3}, {1, 2}},
                 row {"a", {7}, {1}},
                 row {"abcdefghijkl", dims(12, 1), dims(12, 1)},
                 // x stands for the dims that are not named, maybe none.
                 row {"abx", {2, 3, 4, 5}, {60, 20, 5, 1}},
                 row {"axb", {2, 3, 4, 5}, {60, 1, 15, 3}},
                 row {"xba", {2, 3, 4, 5}, {1, 2, 30, 6}},
                 row {"axb", {}, {}},
                 row {"axb", {7}, {1}},
                 row {"axb", {2, 3}, {3, 1}},
                 row {"xba", {2, 3}, {1, 2}},
                 row {"abx", {2, 0, 3}, {3, 3, 1}}, // 0 counts as 1
                 row {"strides:12x4x0", {2, 3, 4}, {12, 4, 0}},
                 row {"strides:scalar", {}, {}},
         })
        EXPECT_EQ(layout::parse(text).strides_for(extents), strides) << text;
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
