// The tests that this is linked with, on a machine of next to no last-level cache: results of every size are streamed
// past the caches, which otherwise only large tensors are.
#include <atomic>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/random.hpp"

namespace {
std::atomic<bool> asked = false;
} // namespace

extern "C" long __sysconf(int name) noexcept; // the C library's, by its second name

/// In place of the C library's. The thread sanitizer calls it before it can watch it.
extern "C" [[gnu::visibility("default"), gnu::no_sanitize_thread]] long sysconf(int name) noexcept {
    if (name != _SC_LEVEL3_CACHE_SIZE) return __sysconf(name);
    asked = true;
    return 4; // bytes, of which a quarter is worth streaming
}

namespace dynquant::test {
namespace {

/// 20,000 elements in groups.
sample dequantized(data_type integer, data_type real, std::int64_t group) {
    quantization q;
    q.dir = direction::dequantize;
    q.src = {integer, {10, 2000}, {}};
    q.dst = {real, {10, 2000}, {}};
    q.scales = {data_type::f32, {10, group}, {}};
    random_source random(static_cast<std::uint64_t>(group));
    return random_sample(random, q, parameters::tame);
}

TEST(streamed, the_size_of_the_cache_is_what_this_says) {
    prepare(dequantized(data_type::u8, data_type::f32, 2000).q, {.kernel = kernel_kind::native});
    EXPECT_TRUE(asked);
}

// oneDNN takes any address. No element begins a cache line, where streaming stores would have to.
TEST(streamed, reals_may_lie_at_any_byte) {
    using enum data_type;
    for (const auto integer : {u8, s4})
        for (const auto real : {f32, f16, bf16})
            for (const std::int64_t group : {2000, 32, 1})
                for (const std::size_t offset : {1U, 2U, 3U, 63U}) {
                    const auto s = dequantized(integer, real, group);
                    guarded_sample placed(s, {guarded_buffer::place::at_front, 0, offset});
                    for (const auto &v : universal_variants()) {
                        if (v.max_isa == isa::scalar) continue; // which knows aligned numbers only
                        ASSERT_TRUE(placed.computed_right_by(prepare(s.q, v.forced())))
                                << v << ", group of " << group << ", offset " << offset;
                    }
                }
}

} // namespace
} // namespace dynquant::test
