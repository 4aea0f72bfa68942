// Work is split deterministically into parts that cover every item once, and runs on the threads of the executor in
// scope.
#include "parallel/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/executor.hpp"

namespace dynquant::parallel {
namespace {

TEST(part_of, parts_follow_one_another_and_differ_by_at_most_one) {
    for (std::int64_t count = 0; count <= 40; ++count)
        for (int parts = 1; parts <= 17; ++parts) {
            std::int64_t next = 0;
            for (int i = 0; i < parts; ++i) {
                const auto part = part_of(count, parts, i);
                ASSERT_EQ(part.begin, next);
                ASSERT_GE(part.end - part.begin, count / parts);
                ASSERT_LE(part.end - part.begin, (count + parts - 1) / parts);
                next = part.end;
            }
            ASSERT_EQ(next, count);
        }
}

TEST(part_of, counts_beyond_32_bits) {
    const std::int64_t count = (std::int64_t {1} << 62) + 1;
    EXPECT_EQ(part_of(count, 2, 0).end, (std::int64_t {1} << 61) + 1);
    EXPECT_EQ(part_of(count, 2, 1).end, count);
}

TEST(parts_for_items, are_no_more_than_there_are_items_and_at_least_one) {
    const auto elements = elements_per_part();
    for (const std::int64_t items : {0, 1, 2, 3, 1000}) {
        EXPECT_EQ(parts_for_items(items, 0), 1) << items;
        EXPECT_EQ(parts_for_items(items, elements), 1) << items;
        const auto most = std::max<std::int64_t>(1, std::min<std::int64_t>(items, concurrency()));
        EXPECT_EQ(parts_for_items(items, elements * 1000000), most) << items;
        EXPECT_EQ(parts_for_items(items, elements * 2), std::min<std::int64_t>(most, 2)) << items;
    }
}

TEST(for_each_part, visits_every_item_once_and_tells_each_part_its_index) {
    for (const int parts : {1, 2, 7, 16}) {
        std::vector<std::atomic<int>> visits(1000);
        std::vector<range> given(static_cast<std::size_t>(parts));
        std::atomic<int> calls = 0;
        const auto visit = [&](range part) {
            ++calls;
            for (auto i = part.begin; i < part.end; ++i)
                ++visits[static_cast<std::size_t>(i)];
        };
        for_each_part(1000, parts, visit);
        for_each_part(1000, parts, [&](range part, std::size_t index) { given[index] = part; });
        EXPECT_EQ(calls, parts);
        for (const auto &count : visits)
            ASSERT_EQ(count, 1);
        for (int i = 0; i < parts; ++i) {
            const auto expected = part_of(1000, parts, i), found = given[static_cast<std::size_t>(i)];
            EXPECT_EQ(found.begin, expected.begin);
            EXPECT_EQ(found.end, expected.end);
        }
    }
}

// ---- scoped_executor: a host's threads for the calls of one thread ----------------------------------------

int runs = 0;

template <int Threads>
constexpr executor host = {[] { return Threads; },
        [](int parts, void (*function)(const void *, int), const void *body) {
            ++runs;
            for (int index = parts; index-- > 0;) // in any order
                function(body, index);
        },
        Threads * 1000};

TEST(scoped_executor, runs_what_this_thread_splits) {
    runs = 0;
    std::vector<int> seen(100);
    {
        const scoped_executor here(host<3>);
        EXPECT_EQ(concurrency(), 3);
        EXPECT_EQ(elements_per_part(), 3000);
        for_each_part(100, 7, [&](range part) {
            for (auto i = part.begin; i < part.end; ++i)
                ++seen[static_cast<std::size_t>(i)];
        });
    }
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(seen, std::vector<int>(100, 1));
    for_each_part(100, 7, [](range) {});
    EXPECT_EQ(runs, 1);
}

TEST(scoped_executor, one_within_another_gives_way_to_it) {
    const scoped_executor outer(host<3>);
    {
        const scoped_executor inner(host<5>);
        EXPECT_EQ(concurrency(), 5);
    }
    EXPECT_EQ(concurrency(), 3);
}

TEST(scoped_executor, leaves_other_threads_alone) {
    const scoped_executor here(host<1000>);
    int elsewhere = 0;
    std::thread([&] { elsewhere = concurrency(); }).join();
    EXPECT_EQ(elsewhere, tbb_executor.concurrency());
}

} // namespace
} // namespace dynquant::parallel
