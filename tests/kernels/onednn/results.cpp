// The onednn kernel is right to the last bit in what it supports: for values worked out by hand, every kind of layout,
// threads and control words. See refusals.cpp for what it refuses.
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>

#include "plain_reorder.hpp"
#include "support/environment.hpp"
#include "support/random.hpp"

namespace dynquant::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr float largest = std::numeric_limits<float>::max(), least = 0x1p-149f;

using enum data_type;

operation onednn(const quantization &q) {
    return prepare(q, {.kernel = kernel_kind::onednn});
}

/// Computes a vector by one scale and at most one zero point, both known.
template <typename Dst, typename Src>
std::vector<Dst> computed(const std::vector<Src> &src, float scale, std::optional<double> zp = {}) {
    const auto size = static_cast<std::int64_t>(src.size());
    const bool quantizing = std::is_same_v<Src, float>;
    const bool is_signed = std::is_signed_v<std::conditional_t<std::is_same_v<Src, float>, Dst, Src>>;
    auto q = statement_of(quantizing ? direction::quantize : direction::dequantize, f32, is_signed ? s8 : u8, {size},
            {size}, zp ? std::optional(s32) : std::nullopt);
    q.scales.values = {scale};
    if (zp) q.zero_points->values = {*zp};
    std::vector<Dst> dst(src.size());
    onednn(q).run({src.data(), nullptr, nullptr, dst.data()});
    return dst;
}

using bytes = std::vector<std::uint8_t>;

TEST(onednn_kernel, names_the_implementation_of_onednn) {
    auto q = statement_of(direction::quantize, f32, u8, {64}, {64});
    q.scales.values = {1};
    const auto info = onednn(q).info();
    EXPECT_EQ(info.kernel, kernel_kind::onednn);
    EXPECT_EQ(info.isa, plain_implementation(q));
}

TEST(onednn_kernel, quantizes_by_hand) {
    struct row {
        std::vector<float> src;
        float scale;
        std::optional<double> zp;
        bytes expected;
    };
    for (const auto &[src, scale, zp, expected] : {
                 // x / 0.5 is 0.5, 1.5, 2.5, -0.5, 127.5, 254.5, 255, 256.
                 row {{0.25f, 0.75f, 1.25f, -0.25f, 63.75f, 127.25f, 127.5f, 128.0f}, 0.5f, {},
                         {0, 2, 2, 0, 128, 254, 255, 255}},
                 row {{nan, -nan, infinity, -infinity, largest, -largest, least, -0.0f}, 4.0f, {},
                         {0, 0, 255, 0, 255, 0, 0, 0}},
                 row {{-1.0f, -0.625f, 1.0f}, -0.25f, {}, {4, 2, 0}},
                 // The smallest and the largest scales: 0.5, 0.75, 1.5, 200 and less than a half; 0.5, 1.5 and just
                 // below 4.
                 row {{0x1p-127f, 0x1.8p-127f, 0x1.8p-126f, 200 * 0x1p-126f, 0x1.fffp-128f}, 0x1p-126f, {},
                         {0, 1, 2, 200, 0}},
                 row {{0x1p125f, 0x1.8p126f, largest}, 0x1p126f, {}, {0, 2, 4}},
                 // x / 0.5 + 3 is 3.5, 2.5, 0, -1, 255, 255.5.
                 row {{0.25f, -0.25f, -1.5f, -2.0f, 126.0f, 126.25f}, 0.5f, 3, {4, 2, 0, 0, 255, 255}},
                 row {{nan, infinity, -infinity, largest, -largest, least}, 0.5f, 128, {0, 255, 0, 255, 0, 128}},
                 row {{0.0f, 1.0f, 150.0f}, 0.5f, -3, {0, 0, 255}},
                 // The sum of 129 and the largest float below 0.5 rounds to 129.5, and that to 130.
                 row {{0x1.fffffep-2f}, 1.0f, 129, {130}},
                 row {{0x1.fffffep-2f}, 1.0f, {}, {0}},
                 // The zero point becomes a float before it is added: INT32_MAX becomes 2^31, and 2^24 + 1 2^24.
                 row {{0x1p30f, 0x1p30f + 128, 0x1p30f - 64, 0.0f}, 0.5f, INT32_MIN, {0, 255, 0, 0}},
                 row {{-0x1p31f, -0x1p31f + 128, 0.0f}, 1.0f, INT32_MAX, {0, 128, 255}},
                 row {{-0x1p24f + 7}, 1.0f, (1 << 24) + 1, {7}},
         })
        EXPECT_EQ(computed<std::uint8_t>(src, scale, zp), expected) << "scale " << scale << ", from " << src[0];
}

TEST(onednn_kernel, dequantizes) {
    using integers = std::vector<std::int8_t>;
    EXPECT_EQ(computed<float>(integers {-128, -1, 0, 1, 127}, 3.0f), (std::vector<float> {-384, -3, 0, 3, 381}));
    // 0.1f is 13421773 * 2^-27; three times that is 10066329.75 * 2^-25.
    EXPECT_EQ(computed<float>(integers {3}, 0.1f), std::vector {10066330 * 0x1p-25f});
    EXPECT_EQ(computed<float>(integers {3, -2}, least), (std::vector {3 * least, -2 * least}));
    EXPECT_EQ(computed<float>(integers {1, -1, 0}, infinity)[0], infinity);
    EXPECT_EQ(computed<float>(integers {1, -1, 0}, infinity)[1], -infinity);
    EXPECT_TRUE(std::isnan(computed<float>(integers {1, -1, 0}, infinity)[2]));
    EXPECT_TRUE(std::isnan(computed<float>(integers {1}, nan)[0]));
    EXPECT_EQ(computed<float>(integers {127, -128}, largest), (std::vector {infinity, -infinity}));
}

TEST(onednn_kernel, dequantizes_with_a_zero_point) {
    EXPECT_EQ(computed<float>(bytes {0, 5, 255}, 0.5f, 255), (std::vector<float> {-127.5f, -125, 0}));
    EXPECT_EQ(computed<float>(std::vector<std::int8_t> {127, -128}, 1.0f, 0x1p24 - 256),
            (std::vector<float> {-16776833, -16777088}));
    EXPECT_EQ(computed<float>(std::vector<std::int8_t> {127, -128}, 1.0f, -0x1p24 + 256),
            (std::vector<float> {16777087, 16776832}));
    // A difference of zero is positive, so the product has the scale's sign.
    EXPECT_FALSE(std::signbit(computed<float>(bytes {7}, 1.0f, 7)[0]));
    EXPECT_TRUE(std::signbit(computed<float>(bytes {7}, -1.0f, 7)[0]));
}

TEST(onednn_kernel, widens_zero_points_given_at_run) {
    auto q = statement_of(direction::dequantize, f32, u8, {2}, {2});
    const bytes src = {0, 200};
    const float scale = 1;
    std::vector<float> dst(2);
    const auto run_with = [&](data_type type, const void *zp) {
        q.zero_points = {type, {2}, {}};
        onednn(q).run({src.data(), &scale, zp, dst.data()});
        return dst;
    };
    const std::int8_t negative = -128;
    const std::uint8_t high = 200;
    EXPECT_EQ(run_with(s8, &negative), (std::vector<float> {128, 328}));
    EXPECT_EQ(run_with(u8, &high), (std::vector<float> {-200, 0}));
}

TEST(onednn_kernel, does_nothing_to_a_tensor_without_elements) {
    const auto q = statement_of(direction::quantize, f32, u8, {3, 0}, {3, 0});
    const auto op = onednn(q);
    EXPECT_EQ(op.info().kernel, kernel_kind::onednn);
    op.run({});
}

struct layout {
    const char *name;
    dims extents, src_strides, dst_strides;
    bool with_zero_point = true;     // src and dst have the same strides
    bool with_unknown_scales = true; // three dims or fewer remain after merging: dequantization keeps -0
};

std::ostream &operator<<(std::ostream &out, const layout &l) {
    return out << l.name;
}

const layout layouts[] = {
        {"scalar", {}, {}, {}},
        {"one_element", {1, 1}, {5, 7}, {3, 2}},
        {"vector", {1009}, {}, {}},
        {"dense", {3, 5, 17}, {}, {}},
        {"channels_last", {2, 3, 5, 7}, {105, 1, 21, 3}, {105, 1, 21, 3}},
        {"to_channels_last", {2, 16, 5, 8}, {}, {640, 1, 128, 16}, false, false},
        {"from_channels_last", {2, 16, 5, 8}, {640, 1, 128, 16}, {}, false, false},
        {"eight_by_eight_transposed", {8, 8}, {}, {1, 8}, false},
        {"gaps", {4, 3, 8}, {40, 13, 1}, {40, 13, 1}},
        {"gaps_in_dst", {4, 3, 8}, {}, {40, 13, 1}, false},
        {"every_second", {65}, {2}, {2}},
        {"every_second_of_src", {65}, {2}, {}, false},
        {"broadcast_rows", {6, 33}, {0, 1}, {}, false},
        {"broadcast_columns", {6, 33}, {1, 0}, {}, false},
        {"broadcast_all", {6, 33}, {0, 0}, {}, false},
        {"strides_of_dims_of_1_do_not_count", {1, 9, 1, 4}, {0, 4, 3, 1}, {1, 4, 2, 1}},
        {"long_run", {1 << 17}, {}, {}},
        {"long_rows", {3, 40000}, {}, {}},
        {"long_rows_from_columns", {3, 40000}, {1, 3}, {}, false},
        {"eight_dims", {2, 3, 2, 3, 2, 3, 2, 3}, {1, 2, 6, 12, 36, 72, 216, 432}, {}, false, false},
        {"eight_dims_too_many_for_jit", {2, 2, 2, 2, 2, 2, 2, 257}, {1, 2, 4, 8, 16, 32, 64, 128}, {}, false, false},
        {"twelve_dims_that_merge", {2, 1, 2, 2, 1, 3, 2, 2, 1, 2, 2, 3}, {}, {}},
};

class onednn_kernel_layouts : public testing::TestWithParam<layout> {
  protected:
    quantization shaped(direction dir, const dims &block, data_type integer) const {
        auto q = statement_of(dir, f32, integer, GetParam().extents, block);
        q.src.strides = GetParam().src_strides;
        q.dst.strides = GetParam().dst_strides;
        return q;
    }

    /// Compares with the oracle on random hard data in guarded memory.
    static void expect_right(const quantization &q) {
        random_source random(static_cast<std::uint64_t>(parameter_count(q)));
        EXPECT_TRUE(computed_right(random_sample(random, q, parameters::mixed), {onednn_variant()}));
    }

    /// Tests known positive scales and, where supported, arbitrary scales given at run.
    static void expect_dequantized_right(quantization q) {
        if (GetParam().with_unknown_scales) expect_right(q);
        for (std::int64_t i = 0; i < parameter_count(q); ++i)
            q.scales.values.push_back(static_cast<double>(0.1f * static_cast<float>(i + 1)));
        expect_right(q);
    }

    static std::vector<double> powers_of_two(std::int64_t count) {
        std::vector<double> result;
        for (std::int64_t i = 0; i < count; ++i)
            result.push_back(std::ldexp(i % 3 == 0 ? -1 : 1, static_cast<int>(i * 37 % 253) - 126));
        return result;
    }
};

TEST_P(onednn_kernel_layouts, quantize_per_tensor) {
    auto q = shaped(direction::quantize, GetParam().extents, u8);
    for (const double scale : {0.125, -2.0, 0x1p-126, 0x1p126}) {
        q.scales.values = {scale};
        q.zero_points.reset();
        expect_right(q);
        if (!GetParam().with_zero_point) continue;
        for (const auto type : {s8, u8, s32}) {
            q.zero_points = {type, GetParam().extents, {}};
            expect_right(q);
        }
    }
}

TEST_P(onednn_kernel_layouts, quantize_per_channel) {
    for (std::size_t axis = 0; axis < GetParam().extents.size(); ++axis) {
        auto q = shaped(direction::quantize, per_channel(GetParam().extents, static_cast<std::int64_t>(axis)), u8);
        q.scales.values = powers_of_two(parameter_count(q));
        expect_right(q);
    }
}

TEST_P(onednn_kernel_layouts, dequantize_per_tensor) {
    for (const auto integer : {s8, u8}) {
        auto q = shaped(direction::dequantize, GetParam().extents, integer);
        expect_dequantized_right(q);
        if (!GetParam().with_zero_point) continue;
        for (const auto type : {s8, u8}) {
            q.zero_points = {type, GetParam().extents, {}};
            expect_dequantized_right(q);
        }
        q.zero_points = {s32, GetParam().extents, {-0x1p24 + 256}};
        expect_dequantized_right(q);
    }
}

TEST_P(onednn_kernel_layouts, dequantize_per_channel) {
    for (std::size_t axis = 0; axis < GetParam().extents.size(); ++axis)
        for (const auto integer : {s8, u8})
            expect_dequantized_right(shaped(
                    direction::dequantize, per_channel(GetParam().extents, static_cast<std::int64_t>(axis)), integer));
}

// Scales and a zero point within the guard, given at run.
TEST_P(onednn_kernel_layouts, quantize_under_mode_any) {
    for (const auto integer : {s8, u8}) {
        auto q = shaped(direction::quantize, GetParam().extents, integer);
        q.rule = numerics::any;
        if (GetParam().with_zero_point) q.zero_points = {s32, GetParam().extents, {}};
        random_source random(7);
        auto drawn = random_sample(random, q, parameters::fast);
        auto src = elements<float>(drawn.in.src);
        std::ranges::replace_if(
                src, [](float x) { return std::isnan(x); }, 1.0f);
        drawn.in.src = bytes_of(src);
        EXPECT_TRUE(computed_right(sample(q, drawn.in), {onednn_variant()}));
    }
}

INSTANTIATE_TEST_SUITE_P(layouts, onednn_kernel_layouts, testing::ValuesIn(layouts), testing::PrintToStringParamName());

TEST(onednn_kernel, converts_nan_under_mode_any_as_onednn_does) {
    auto q = statement_of(direction::quantize, f32, s8, {8}, {8});
    q.rule = numerics::any;
    q.scales.values = {1};
    const std::vector src(8, nan);
    std::vector<std::int8_t> dst(8, 1);
    onednn(q).run({src.data(), nullptr, nullptr, dst.data()});
    EXPECT_EQ(dst, elements<std::int8_t>(*plain_reorder(q, {bytes_of(src), {}, {}})));
}

// Groups with consecutive parameters are the channels of a merged dim.
TEST(onednn_kernel, dequantizes_per_group) {
    const auto q = statement_of(direction::dequantize, f32, s8, {6, 64}, {1, 32});
    random_source random(1);
    EXPECT_TRUE(computed_right(random_sample(random, q, parameters::mixed), {onednn_variant()}));
}

TEST(onednn_kernel, computes_random_statements_as_the_oracle_does) {
    int computed = 0;
    for (std::uint64_t i = 0; i < 1500; ++i) {
        random_source random(i);
        auto s = random_statement(random);
        if (s.q.dir == direction::quantize) { // the kernel supports few random statements of this direction
            s.q.rule = numerics::strict;
            s.q.dst.type = u8;
            s.q.scales.values.resize(static_cast<std::size_t>(parameter_count(s.q)));
            for (auto &scale : s.q.scales.values)
                scale = std::ldexp(1, static_cast<int>(random.within(-126, 126)));
        }
        if (random.chance(50)) s.q.zero_points.reset();
        try {
            onednn(s.q);
        } catch (const error &e) {
            ASSERT_EQ(e.status, status::unimplemented) << e.what();
            continue;
        }
        ++computed;
        ASSERT_TRUE(computed_right(sample(s.q, s.in), {onednn_variant()})) << "statement " << i;
    }
    EXPECT_GT(computed, 300);
}

/// 8 channels of 4 and scales given at run, which oneDNN inverts into its scratchpad.
operation inverts_scales() {
    auto q = statement_of(direction::quantize, f32, u8, {8, 4}, {1, 4});
    q.rule = numerics::any;
    return onednn(q);
}

/// Each call has different scales, and a src whose results all equal the call's number.
bool is_right(const operation &op, int number) {
    const std::vector scales(8, std::ldexp(1.0f, number % 40 - 20));
    const std::vector src(32, static_cast<float>(number) * scales[0]);
    bytes dst(32);
    op.run({src.data(), scales.data(), nullptr, dst.data()});
    return dst == bytes(32, static_cast<std::uint8_t>(number));
}

TEST(onednn_kernel, keeps_calls_of_one_operation_apart) {
    const auto op = inverts_scales();
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 1000; ++i)
                wrong += !is_right(op, 1 + t * 31 + i % 31);
        });
    threads.clear();
    EXPECT_EQ(wrong, 0);
    tbb::parallel_for(0, 16, [&](int i) { // loops of loops
        tbb::parallel_for(0, 64, [&](int j) { wrong += !is_right(op, 1 + (i * 64 + j) % 255); });
    });
    EXPECT_EQ(wrong, 0);
}

#if DYNQUANT_TEST_CONTROL_WORD
/// Calls f on a new thread under this control word. TBB keeps the control word of a thread's first use for its loops.
template <typename F>
void on_new_thread_under(unsigned control, F &&f) {
    std::thread([&] {
        const scoped_control_word set(control);
        f();
    }).join();
}

/// Runs q under control words that change the rounding or flush subnormals. It compares bytes, because under DAZ all
/// subnormal floats are equal.
void expect_the_same_under_control_words(const quantization &q, const oracle::inputs &in,
        const std::vector<std::byte> &expected, const std::vector<unsigned> &controls) {
    for (const auto control : controls)
        on_new_thread_under(control::masks | control, [&] {
            // A plain reorder must differ, or the test could not fail.
            EXPECT_FALSE(*plain_reorder(q, in) == expected) << std::hex << control;
            std::vector<std::byte> dst(expected.size());
            onednn(q).run({in.src.data(), in.scales.data(), nullptr, dst.data()});
            EXPECT_TRUE(dst == expected) << std::hex << control;
            EXPECT_EQ(control_word() & ~control::flags, control::masks | control);
        });
}

TEST(onednn_kernel, quantizes_the_same_under_any_control_word) {
    const std::size_t size = 1 << 20;
    auto q = statement_of(direction::quantize, f32, u8, {1 << 20}, {1 << 20});
    q.scales.values = {0x1p-126};
    std::vector<float> src;
    bytes expected;
    for (std::size_t i = 0; i < size; ++i) { // 0.75 from a subnormal; ties; a quotient that rounds down
        src.push_back(std::vector {0x1.8p-127f, 0x1.4p-125f, 0x1.cp-125f, 0x1.1p-124f}[i % 4]);
        expected.push_back(bytes {1, 2, 4, 4}[i % 4]);
    }
    expect_the_same_under_control_words(q, {bytes_of(src), {}, {}}, bytes_of(expected),
            {control::up, control::down, control::toward_zero, control::ftz | control::daz});
}

TEST(onednn_kernel, dequantizes_the_same_under_any_control_word) {
    const std::size_t size = 1 << 20;
    const auto q = statement_of(direction::dequantize, f32, s8, {2, 1 << 19}, {1, 1 << 19});
    const std::vector scales = {0.1f, least};
    std::vector<float> expected(size, 10066330 * 0x1p-25f); // up from 10066329.75
    std::fill(expected.begin() + size / 2, expected.end(), 3 * least);
    expect_the_same_under_control_words(q, {bytes_of(std::vector<std::int8_t>(size, 3)), bytes_of(scales), {}},
            bytes_of(expected), {control::down, control::toward_zero, control::ftz | control::daz});
}
#endif

} // namespace
} // namespace dynquant::test
