// The caller's rounding mode, flushing of subnormals and trapped exceptions neither matter nor change.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include "support/environment.hpp"
#include "support/random.hpp"

#if defined(__x86_64__)

namespace dynquant::test {
namespace {

std::vector<unsigned> roundings_and_flushings() {
    std::vector<unsigned> result;
    for (const unsigned rounding : {0u, mxcsr::down, mxcsr::up, mxcsr::toward_zero})
        for (const unsigned flushing : {0u, mxcsr::ftz, mxcsr::daz, mxcsr::ftz | mxcsr::daz})
            result.push_back(rounding | flushing);
    return result;
}

/// Statements with subnormal scales and results, ties, overflow and invalid operations. Small ones run in
/// the caller, large ones also in TBB's threads.
std::vector<sample> samples() {
    std::vector<sample> result;
    for (const std::int64_t channels : {3, 700})
        for (const auto dir : {direction::quantize, direction::dequantize})
            for (const bool with_zps : {false, true}) {
                const dims extents = {channels, 200};
                quantization q;
                q.dir = dir;
                const bool quantizing = dir == direction::quantize;
                q.src = {quantizing ? data_type::f32 : data_type::s8, extents, {}};
                q.dst = {quantizing ? data_type::s8 : data_type::f32, extents, {}};
                q.scales = {data_type::f32, {1, 200}, {}};
                if (with_zps) q.zero_points = {data_type::s32, {1, 200}, {}};
                random_source random(static_cast<std::uint64_t>(channels));
                result.push_back(random_sample(random, q, parameters::mixed));
            }
    return result;
}

/// Runs with MXCSR set, and gives what is in MXCSR after.
unsigned run_with(unsigned control, const operation &op, const arguments &args) {
    const scoped_mxcsr set(control);
    op.run(args);
    return _mm_getcsr();
}

/// The same in an arena made while MXCSR is set: it hands it to its threads.
unsigned run_in_arena_with(unsigned control, const operation &op, const arguments &args) {
    const scoped_mxcsr set(control);
    tbb::task_arena(4).execute([&] { op.run(args); });
    return _mm_getcsr();
}

class float_environment : public testing::TestWithParam<unsigned> {
  protected:
    template <typename Run>
    static void expect_right_under_control_words(const Run &run) {
        // Exceptions masked, masked with some flags already raised, and all trapped.
        const unsigned control_words[] = {
                GetParam() | mxcsr::masks, GetParam() | mxcsr::masks | mxcsr::some_flags, GetParam()};
        for (const auto &s : samples())
            for (const auto &v : variants_for(s)) {
                const auto op = prepare(s.q, v.forced());
                std::vector<std::byte> dst(s.expected.size());
                for (const auto control : control_words) {
                    std::ranges::fill(dst, guarded_buffer::pattern);
                    const auto after = run(
                            control, op, {s.in.src.data(), s.in.scales.data(), s.in.zero_points.data(), dst.data()});
                    ASSERT_EQ(after, control) << v;
                    ASSERT_TRUE(result_right(s, dst)) << v << ", MXCSR " << std::hex << control;
                }
            }
    }
};

TEST_P(float_environment, of_the_caller_neither_matters_nor_changes) {
    expect_right_under_control_words(run_with);
}

TEST_P(float_environment, of_worker_threads_does_not_matter) {
    expect_right_under_control_words(run_in_arena_with);
}

INSTANTIATE_TEST_SUITE_P(
        control_words, float_environment, testing::ValuesIn(roundings_and_flushings()), [](const auto &value) {
            std::ostringstream name;
            name << "mxcsr_" << std::hex << value.param;
            return name.str();
        });

} // namespace
} // namespace dynquant::test

#endif
