// Memory for packed weights: zeros at cache lines, which others keep when it is freed.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "layers/gemm/weights_memory.hpp"

namespace dynquant::layers {
namespace {

constexpr std::size_t mebibyte = std::size_t {1} << 20;

struct block {
    explicit block(std::size_t size)
        : size(size)
        , memory(allocate_weights(size)) {}

    bool holds(std::byte value) const {
        return std::all_of(memory.get(), memory.get() + size, [=](std::byte b) { return b == value; });
    }
    void fill(std::byte value) const { std::fill_n(memory.get(), size, value); }

    std::size_t size;
    std::shared_ptr<std::byte> memory;
};

void expect_new(const block &b) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.memory.get()) % 64, 0U) << b.size;
    EXPECT_TRUE(b.holds(std::byte {0})) << b.size;
}

TEST(weights_memory, is_zeros_at_a_cache_line) {
    for (const std::size_t size : {std::size_t {0}, std::size_t {1}, std::size_t {63}, std::size_t {5000},
                 std::size_t {65535}, std::size_t {65536}, std::size_t {300001}, 2 * mebibyte, 33 * mebibyte + 1}) {
        const block b(size);
        expect_new(b);
        b.fill(std::byte {1});
    }
}

TEST(weights_memory, keeps_its_values_while_others_come_and_go) {
    std::deque<block> blocks; // more than a region has
    const auto value_of = [](std::size_t i) { return static_cast<std::byte>(i % 255 + 1); };
    std::size_t first = 0, next = 0;
    for (; next < 400; ++next) {
        const auto &b = blocks.emplace_back(next % 7 == 0 ? 40 * next : 70000 + 3001 * next);
        expect_new(b);
        b.fill(value_of(next));
        if (next % 3 == 0) {
            EXPECT_TRUE(blocks.front().holds(value_of(first++)));
            blocks.pop_front();
        }
    }
    for (std::size_t i = first; i < next; ++i)
        EXPECT_TRUE(blocks[i - first].holds(value_of(i))) << i;
}

/// How many of its pages are resident; those that it shares with others do not count.
std::size_t resident_pages(const std::byte *begin, std::size_t size) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
    const auto bytes = (reinterpret_cast<std::uintptr_t>(begin) + size) / page * page - first;
    std::vector<unsigned char> is_resident(bytes / page);
    EXPECT_EQ(mincore(reinterpret_cast<void *>(first), bytes, is_resident.data()), 0);
    return static_cast<std::size_t>(std::ranges::count_if(is_resident, [](unsigned char c) { return (c & 1) != 0; }));
}

TEST(weights_memory, is_resident_where_it_is_written) {
    const block small(300001);
    small.fill(std::byte {1});
    const block next(mebibyte); // in the same huge page
    EXPECT_EQ(resident_pages(next.memory.get(), next.size), 0U);
    EXPECT_TRUE(small.holds(std::byte {1}));
    const block last(2 * mebibyte); // makes it whole
    EXPECT_TRUE(small.holds(std::byte {1}));
    expect_new(next);
    expect_new(last);
}

TEST(weights_memory, returns_what_is_freed_though_its_neighbours_stay) {
    const block first(5 * mebibyte);
    auto middle = std::make_unique<const block>(5 * mebibyte);
    const block last(5 * mebibyte);
    for (const auto *b : {&first, middle.get(), &last})
        b->fill(std::byte {7});
    const auto *const begin = middle->memory.get();
    EXPECT_GE(resident_pages(begin, middle->size), 5 * mebibyte / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) - 1);
    middle.reset();
    EXPECT_EQ(resident_pages(begin, 5 * mebibyte), 0U);
    EXPECT_TRUE(first.holds(std::byte {7}));
    EXPECT_TRUE(last.holds(std::byte {7}));
}

TEST(weights_memory, of_the_last_one_is_taken_again) {
    const block first(300001);
    first.fill(std::byte {7});
    const auto *const next = block(5 * mebibyte).memory.get();
    for (const std::size_t size : {std::size_t {65536}, std::size_t {300001}, mebibyte, 7 * mebibyte, mebibyte}) {
        const block again(size);
        EXPECT_EQ(again.memory.get(), next) << size;
        expect_new(again);
        again.fill(std::byte {1});
        EXPECT_TRUE(first.holds(std::byte {7})) << size;
    }
    EXPECT_EQ(resident_pages(next, 7 * mebibyte), 0U);
}

TEST(weights_memory, stays_free_as_a_huge_page_gets_whole) {
    const block first(300001);
    first.fill(std::byte {7});
    auto freed = std::make_unique<const block>(mebibyte);
    freed->fill(std::byte {1});
    const auto *const begin = freed->memory.get();
    auto next = std::make_unique<const block>(65536);
    freed.reset(); // the next one stays
    const auto expect_free = [&] { EXPECT_EQ(resident_pages(begin, mebibyte), 0U); };
    expect_free();
    next.reset();
    for (int i = 0; i < 3; ++i) {
        const block other(3 * mebibyte);
        expect_new(other);
        other.fill(std::byte {2});
        expect_free();
    }
    EXPECT_TRUE(first.holds(std::byte {7}));
}

TEST(weights_memory, of_threads) {
    std::vector<std::thread> threads;
    for (int worker = 1; worker <= 4; ++worker)
        threads.emplace_back([worker] {
            for (std::size_t i = 0; i < 50; ++i) {
                const block a(65536 + 64 * i), b(100000);
                expect_new(a);
                a.fill(static_cast<std::byte>(worker));
                expect_new(b);
                EXPECT_TRUE(a.holds(static_cast<std::byte>(worker)));
            }
        });
    for (auto &thread : threads)
        thread.join();
}

} // namespace
} // namespace dynquant::layers
