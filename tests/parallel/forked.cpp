// A child of fork() computes, whatever other threads of its parent did: on one thread if the parent had used several.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_group.h>
#include <unistd.h>

#include "dynquant/quantization.hpp"
#include "parallel/executor.hpp"
#include "parallel/parallel.hpp"
#include "support/program.hpp"

namespace dynquant::test {
namespace {

class forked : public testing::Test {
  protected:
    void SetUp() override {
        if (THREAD_SANITIZER) // set by CMakeLists.txt
            GTEST_SKIP() << "the thread sanitizer supports no threads in a child of a process with threads";
    }
};

/// Whether a tensor that two threads would share is quantized right.
bool quantizes_right() {
    constexpr std::int64_t elements = std::int64_t {1} << 18;
    quantization q;
    q.src = {data_type::f32, {elements}, {}};
    q.dst = {data_type::u8, {elements}, {}};
    q.scales = {data_type::f32, {elements}, {}};
    static const auto op = prepare(q, {.threads = 2});
    static const std::vector<float> src(elements, 21);
    std::vector<std::uint8_t> dst(elements);
    const float scale = 0.5F;
    op.run({src.data(), &scale, nullptr, dst.data()});
    return dst == std::vector<std::uint8_t>(elements, 42);
}

// First, because it is about a process that has used one thread only.
TEST_F(forked, a_child_of_one_thread_uses_its_own) {
    EXPECT_TRUE(holds_in_a_child([] { return parallel::concurrency() == parallel::machine_threads(); }));
    EXPECT_TRUE(holds_in_a_child(quantizes_right));
}

TEST_F(forked, a_child_of_several_threads_runs_every_part_itself_without_tbb) {
    ASSERT_TRUE(quantizes_right());
    const auto runs_alone = [] {
        std::atomic<int> calls = 0, in_tbb = 0;
        const auto look = [&] {
            ++calls;
            in_tbb += tbb::task::current_context() != nullptr;
        };
        parallel::for_each_part(4, 4, [&](parallel::range) { look(); });
        parallel::run_controlled(look);
        parallel::run_controlled(look, 2);
        return calls == 6 && in_tbb == 0 && parallel::concurrency() == 1;
    };
    EXPECT_FALSE(runs_alone()) << "here TBB is used";
    EXPECT_TRUE(holds_in_a_child(runs_alone));
    EXPECT_TRUE(holds_in_a_child([&] { return bool(holds_in_a_child(runs_alone)); })) << "in a child's child";
    EXPECT_TRUE(holds_in_a_child(quantizes_right));
}

// TBB's locks are held at a few of these calls of fork().
TEST_F(forked, a_child_computes_while_its_parent_does) {
    std::atomic<bool> stop = false;
    std::jthread working([&] {
        while (!stop) {
            std::atomic<int> sum = 0;
            parallel::for_each_part(4, 4, [&](parallel::range part) { sum += static_cast<int>(part.begin); });
            usleep(50); // workers fall asleep and are woken again
        }
    });
    ASSERT_TRUE(quantizes_right());
    testing::AssertionResult right = testing::AssertionSuccess();
    for (int i = 0; i < 400 && right; ++i)
        right = holds_in_a_child([] { return quantizes_right() && quantizes_right(); }) << ", child " << i;
    EXPECT_TRUE(right);
    stop = true;
}

} // namespace
} // namespace dynquant::test
