// Makes the tests that it is linked with stream results of every size past the caches, by reporting a tiny last-level
// cache. Otherwise only large tensors are streamed.
#include <algorithm>
#include <atomic>
#include <csignal>

#include <gtest/gtest.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <ucontext.h>
#include <x86intrin.h>
#endif

#include "kernels/native/implementation.hpp"
#include "parallel/executor.hpp"
#include "quantization/environment.hpp"
#include "support/random.hpp"
#include "support/tested_sets.hpp"

namespace {
std::atomic<bool> sysconf_was_called = false;
} // namespace

extern "C" long __sysconf(int name) noexcept; // another name of the C library's sysconf

/// Replaces the C library's sysconf. The thread sanitizer calls it before instrumentation is ready.
extern "C" [[gnu::visibility("default"), gnu::no_sanitize_thread]] long sysconf(int name) noexcept {
    if (name != _SC_LEVEL3_CACHE_SIZE) return __sysconf(name);
    sysconf_was_called = true;
    return 4; // bytes; results beyond fractions of this are streamed
}

namespace dynquant::test {
namespace {

/// A statement of 20,000 elements in groups.
sample dequantized(data_type integer, data_type real, std::int64_t group) {
    const auto q = statement_of(direction::dequantize, real, integer, {10, 2000}, {10, group});
    random_source random(static_cast<std::uint64_t>(group));
    return random_sample(random, q, parameters::tame);
}

/// needs_vectors: scalar code, which needs aligned numbers, is left out.
void expect_right_at(std::size_t offset, const sample &s, bool needs_vectors) {
    guarded_sample guarded(s, {guarded_buffer::place::at_front, 0, offset});
    for (const auto &v : universal_variants()) {
        if (needs_vectors && v.max_isa == isa::scalar) continue;
        ASSERT_TRUE(guarded.computed_right_by(prepare(s.q, v.forced()))) << v << ", offset " << offset;
    }
}

TEST(streamed, the_size_of_the_cache_comes_from_this_program) {
    prepare(dequantized(data_type::u8, data_type::f32, 2000).q, {.kernel = kernel_kind::native});
    EXPECT_TRUE(sysconf_was_called);
}

// oneDNN accepts any address. Here no element begins a cache line, which streaming stores need.
TEST(streamed, reals_may_lie_at_any_byte) {
    using enum data_type;
    for (const auto integer : {u8, s4})
        for (const auto real : {f32, f16, bf16})
            for (const std::int64_t group : {2000, 32, 1})
                for (const std::size_t offset : {1U, 2U, 3U, 63U}) {
                    const auto s = dequantized(integer, real, group);
                    ASSERT_NO_FATAL_FAILURE(expect_right_at(offset, s, true)) << "group of " << group;
                }
}

TEST(streamed, codes_of_groups_may_lie_at_any_byte) {
    using enum data_type;
    for (const auto dst : {s8, u8, f8_e4m3, u4})
        for (const auto src : {f32, bf16})
            for (const std::int64_t group : {16, 32, 64, 100, 1024})
                for (const std::size_t offset : {0U, 1U, 32U, 63U}) {
                    auto q = statement_of(direction::quantize, src, dst, {12800 / group, group}, {1, group});
                    q.rule = numerics::onnx;
                    if (dst == f8_e4m3) q.scales.type = f8_e8m0;
                    q.computed = dst == f8_e4m3 ? presets::mx() : scale_rule {};
                    if (dst == u8 || dst == u4) {
                        q.computed->range = scale_range::minmax;
                        q.zero_points = {dst, q.scales.block, {}};
                    }
                    q.saturate = true;
                    random_source random(static_cast<std::uint64_t>(group));
                    const auto s = random_sample(random, q, parameters::tame);
                    ASSERT_NO_FATAL_FAILURE(expect_right_at(offset, s, false)) << "group of " << group;
                }
}

std::atomic<int> fences = 0;

/// Runs a statement in four parts, one after the other. Each must end with a fence, which orders its stores before
/// whatever tells other threads that the part is done.
void expect_fences_behind_parts(const sample &drawn) {
    static const parallel::executor checking {[] { return 4; },
            [](int parts, void (*function)(const void *body, int index), const void *body) {
                EXPECT_EQ(parts, 4);
                for (int index = 0; index < parts; ++index) {
                    fences = 0;
                    function(body, index);
                    EXPECT_GT(fences, 0) << "part " << index;
                }
            },
            1};
    const parallel::scoped_executor executor(checking);
    const kernels::settings s {environment::usable_features(), 0};
    auto loops = kernels::native::loops_for(s.available);
    loops.fence = [] { ++fences; };
    const auto &q = drawn.q;
    const auto statement = q.computed ? kernels::native::implement_computed(q, s, loops)
                                      : kernels::native::implement(q, canonicalize(q), s, loops);
    guarded_sample guarded(drawn);
    EXPECT_TRUE(guarded.computed_right_by([&](const arguments &args) { statement->run(args); }));
}

TEST(streamed, parts_end_with_a_fence) {
    using enum data_type;
    random_source random(1);
    for (const auto &q : {statement_of(direction::quantize, f32, u8, {256, 1024}, {256, 1024}),
                 statement_of(direction::dequantize, f32, s8, {4096, 64}, {1, 64})})
        expect_fences_behind_parts(random_sample(random, q, parameters::tame));
    // Groups are computed by loops of their own. Rare ones, such as those with a NaN, are statements again.
    auto q = statement_of(direction::quantize, f32, s8, {4096, 32}, {1, 32});
    q.rule = numerics::onnx;
    q.computed = scale_rule {};
    q.saturate = true;
    std::vector<float> ordinary(std::size_t {4096} * 32);
    for (std::size_t i = 0; i < ordinary.size(); ++i)
        ordinary[i] = static_cast<float>(i % 251) + 1;
    oracle::inputs in;
    in.src = bytes_of(ordinary);
    expect_fences_behind_parts({q, in});
}

#if defined(__x86_64__)
std::atomic<int> steps = 0, store_fences = 0;

/// Called by the processor's trap before each instruction: counts those that are sfence.
void count_fences(int, siginfo_t *, void *state) {
    const auto *const next =
            reinterpret_cast<const std::byte *>(static_cast<ucontext_t *>(state)->uc_mcontext.gregs[REG_RIP]);
    constexpr std::byte sfence[] = {std::byte {0x0f}, std::byte {0xae}, std::byte {0xf8}};
    ++steps;
    if (std::equal(std::begin(sfence), std::end(sfence), next)) ++store_fences;
}

// No result shows the order in which other processors see stores, but the instructions that are executed do.
TEST(streamed, vectors_have_a_store_fence) {
    struct sigaction counting = {}, before;
    counting.sa_sigaction = count_fences;
    counting.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGTRAP, &counting, &before), 0);
    constexpr unsigned long long trap_flag = 0x100;
    for (const auto &set : available_sets()) {
        steps = store_fences = 0;
        __writeeflags(__readeflags() | trap_flag);
        set.code->fence();
        __writeeflags(__readeflags() & ~trap_flag);
        if (steps == 0) break;
        EXPECT_EQ(store_fences, set.name == "scalar" ? 0 : 1) << set.name;
    }
    sigaction(SIGTRAP, &before, nullptr);
    if (steps == 0) GTEST_SKIP() << "what runs this has no single steps";
}
#endif

} // namespace
} // namespace dynquant::test
