// Results do not depend on the caller's rounding mode, flushing of subnormals and trapped exceptions, which do not
// change.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <sstream>

#include "support/environment.hpp"
#include "support/random.hpp"
#if DYNQUANT_TEST_ONEDNN
#include "support/single_op.hpp"
#endif

#if DYNQUANT_TEST_CONTROL_WORD

namespace dynquant::test {
namespace {

std::vector<unsigned> roundings_and_flushings() {
    std::vector<unsigned> result;
    for (const unsigned rounding : {0u, control::down, control::up, control::toward_zero})
        for (const unsigned flushing : {0u, control::ftz, control::daz, control::ftz | control::daz})
            result.push_back(rounding | flushing);
    return result;
}

/// Statements with subnormal scales and results, ties, overflow and invalid operations. Small statements run in the
/// caller, large ones also in TBB's threads.
std::vector<sample> samples() {
    std::vector<sample> result;
    for (const std::int64_t channels : {3, 1100})
        for (const auto dir : {direction::quantize, direction::dequantize})
            for (const bool with_zps : {false, true}) {
                const auto zps = with_zps ? std::optional(data_type::s32) : std::nullopt;
                const auto q = statement_of(dir, data_type::f32, data_type::s8, {channels, 200}, {1, 200}, zps);
                random_source random(static_cast<std::uint64_t>(channels));
                result.push_back(random_sample(random, q, parameters::mixed));
            }
    return result;
}

/// Runs f under this control word, and returns that afterwards.
template <typename F>
unsigned run_with(unsigned control, const F &f) {
    const scoped_control_word set(control);
    f();
    return control_word();
}

class float_environment : public testing::TestWithParam<unsigned> {
  protected:
    /// TBB's default arena inherits the control word of the thread that creates it. It is created here, before a test
    /// changes the control word, because other tests compute in it.
    static void SetUpTestSuite() {
        tbb::parallel_for(0, 2, [](int) {});
    }

    /// run(f) calls f.
    template <typename Run>
    static void expect_right_under_control_words(const Run &run) {
        // Exceptions masked, masked with some flags already raised, and all trapped.
        const unsigned control_words[] = {
                GetParam() | control::masks, GetParam() | control::masks | control::some_flags, GetParam()};
        for (const auto &s : samples())
            for (const auto &v : variants_for(s)) {
                const auto op = prepare(s.q, v.forced());
                std::vector<std::byte> dst(s.expected.size());
                const arguments args = {s.in.src.data(), s.in.scales.data(), s.in.zero_points.data(), dst.data()};
                for (const auto control : control_words) {
                    std::ranges::fill(dst, guarded_buffer::pattern);
                    const auto after = run_with(control, [&] { run([&] { op.run(args); }); });
                    ASSERT_EQ(after, control) << v;
                    ASSERT_TRUE(result_right(s, dst)) << v << ", control word " << std::hex << control;
                }
            }
    }
};

TEST_P(float_environment, of_the_caller_neither_matters_nor_changes) {
    expect_right_under_control_words([](const auto &f) { f(); });
}

// A TBB arena that is made under this control word passes it to its threads.
TEST_P(float_environment, of_worker_threads_does_not_matter) {
    expect_right_under_control_words([](const auto &f) { tbb::task_arena(4).execute(f); });
}

// A tensor beyond the caches, whose scale all threads compute together: parameters are computed by the caller.
TEST_P(float_environment, of_computed_scales_does_not_matter) {
    constexpr std::int64_t count = 1 << 20;
    auto q = statement_of(direction::quantize, data_type::f32, data_type::u8, {count}, {count}, data_type::u8);
    q.rule = numerics::onnx;
    q.computed = presets::onnx();
    // 3 / 255 is 0x1.8181818...p-7, and half a unit is 42.5 steps, a tie. With units of 2^-130 all is subnormal:
    // 3 * 2^-130 / 255 is 6168.09 * 2^-149, and half a unit is 42.5006 steps.
    struct range {
        float unit, scale;
        int half;
    };
    for (const auto &[unit, scale, half] : {range {1, 0x1.818182p-7F, 42}, range {0x1p-130F, 0x1.818p-137F, 43}}) {
        std::vector<float> src(count, unit / 2);
        src[7] = -unit;
        src[count - 1] = 2 * unit;
        for (const auto &v : universal_variants())
            for (const auto control : {GetParam() | control::masks, GetParam()}) {
                std::vector<std::uint8_t> dst(count);
                float found = 0;
                std::uint8_t zero_point = 0;
                const auto op = prepare(q, v.forced());
                const arguments args = {src.data(), nullptr, nullptr, dst.data(), nullptr, &found, &zero_point};
                const auto after = run_with(control, [&] { op.run(args); });
                ASSERT_EQ(after, control) << v;
                EXPECT_EQ(found, scale) << v;
                EXPECT_EQ(zero_point, 85) << v;
                EXPECT_EQ(dst[7], 0) << v;
                EXPECT_EQ(dst[0], 85 + half) << v;
                EXPECT_EQ(dst[count - 1], 255) << v;
            }
    }
}

// prepare() converts known parameters. Subnormal ones must survive, and nothing may trap.
TEST_P(float_environment, of_prepare_does_not_matter) {
    for (const auto dir : {direction::quantize, direction::dequantize}) {
        auto q = statement_of(dir, data_type::f32, data_type::s8, {2, 5}, {2, 1}, data_type::s32);
        q.scales.values = {0x1p-149, 0x1.8p-140, 0.1f, 1, 0x1.fffffep127};
        q.zero_points->values = {0, 1, 2, 3, (1 << 24) + 1};
        random_source random(0);
        const auto s = random_sample(random, q, parameters::tame);
        for (const auto &v : universal_variants())
            for (const auto control : {GetParam() | control::masks, GetParam()}) {
                std::vector<std::byte> dst(s.expected.size());
                const auto after = run_with(control, [&] {
                    prepare(q, v.forced()).run({s.in.src.data(), nullptr, nullptr, dst.data()});
                });
                EXPECT_TRUE(result_right(s, dst)) << v << ", control word " << std::hex << control;
                EXPECT_EQ(after, control) << v;
            }
    }
}

#if DYNQUANT_TEST_ONEDNN
// compile() converts the scales, which are an attribute in the graph API.
TEST_P(float_environment, of_compile_does_not_matter) {
    const single_op quantize {.kind = dg::op::kind::Quantize, .shape = {3}, .scales = {0x1p-149f}};
    const single_op dequantize {.kind = dg::op::kind::Dequantize, .shape = {3}, .scales = {0x1p-149f}};
    for (const auto &v : universal_variants())
        for (const auto control : {GetParam() | control::masks, GetParam()}) {
            std::vector<int> integers;
            std::vector<float> reals;
            const std::vector<float> src = {0x1p-149f, -0x1.8p-148f, 1};
            run_with(control, [&] {
                integers = quantize.quantize(v, src);
                reals = dequantize.dequantize(v, {1, -3, 127});
            });
            EXPECT_EQ(integers, (std::vector<int> {1, -3, 127})) << v << ", control word " << std::hex << control;
            EXPECT_EQ(reals, (std::vector<float> {0x1p-149f, -0x1.8p-148f, 0x1.fcp-143f})) << v;
        }
}
#endif

INSTANTIATE_TEST_SUITE_P(
        control_words, float_environment, testing::ValuesIn(roundings_and_flushings()), [](const auto &value) {
            std::ostringstream name;
            name << "control_word_" << std::hex << value.param;
            return name.str();
        });

} // namespace
} // namespace dynquant::test

#endif
