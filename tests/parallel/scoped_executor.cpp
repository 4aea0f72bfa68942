// scoped_executor runs the calls of one thread on a host's threads, and affects no other thread.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "parallel/executor.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::parallel {
namespace {

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
