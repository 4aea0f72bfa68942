// The cache of what was prepared last.
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/newest.hpp"

namespace dynquant::parallel {
namespace {

std::shared_ptr<const int> find(const newest<int> &in, int value) {
    return in.find([=](int kept) { return kept == value; });
}

TEST(newest, keeps_as_many_as_it_says_and_drops_the_oldest) {
    constexpr int size = newest<int>::size;
    newest<int> cache;
    EXPECT_EQ(find(cache, 0), nullptr);
    std::vector<std::shared_ptr<const int>> added;
    for (int i = 0; i < size + 3; ++i) {
        added.push_back(std::make_shared<const int>(i));
        cache.add(added.back());
        for (int j = 0; j <= i; ++j)
            EXPECT_EQ(find(cache, j), j + size > i ? added[static_cast<std::size_t>(j)] : nullptr) << j << " of " << i;
    }
}

TEST(newest, keeps_what_threads_add_at_once) {
    newest<int> cache;
    std::vector<std::thread> threads;
    for (int worker = 0; worker < 4; ++worker)
        threads.emplace_back([&, worker] {
            for (int i = 8 * worker; i < 8 * worker + 8; ++i) {
                cache.add(std::make_shared<const int>(i));
                EXPECT_TRUE(find(cache, i));
            }
        });
    for (auto &thread : threads)
        thread.join();
    for (int i = 0; i < 32; ++i)
        EXPECT_TRUE(find(cache, i)) << i;
}

} // namespace
} // namespace dynquant::parallel
