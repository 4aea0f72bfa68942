// The OpenMP executor runs every part once, on the threads of the OpenMP runtime that this program links.
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/executor.hpp"
#include "parallel/parallel.hpp"
#include "support/program.hpp"

extern "C" int omp_in_parallel();

namespace dynquant::parallel {
namespace {

/// The number of runs of each index.
using visits = std::vector<std::atomic<int>>;

void visit(const void *all, int index) {
    ++(*static_cast<visits *>(const_cast<void *>(all)))[static_cast<std::size_t>(index)];
}

const void *const user = reinterpret_cast<const void *>(&omp_in_parallel);

TEST(openmp, runs_every_part_once) {
    const auto *openmp = openmp_executor(user);
    ASSERT_NE(openmp, nullptr);
    EXPECT_GE(openmp->concurrency(), 1);
    for (const int parts : {2, 3, 7, 64}) { // fewer and more than there are threads
        visits seen(static_cast<std::size_t>(parts));
        openmp->run(parts, visit, &seen);
        for (const auto &count : seen)
            EXPECT_EQ(count, 1);
    }
}

TEST(openmp, in_a_region_of_the_caller) {
    static const auto *openmp = openmp_executor(user);
    static visits seen(4 * 5);
    const auto outer = [](const void *, int index) {
        EXPECT_EQ(openmp->concurrency(), 1);
        const auto inner = [](const void *first, int i) {
            ++const_cast<std::atomic<int> *>(static_cast<const std::atomic<int> *>(first))[i];
        };
        openmp->run(5, inner, &seen[static_cast<std::size_t>(index) * 5]);
    };
    openmp->run(4, outer, nullptr);
    for (const auto &count : seen)
        EXPECT_EQ(count, 1);
}

TEST(openmp, for_each_part_runs_there_once_chosen_and_rounds_to_nearest) {
    run_on_openmp(user);
    EXPECT_EQ(concurrency(), openmp_executor(user)->concurrency());
    // Every thread of the pool rounds up before the parts arrive.
    openmp_executor(user)->run(
            16, [](const void *, int) { std::fesetround(FE_UPWARD); }, nullptr);
    std::fesetround(FE_UPWARD);
    std::atomic<int> in_region = 0, to_nearest = 0;
    std::atomic<std::int64_t> sum = 0;
    for_each_part(1000, 7, [&](range part) {
        in_region += omp_in_parallel();
        const volatile float one = 1, little = 0x1p-25F;
        to_nearest += one + little == 1; // by SSE: fegetround reads the x87 mode
        sum += part.end - part.begin;
    });
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(in_region, concurrency() > 1 ? 7 : 0);
    EXPECT_EQ(to_nearest, 7);
    EXPECT_EQ(sum, 1000);
}

TEST(openmp, in_a_child_of_fork_the_calling_thread_runs_every_part) {
    const auto *openmp = openmp_executor(user);
    const auto nothing = [](const void *, int) {};
    openmp->run(4, nothing, nullptr); // this thread has a team, whose threads the child lacks
    EXPECT_TRUE(test::holds_in_a_child([&] {
        visits seen(7);
        openmp->run(7, visit, &seen);
        return openmp->concurrency() == 1 && std::ranges::all_of(seen, [](int count) { return count == 1; });
    }));
}

} // namespace
} // namespace dynquant::parallel
