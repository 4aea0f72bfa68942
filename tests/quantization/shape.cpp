// Arithmetic on extents and strides is right, and detects overflow and overlap.
#include "quantization/shape.hpp"

#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "support/random.hpp"

namespace dynquant::test {
namespace {

constexpr std::int64_t huge = std::int64_t {1} << 62;

TEST(shape, volume_multiplies_unless_it_overflows) {
    EXPECT_EQ(volume({}), 1);
    EXPECT_EQ(volume({2, 3, 4}), 24);
    EXPECT_EQ(volume({huge, 1}), huge);
    EXPECT_EQ(volume({huge, 2}), std::nullopt);
    EXPECT_EQ(volume({huge, huge, 0}), 0); // empty, however large the other dims
}

TEST(shape, row_major_strides) {
    EXPECT_EQ(row_major({}), (dims {}));
    EXPECT_EQ(row_major({2, 3, 4}), (dims {12, 4, 1}));
    EXPECT_EQ(row_major({2, 0, 4}), (dims {4, 4, 1}));
    EXPECT_EQ(strides_of({data_type::f32, {2, 3}, {}}), (dims {3, 1}));
    EXPECT_EQ(strides_of({data_type::f32, {2, 3}, {1, 2}}), (dims {1, 2}));
}

TEST(shape, ceil_div_rounds_up_for_all_numbers) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(ceil_div(0, 7), 0);
    EXPECT_EQ(ceil_div(1, 7), 1);
    EXPECT_EQ(ceil_div(7, 7), 1);
    EXPECT_EQ(ceil_div(8, 7), 2);
    EXPECT_EQ(ceil_div(0, most), 0);
    EXPECT_EQ(ceil_div(2, most), 1);
    EXPECT_EQ(ceil_div(most, 1), most);
    EXPECT_EQ(ceil_div(most, 2), huge);
    EXPECT_EQ(ceil_div(most, most), 1);
}

TEST(shape, parameters_are_as_many_as_blocks_begun) {
    EXPECT_EQ(parameter_dims({4, 32, 7, 0}, {1, 8, 3, 1}), (dims {4, 4, 3, 0}));
    EXPECT_EQ(parameter_dims({4, 32}, {100, 32}), (dims {1, 1}));
}

TEST(shape, last_offset_is_the_farthest_element) {
    EXPECT_EQ(last_offset({}, {}), 0);
    EXPECT_EQ(last_offset({2, 3}, {3, 1}), 5);
    EXPECT_EQ(last_offset({2, 3}, {100, 0}), 100);
    EXPECT_EQ(last_offset({3, 1}, {huge, 1}), std::nullopt);
    EXPECT_EQ(last_offset({2, 2}, {huge, huge}), std::nullopt);
    EXPECT_EQ(last_offset({1, 2}, {huge, 1}), 1);
}

TEST(shape, elements_overlap_or_not) {
    EXPECT_FALSE(overlaps({}, {}));
    EXPECT_FALSE(overlaps({2, 3}, {3, 1}));
    EXPECT_FALSE(overlaps({2, 3}, {1, 2}));  // permuted
    EXPECT_FALSE(overlaps({2, 3}, {10, 3})); // padded
    EXPECT_FALSE(overlaps({2, 3}, {2, 3}));  // interleaved: 0 3 6, 2 5 8
    EXPECT_FALSE(overlaps({1, 3}, {0, 1}));  // dims of 1 do not count
    EXPECT_TRUE(overlaps({2, 3}, {0, 1}));
    EXPECT_TRUE(overlaps({2, 3}, {2, 1})); // 0 1 2, 2 3 4
    EXPECT_TRUE(overlaps({3, 3}, {2, 2}));
    EXPECT_TRUE(overlaps({2, 2, 2}, {3, 2, 1})); // 3 = 2 + 1
    EXPECT_FALSE(overlaps({2, 2, 2}, {4, 2, 1}));
    EXPECT_FALSE(overlaps(dims(12, 2), {2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1}));
}

TEST(shape, overlaps_as_counting_offsets_does) {
    int overlapping = 0;
    for (int i = 0; i < 20000; ++i) {
        random_source random(static_cast<std::uint64_t>(i));
        const auto rank = static_cast<std::size_t>(random.within(1, 4));
        dims extents(rank), strides(rank);
        for (std::size_t d = 0; d < rank; ++d) {
            extents[d] = random.within(1, 4);
            strides[d] = random.within(0, 20);
        }
        std::vector<std::int64_t> offsets = {0};
        for (std::size_t d = 0; d < rank; ++d) {
            const auto before = offsets;
            for (std::int64_t k = 1; k < extents[d]; ++k)
                for (const auto offset : before)
                    offsets.push_back(offset + k * strides[d]);
        }
        const bool expected = std::set(offsets.begin(), offsets.end()).size() < offsets.size();
        ASSERT_EQ(overlaps(extents, strides), expected)
                << testing::PrintToString(extents) << " by " << testing::PrintToString(strides);
        overlapping += expected;
    }
    EXPECT_GT(overlapping, 5000);
    EXPECT_LT(overlapping, 15000);
}

} // namespace
} // namespace dynquant::test
