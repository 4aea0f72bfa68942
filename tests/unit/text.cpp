// Pieces of error messages.
#include "quantization/text.hpp"

#include <gtest/gtest.h>

namespace dynquant::test {
namespace {

TEST(text, extents) {
    EXPECT_EQ(to_string(dims {8, 64, 56}), "8x64x56");
    EXPECT_EQ(to_string(dims {0}), "0");
    EXPECT_EQ(to_string(dims {}), "scalar");
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
