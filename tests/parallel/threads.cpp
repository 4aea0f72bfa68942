// Results do not depend on the number of threads, the calling thread, or concurrent calls.
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "parallel/executor.hpp"
#include "support/random.hpp"
#include "support/sampling.hpp"

namespace dynquant::test {
namespace {

quantization statement(direction dir, const dims &extents, const dims &block) {
    return statement_of(dir, data_type::f32, data_type::u8, extents, block, data_type::s32);
}

struct types {
    direction dir;
    data_type real, code, scales;
};

/// TBB's executor with parts of 8 Ki elements instead of 96 Ki: tensors of a twelfth of the size split as often.
const parallel::executor small_parts = {parallel::tbb_executor.concurrency, parallel::tbb_executor.run, 8 * 1024};

/// Sizes around those where work is split, and prime sizes.
std::vector<quantization> statements() {
    std::vector<quantization> result;
    for (const auto dir : {direction::quantize, direction::dequantize}) {
        for (const std::int64_t size : {16383, 16384, 24575, 24576, 24577, 100003})
            result.push_back(statement(dir, {size}, {size}));
        result.push_back(statement(dir, {3, 33343}, {3, 1}));          // long rows, a parameter for each column
        result.push_back(statement(dir, {33343, 3}, {33343, 1}));      // short rows
        result.push_back(statement(dir, {7, 11, 1009}, {7, 1, 1009})); // a parameter for each row
        result.push_back(statement(dir, {3001, 9}, {1, 9}));           // the same, and the rows are short
        result.push_back(statement(dir, {601, 49}, {1, 49}));
        result.push_back(statement(dir, {101, 196}, {1, 196}));
        result.push_back(statement(dir, {7, 11, 1009}, {7, 11, 1009}));
        result.back().src.strides = {11 * 1009, 1, 11}; // transposed
        result.push_back(statement(dir, {5, 33, 9, 19}, {5, 1, 9, 19}));
        result.back().dst.strides = {33 * 171, 1, 19 * 33, 33}; // nhwc, channels in the middle
        result.push_back(statement(dir, {3331, 3, 3}, {3331, 1, 3}));
        result.push_back(statement(dir, {193, 103}, {32, 1})); // the last block is short
    }
    using enum data_type;
    constexpr auto quantize = direction::quantize, dequantize = direction::dequantize;
    for (const auto &[dir, real, code, scales] :
            {types {dequantize, bf16, s4, f16}, {quantize, f16, u4, f32}, {quantize, bf16, s4, bf16},
                    {dequantize, f32, u4, f32}, {quantize, f32, f6_e2m3, f8_e4m3}, {dequantize, f16, f6_e3m2, f32}})
        for (const auto &[extents, block] : {// rows of odd lengths share bytes
                     std::pair {dims {8, 4096}, dims {8, 32}}, {{10923, 3}, {10923, 3}}, {{3, 10923}, {3, 3}},
                     {{19, 3, 333}, {19, 3, 3}}, {{193, 106}, {193, 32}}, {{193, 106}, {32, 1}},
                     {{193, 105}, {193, 32}}}) {
            auto q = statement_of(dir, real, code, extents, block);
            q.scales.type = scales;
            if (is_integer(code))
                q.zero_points = {s32, block, {}};
            else
                q.rule = numerics::onnx;
            result.push_back(q);
        }
    for (const auto dst : {s8, u4, f8_e4m3, f6_e2m3}) // computed scales of groups, whose codes may share bytes
        for (const auto &[rows, columns, group] :
                {std::tuple {8, 4096, 32}, {3, 10923, 11}, {193, 128, 16}, {1021, 33, 33}, {11, 4096, 4096}}) {
            auto q = statement_of(quantize, f32, dst, {rows, columns}, {1, group});
            q.rule = numerics::onnx;
            q.computed = is_integer(dst) ? scale_rule {} : presets::mx();
            if (!is_integer(dst)) q.scales.type = f8_e8m0;
            if (dst == u4) {
                q.computed->range = scale_range::minmax;
                q.zero_points = {u4, q.scales.block, {}};
            }
            result.push_back(q);
        }
    return result;
}

class threads : public testing::TestWithParam<int> {
  protected:
    threads() {
        random_source random(static_cast<std::uint64_t>(GetParam()));
        // Tame: many rows of other parameters would not all be in the guard, and so not run over their ends.
        drawn = random_sample(random, statements()[static_cast<std::size_t>(GetParam())], parameters::tame);
    }

    const parallel::scoped_executor executor {small_parts};
    sample drawn;
};

TEST_P(threads, as_set_in_options) {
    guarded_sample guarded(drawn);
    case_sampler sampler;
    for (const auto &v : variants_for(drawn))
        for (const int count : {1, 2, 3, 4, 5, 7, 8, 11, 16}) {
            if (!sampler.takes()) continue;
            auto forced = v.forced();
            forced.threads = count;
            ASSERT_TRUE(guarded.computed_right_by(prepare(drawn.q, forced))) << v << ", " << count << " threads";
        }
}

TEST_P(threads, as_the_arena_of_the_caller_has_them) {
    guarded_sample guarded(drawn);
    case_sampler sampler;
    for (const auto &v : variants_for(drawn)) {
        const auto op = prepare(drawn.q, v.forced());
        for (int count = 1; count <= 16; count += 3) {
            if (!sampler.takes()) continue;
            tbb::task_arena(count).execute(
                    [&] { ASSERT_TRUE(guarded.computed_right_by(op)) << v << ", arena of " << count; });
        }
    }
}

TEST_P(threads, inside_another_parallel_loop) {
    case_sampler sampler;
    for (const auto &v : variants_for(drawn)) {
        if (!sampler.takes()) continue;
        const auto op = prepare(drawn.q, v.forced());
        tbb::parallel_for(0, 3, [&](int) {
            const parallel::scoped_executor of_this_thread(small_parts);
            EXPECT_TRUE(guarded_sample(drawn).computed_right_by(op)) << v;
        });
    }
}

// The group of the caller's task may be cancelled, by itself or by another task's exception. What runs is completed.
TEST_P(threads, in_a_cancelled_group_of_tasks) {
    case_sampler sampler;
    for (const auto &v : variants_for(drawn)) {
        if (!sampler.takes()) continue;
        const auto op = prepare(drawn.q, v.forced());
        tbb::task_arena(4).execute([&] {
            tbb::task_group group;
            group.run_and_wait([&] {
                group.cancel();
                const parallel::scoped_executor of_this_thread(small_parts);
                EXPECT_TRUE(guarded_sample(drawn).computed_right_by(op)) << v;
            });
        });
    }
}

INSTANTIATE_TEST_SUITE_P(statements, threads, testing::Range(0, static_cast<int>(statements().size())));

/// Runs op from many threads at once, each with different parameters. Calls must not affect each other.
void expect_runs_apart(const operation &op, const quantization &q) {
    constexpr int callers = 8, repeats = 20;
    std::vector<sample> samples;
    for (int caller = 0; caller < callers; ++caller) {
        random_source random(static_cast<std::uint64_t>(caller));
        samples.push_back(random_sample(random, q, parameters::fast));
    }
    std::vector<std::jthread> running;
    for (const auto &s : samples)
        running.emplace_back([&op, &s] {
            const parallel::scoped_executor of_this_thread(small_parts);
            guarded_sample guarded(s);
            for (int i = 0; i < repeats; ++i)
                ASSERT_TRUE(guarded.computed_right_by(op));
        });
}

TEST(concurrent_runs, of_one_operation_do_not_mix) {
    const parallel::scoped_executor executor(small_parts);
    for (const auto &q :
            {statement(direction::quantize, {64, 257}, {64, 257}), statement(direction::quantize, {64, 257}, {64, 1}),
                    statement(direction::quantize, {150, 150}, {1, 150}),
                    statement(direction::dequantize, {64, 257}, {1, 257}),
                    statement(direction::dequantize, {150, 150}, {150, 1})})
        for (const auto &v : universal_variants())
            expect_runs_apart(prepare(q, v.forced()), q);
}

#if DYNQUANT_TEST_ONEDNN
TEST(concurrent_runs, of_one_onednn_operation_do_not_mix) {
    const parallel::scoped_executor executor(small_parts);
    for (const auto &block : {dims {64, 257}, dims {64, 1}, dims {1, 257}}) {
        auto q = statement(direction::dequantize, {64, 257}, block);
        q.zero_points.reset();
        ASSERT_TRUE(onednn_must_compute(q));
        expect_runs_apart(prepare(q, onednn_variant().forced()), q);
    }
}
#endif

} // namespace
} // namespace dynquant::test
