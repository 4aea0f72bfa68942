#include "model/memory_plan.hpp"

#include <gtest/gtest.h>

#include "support/random.hpp"

namespace dynquant::models {
namespace {

TEST(memory_plan, chains_alternate_between_two_places) {
    const auto plan = plan_memory({{0, 1, 100}, {1, 2, 100}, {2, 3, 100}});
    EXPECT_EQ(plan.offsets, (std::vector<std::size_t> {0, 128, 0}));
    EXPECT_EQ(plan.bytes, 228U);
}

TEST(memory_plan, the_large_ones_come_first) {
    const auto plan = plan_memory({{0, 0, 10}, {0, 0, 1000}, {1, 1, 500}});
    EXPECT_EQ(plan.offsets, (std::vector<std::size_t> {1024, 0, 0}));
}

TEST(memory_plan, the_smallest_hole_that_is_large_enough_is_taken) {
    // At step 1 there are holes of 192 bytes at 0 and of 128 at 320.
    const auto plan =
            plan_memory({{0, 0, 192}, {0, 1, 128}, {0, 0, 128}, {0, 1, 1}, {1, 1, 128}, {1, 1, 64}, {1, 1, 32}});
    EXPECT_EQ(plan.offsets, (std::vector<std::size_t> {0, 192, 320, 448, 320, 0, 64}));
    EXPECT_EQ(plan.bytes, 449U);
}

TEST(memory_plan, holes_next_to_each_other_become_one) {
    const auto plan = plan_memory({{0, 0, 64}, {0, 1, 64}, {0, 0, 64}, {1, 2, 64}, {2, 2, 192}});
    EXPECT_EQ(plan.offsets, (std::vector<std::size_t> {0, 64, 128, 0, 64}));
    EXPECT_EQ(plan.bytes, 256U);
}

// A plan that scans all live values for each value exceeds the time limit of a test.
TEST(memory_plan, a_million_values_at_once) {
    constexpr std::size_t count = 1000000;
    std::vector<lifetime> lives;
    for (std::size_t i = 0; i < count; ++i)
        lives.push_back({i, count, 64});
    const auto plan = plan_memory(lives);
    EXPECT_EQ(plan.bytes, 64 * count);
}

TEST(memory_plan, nothing_overlaps) {
    dynquant::test::random_source random(1);
    const auto below = [&](std::int64_t count) { return static_cast<std::size_t>(random.within(0, count - 1)); };
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<lifetime> lives(below(30));
        for (auto &life : lives) {
            life.first = below(20);
            life.last = life.first + below(5);
            life.bytes = random.chance(25) ? 0 : below(1000);
        }
        const auto plan = plan_memory(lives);
        for (std::size_t a = 0; a < lives.size(); ++a) {
            EXPECT_EQ(plan.offsets[a] % 64, 0U);
            EXPECT_LE(plan.offsets[a] + lives[a].bytes, plan.bytes);
            for (std::size_t b = 0; b < a; ++b) {
                const bool in_time = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
                const bool in_space = plan.offsets[a] < plan.offsets[b] + lives[b].bytes
                        && plan.offsets[b] < plan.offsets[a] + lives[a].bytes;
                EXPECT_FALSE(in_time && in_space && lives[a].bytes > 0 && lives[b].bytes > 0);
            }
        }
    }
}

} // namespace
} // namespace dynquant::models
