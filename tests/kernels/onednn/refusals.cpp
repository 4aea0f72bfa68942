// The onednn kernel refuses what oneDNN computes wrong: beside each refusal a plain dnnl::reorder gives a wrong result.
// Where some versions of oneDNN are right, the test names the versions.
#include <cmath>
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

#include "plain_reorder.hpp"
#include "quantization/shape.hpp"
#include "support/direct.hpp"
#include "support/environment.hpp"

namespace dynquant::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

quantization quantize_statement(const dims &extents, const dims &block, data_type dst = data_type::u8) {
    return statement_of(direction::quantize, data_type::f32, dst, extents, block);
}

quantization dequantize_statement(const dims &extents, const dims &block) {
    return statement_of(direction::dequantize, data_type::f32, data_type::s8, extents, block);
}

/// A statement of this shape that the kernel accepts until a test changes it.
quantization usual(const dims &extents) {
    auto q = quantize_statement(extents, extents);
    q.scales.values = {1};
    return q;
}

/// The reason why the kernel refuses the statement; empty if it accepts.
std::string refusal(const quantization &q) {
    const std::string prefix = "kernel: 'onednn' was asked for but cannot compute this: ";
    try {
        prepare(q, {.kernel = kernel_kind::onednn});
        return "";
    } catch (const error &e) {
        EXPECT_EQ(e.status, status::unimplemented);
        EXPECT_EQ(std::string(e.what()).substr(0, prefix.size()), prefix);
        return std::string(e.what()).substr(prefix.size());
    }
}

/// oneDNN's dst; empty if oneDNN refuses.
template <typename Dst, typename Src>
std::vector<Dst> by_onednn(const quantization &q, const std::vector<Src> &src, const std::vector<float> &scales = {},
        const std::vector<std::int32_t> &zps = {}) {
    const auto dst = plain_reorder(q, {bytes_of(src), bytes_of(scales), bytes_of(zps)});
    return dst ? elements<Dst>(*dst) : std::vector<Dst> {};
}

/// A statement with dims n, 2, ..., 2, n. src is row-major and dst column-major, so no dims merge.
quantization reversed(std::size_t rank, std::int64_t n) {
    dims extents(rank, 2), strides(rank, 1);
    extents.front() = extents.back() = n;
    for (std::size_t d = 1; d < rank; ++d)
        strides[d] = strides[d - 1] * extents[d - 1];
    auto q = usual(extents);
    q.dst.strides = strides;
    return q;
}

// 10.85f / 0.7f is 15.49999945 and rounds to 15. 1 / 0.7f rounds up, the product to 15.5, and that to 16.
constexpr float near_a_tie = 10.8499994f, no_power_of_two = 0.7f;

TEST(onednn_kernel_refuses, quantize_by_known_parameters_that_need_a_division) {
    const std::string no_powers = "not all scales are powers of two from 2^-126 to 2^126, for which multiplying by a "
                                  "reciprocal is exact";
    struct row {
        numerics rule;
        double scale;
        std::optional<double> zp;
        float src;
        std::uint8_t by_onednn; // wrong
        std::string reason;
    };
    for (const auto &[rule, scale, zp, src, wrong, reason] : {
                 row {numerics::strict, no_power_of_two, {}, near_a_tie, 16, no_powers},
                 // 3 * 2^-128 / 2^-128 is 3. The reciprocal of 2^-128 is infinite.
                 row {numerics::strict, 0x1p-128, {}, 0x1.8p-127f, 255, no_powers},
                 // Outside the guard `any` is strict: 3 * 2^-130 / (1.5 * 2^-130) is 2. The scale's reciprocal is
                 // infinite.
                 row {numerics::any, 0x1.8p-130, {}, 0x1.8p-129f, 255,
                         "not all scales are from 2^-75 to 2^75, and beyond that results must be those of a division"},
                 // -5872019 / 0.7f is -8388598.71, as a float -8388598.5; with the zp 9.5, which rounds to 10.
                 // Multiplied by the reciprocal it is -8388599.
                 row {numerics::any, no_power_of_two, 0x1p23, -5872019.0f, 9,
                         "not all zero points are below 2^20, and beyond that results must be those of a division"},
         }) {
        auto q = quantize_statement({1}, {1});
        q.rule = rule;
        q.scales.values = {scale};
        if (zp) q.zero_points = {data_type::s32, {1}, {*zp}};
        EXPECT_EQ(refusal(q), reason);
        EXPECT_EQ(by_onednn<std::uint8_t>(q, std::vector {src}), std::vector {wrong});
    }
    for (const double scale : {0x1.fffffep-76, 0x1.000002p75, -0x1p76, 0.0, static_cast<double>(infinity)}) {
        auto q = quantize_statement({1}, {1});
        q.rule = numerics::any;
        q.scales.values = {scale};
        EXPECT_NE(refusal(q), "") << scale;
    }
}

TEST(onednn_kernel_refuses, strict_quantize_by_scales_given_at_run) {
    const auto q = quantize_statement({1}, {1});
    EXPECT_EQ(refusal(q),
            "the scales are not known beforehand, and multiplying by a reciprocal is exact for powers of two only");
    EXPECT_EQ(by_onednn<std::uint8_t>(q, std::vector {near_a_tie}, {no_power_of_two}), std::vector<std::uint8_t> {16});
}

// One channel suffices.
TEST(onednn_kernel_refuses, strict_quantize_by_one_channels_scale) {
    auto q = quantize_statement({2, 1}, {1, 1});
    q.scales.values = {0.5, no_power_of_two};
    EXPECT_NE(refusal(q), "");
    EXPECT_EQ(by_onednn<std::uint8_t>(q, std::vector {4.0f, near_a_tie}), (std::vector<std::uint8_t> {8, 16}));
}

#if defined(__x86_64__)
// 2^127 / 2^127 is 1. The reciprocal of 2^127 is subnormal, and 0 where subnormals are flushed.
TEST(onednn_kernel_refuses, strict_quantize_by_powers_of_two_with_a_subnormal_reciprocal) {
    auto q = quantize_statement({1}, {1});
    q.scales.values = {0x1p127};
    EXPECT_NE(refusal(q), "");
    const scoped_control_word flushing(control::power_on | control::ftz | control::daz);
    EXPECT_EQ(by_onednn<std::uint8_t>(q, std::vector {0x1p127f}), std::vector<std::uint8_t> {0});
}
#endif

// NaN gives -128. oneDNN's result depends on the implementation that it selects by the layout: NaN gives 127 for dense
// tensors before 3.7 (and later without AVX), and 0 for this many dims.
TEST(onednn_kernel_refuses, strict_quantize_to_s8) {
    auto q = quantize_statement({2, 2, 2, 2, 2, 2, 2, 257}, {2, 2, 2, 2, 2, 2, 2, 257}, data_type::s8);
    q.scales.values = {1};
    q.src.strides = {1, 2, 4, 8, 16, 32, 64, 128};
    EXPECT_EQ(refusal(q), "dst is s8, and a reorder may turn NaN into 0 or 127");
    const std::size_t size = 128 * 257;
    EXPECT_NE(by_onednn<std::int8_t>(q, std::vector(size, nan)), std::vector<std::int8_t>(size, -128));

    auto dense = quantize_statement({8}, {8}, data_type::s8);
    dense.scales.values = {1};
    EXPECT_NE(refusal(dense), "");
    if (onednn_older_than(3, 3)) {
        EXPECT_EQ(by_onednn<std::int8_t>(dense, std::vector(8, nan)), std::vector<std::int8_t>(8, 127));
    }
}

// 1 - (2^24 + 1) is -2^24. As a float the zp is 2^24, and the difference -2^24 + 1.
TEST(onednn_kernel_refuses, dequantize_with_zps_that_are_no_floats) {
    auto q = dequantize_statement({1}, {1});
    q.scales.values = {1};
    q.zero_points = {data_type::s32, {1}, {0x1p24 + 1}};
    EXPECT_EQ(refusal(q), "the zero point is beyond 2^24 - 256, and a reorder subtracts it as a float");
    const std::vector<std::int8_t> src = {1};
    EXPECT_EQ(by_onednn<float>(q, src), std::vector {-0x1p24f + 1});

    q.zero_points->values.clear();
    EXPECT_EQ(refusal(q), "the s32 zero point is not known beforehand, and a reorder subtracts it as a float");
    EXPECT_EQ(by_onednn<float>(q, src, {}, {(1 << 24) + 1}), std::vector {-0x1p24f + 1});
}

// 0 * -1 is -0. For tensors with too many dims for its generated code oneDNN adds 0, which gives 0.
TEST(onednn_kernel_refuses, dequantize_in_many_dims_by_scales_that_may_not_be_positive) {
    const dims extents = {2, 2, 2, 2, 2, 2, 2, 257};
    auto q = dequantize_statement(extents, extents);
    q.src.strides = {1, 2, 4, 8, 16, 32, 64, 128};
    const std::string reason = "scales may be negative or zero, and in tensors of this size or so many dims a reorder "
                               "loses the sign of -0";
    EXPECT_EQ(refusal(q), reason);
    q.scales.values = {-1};
    EXPECT_EQ(refusal(q), reason);
    const auto dst = by_onednn<float>(q, std::vector<std::int8_t>(128 * 257));
    EXPECT_EQ(plain_implementation(q), "simple:any");
    EXPECT_FALSE(std::signbit(dst.at(0)));
    q.scales.values = {1};
    EXPECT_EQ(refusal(q), "");
}

// Nothing is allocated for these sizes.
TEST(onednn_kernel_refuses, dequantize_over_long_distances_by_scales_that_may_not_be_positive) {
    auto q = dequantize_statement({2, 2}, {2, 2});
    q.src.strides = {1, std::int64_t {1} << 31};
    EXPECT_NE(refusal(q), "");
    EXPECT_EQ(plain_implementation(q), "simple:any");
    // The bound is 1 GiB of f32; oneDNN's own is about 2 GiB.
    EXPECT_EQ(refusal(dequantize_statement({1 << 28}, {1 << 28})), "");
    EXPECT_NE(refusal(dequantize_statement({(1 << 28) + 1}, {(1 << 28) + 1})), "");
}

// 1 / 1 + 10 and 2 / 1 + 20, and back. To quantize oneDNN 3.2 and 3.7 refuse, 3.13 adds 10 to both.
TEST(onednn_kernel_refuses, zps_per_channel) {
    auto quantize = quantize_statement({2, 1}, {1, 1}), dequantize = dequantize_statement({2, 1}, {1, 1});
    for (auto *const q : {&quantize, &dequantize}) {
        q->scales.values = {1, 1};
        q->zero_points = {data_type::s32, {1, 1}, {10, 20}};
        EXPECT_EQ(refusal(*q), "the zero points differ by channel, and a reorder uses only the first");
    }
    EXPECT_NE(by_onednn<std::uint8_t>(quantize, std::vector {1.0f, 2.0f}), (std::vector<std::uint8_t> {11, 22}));
    EXPECT_NE(by_onednn<float>(dequantize, std::vector<std::int8_t> {11, 22}), (std::vector<float> {1, 2}));
}

// 1 / 1 + 10 is 11. oneDNN 3.2 forgets the zp where src is dense and dst is not, later ones do not.
TEST(onednn_kernel_refuses, a_zp_where_src_and_dst_have_different_strides) {
    auto q = usual({8, 2});
    q.zero_points = {data_type::s32, {8, 2}, {10}};
    q.dst.strides = {3, 1};
    EXPECT_EQ(refusal(q),
            "there is a zero point and src and dst have different strides, and a reorder may then leave it out");
    const auto dst = by_onednn<std::uint8_t>(q, std::vector(16, 1.0f));
    ASSERT_EQ(dst.size(), 23u);
    EXPECT_EQ(dst[0], onednn_older_than(3, 3) ? 1 : 11);

    auto dequantize = dequantize_statement({8, 2}, {8, 2});
    dequantize.scales.values = {1};
    dequantize.zero_points = {data_type::s8, {8, 2}, {10}};
    dequantize.dst.strides = {3, 1};
    EXPECT_NE(refusal(dequantize), "");
    EXPECT_EQ(by_onednn<float>(dequantize, std::vector<std::int8_t>(16, 11))[0], onednn_older_than(3, 3) ? 11 : 1);
}

// 8 / 1, 8 / 2, 8 / 4 and 8 / 8. oneDNN inverts only the scales of the first of the dims. It is right for neighbouring
// dims and for dequantization. No op has this granularity.
TEST(onednn_kernel_refuses, parameters_that_change_along_two_dims) {
    auto q = quantize_statement({2, 3, 2}, {1, 3, 1});
    q.scales.values = {1, 2, 4, 8};
    EXPECT_EQ(refusal(q), "the parameters change along more than one dim, and a reorder's along one");
    EXPECT_NE(by_onednn<std::uint8_t>(q, std::vector(12, 8.0f)),
            (std::vector<std::uint8_t> {8, 4, 8, 4, 8, 4, 2, 1, 2, 1, 2, 1}));
}

// 8 / 1, 8 / 1 and 8 / 2. oneDNN's masks say whether parameters change along a dim, not how often.
TEST(onednn_kernel_refuses, blocks_that_do_not_divide_their_dim) {
    auto q = quantize_statement({3}, {2});
    q.scales.values = {1, 2};
    EXPECT_EQ(refusal(q), "a block does not divide its dim, and a reorder knows no shorter last block");
    EXPECT_NE(by_onednn<std::uint8_t>(q, std::vector(3, 8.0f)), (std::vector<std::uint8_t> {8, 8, 4}));
}

// Elements at 0, 2, 4 and 3, 5, 7 do not overlap, but oneDNN wants the second dim to step over the first.
TEST(onednn_kernel_refuses, dims_that_interleave) {
    auto q = usual({2, 3});
    q.dst.strides = {3, 2};
    EXPECT_EQ(refusal(q), "the dims of dst interleave, which a oneDNN memory descriptor cannot state");
    EXPECT_TRUE(by_onednn<std::uint8_t>(q, std::vector(6, 1.0f)).empty());
    std::swap(q.src.strides, q.dst.strides);
    EXPECT_EQ(refusal(q), "the dims of src interleave, which a oneDNN memory descriptor cannot state");
    EXPECT_TRUE(by_onednn<std::uint8_t>(q, std::vector(8, 1.0f)).empty());
}

// The tests below run oneDNN in a separate process, which it may terminate.
class onednn_kernel_refuses_death_test : public testing::Test {
  protected:
    onednn_kernel_refuses_death_test() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

    /// Exits with success if oneDNN quantizes a src of ones by 1 to ones.
    [[noreturn]] static void finish_with_onednn(const quantization &q) {
        const std::vector ones(bytes_spanned(q.src) / sizeof(float), 1.0f);
        const auto dst = by_onednn<std::uint8_t>(q, ones);
        const auto right = std::count(dst.begin(), dst.end(), 1);
        std::_Exit(right == *volume(q.dst.dims) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    static bool failed(int status) { return !testing::ExitedWithCode(EXIT_SUCCESS)(status); }
};

// oneDNN moves the single dim up, reads an extent of 0 in its old place and divides by it, which ARM's processors do
// not mind.
TEST_F(onednn_kernel_refuses_death_test, a_dense_src_spread_out) {
    auto q = usual({82600});
    q.dst.strides = {4};
    EXPECT_EQ(refusal(q), "a dense src is spread out to a strided dst, and a long one makes oneDNN divide by zero");
#ifdef __aarch64__
    EXPECT_EXIT(finish_with_onednn(q), testing::ExitedWithCode(EXIT_SUCCESS), "");
#else
    EXPECT_EXIT(finish_with_onednn(q), failed, "");
#endif
}

// oneDNN writes two entries beyond its table. PyPI's build of 3.2 detects it and aborts; other builds do not.
TEST_F(onednn_kernel_refuses_death_test, more_dims_than_onednn_has_room_for) {
    const auto q = reversed(12, 32);
    EXPECT_EQ(refusal(q), "more than 8 dims remain after merging, and a reorder then writes beyond its table of them");
    if (onednn_older_than(3, 3)) {
        EXPECT_EXIT(finish_with_onednn(q), failed, "");
    }
    EXPECT_NE(refusal(reversed(9, 2)), "");
    EXPECT_EQ(refusal(reversed(8, 2)), "");
}

// Without a test's change the kernel accepts each of the statements above.
TEST(onednn_kernel_refuses, nothing_of_what_they_start_from) {
    EXPECT_EQ(refusal(usual({8, 2})), "");
    EXPECT_EQ(by_onednn<std::uint8_t>(usual({8, 2}), std::vector(16, 1.0f)), std::vector<std::uint8_t>(16, 1));
    auto any = quantize_statement({1}, {1}, data_type::s8);
    any.rule = numerics::any;
    EXPECT_EQ(refusal(any), "");
    EXPECT_EQ(refusal(dequantize_statement({4, 3}, {4, 1})), "");
}

} // namespace
} // namespace dynquant::test
