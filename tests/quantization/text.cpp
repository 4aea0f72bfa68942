// Helpers of error messages print extents, plurals, escapes and near spellings.
#include "quantization/text.hpp"

#include <gtest/gtest.h>

namespace dynquant::test {
namespace {

TEST(text, extents) {
    EXPECT_EQ(to_string(dims {8, 64, 56}), "8x64x56");
    EXPECT_EQ(to_string(dims {0}), "0");
    EXPECT_EQ(to_string(dims {}), "scalar");
}

TEST(text, counts_have_plurals) {
    EXPECT_EQ(counted(0, "input"), "0 inputs");
    EXPECT_EQ(counted(1, "input"), "1 input");
    EXPECT_EQ(counted(2, "input"), "2 inputs");
}

TEST(text, what_cannot_be_printed_is_escaped) {
    EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printable("\x1f ~\x7f\n"), "\\x1f ~\\x7f\\x0a");
    EXPECT_EQ(printable("größe"), "größe");
}

TEST(text, edit_distance_counts_edits) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("per_chanel", "per_channel"), 1u);
}

TEST(text, suggests_a_near_spelling_only) {
    const std::vector<std::string> candidates = {"per_tensor", "per_channel"};
    EXPECT_EQ(suggest("per_chanel", candidates), " (did you mean 'per_channel'?)");
    EXPECT_EQ(suggest("per-tensor", candidates), " (did you mean 'per_tensor'?)");
    EXPECT_EQ(suggest("blue", candidates), "");
    EXPECT_EQ(suggest("", candidates), "");
}

} // namespace
} // namespace dynquant::test
