// Under numerics::onnx every kernel gives the values, worked out by hand, of ONNX's QuantizeLinear and DequantizeLinear
// (opset 28) and of AMD Quark's Extended operators.
#include <algorithm>

#include "onnx_quantizing.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

// ---- Integers

TEST(onnx_numerics, the_quotient_is_rounded_before_the_zero_point_is_added) {
    const quantizing to_u8 {u8};
    EXPECT_EQ(to_u8.values({0.5, 1.5, 2.5, -0.5}, 1, 1), (integers {1, 3, 3, 1}));
    EXPECT_EQ(to_u8.values({0.5, 1.5, 2.5, -0.5}, 1, 2), (integers {2, 4, 4, 2}));
    EXPECT_EQ(to_u8.values({0.5, 1.5, 2.5, 3.5}, 1), (integers {0, 2, 2, 4}));
    EXPECT_EQ(to_u8.values({1.55}, 0.1), (integers {15}));           // 1.55f / 0.1f is just below 15.5
    EXPECT_EQ(to_u8.values({-0x1.fffffep-2}, 1, 7), (integers {7})); // the sum with 7 is not an f32
}

TEST(onnx_numerics, the_type_of_the_division_decides) {
    // 150.625 / 1.6279296875 = 92.5254...; f16 has steps of 1/16 there, and 92.5 is a tie, which goes to 92.
    EXPECT_EQ((quantizing {u8, f16, f16, precision::f16}.values({150.625}, 1.6279296875)), (integers {92}));
    EXPECT_EQ((quantizing {u8, f16, f16, precision::f32}.values({150.625}, 1.6279296875)), (integers {93}));
    EXPECT_EQ((quantizing {u8, f32, f16, precision::f16}.values({150.625}, 1.6279296875)), (integers {92}));
    EXPECT_EQ((quantizing {u8, f16, f32, precision::f32}.values({150.625}, 1.6279296875)), (integers {93}));
    // bf16 has steps of 1/2: 92.5 as well.
    EXPECT_EQ((quantizing {u8, f32, f32, precision::bf16}.values({185}, 2)), (integers {92}));
    // src is rounded first: 1.00390625 is a tie of bf16 and becomes 1, 1.01171875 becomes 1.015625.
    EXPECT_EQ((quantizing {s16, f32, f32, precision::bf16}.values({1.00390625, 1.01171875}, 0x1p-10)),
            (integers {1024, 1040}));
    // The scale is rounded first as well.
    EXPECT_EQ((quantizing {s16, f32, f32, precision::bf16}.values({1024}, 1.00390625)), (integers {1024}));
    EXPECT_EQ((quantizing {s16, f32, f32, precision::f32}.values({1024}, 1.00390625)), (integers {1020})); // 1020.02
}

TEST(onnx_numerics, zero_points_are_added_to_quotients_of_16_bits) {
    // 92.5 again, between the ties 91.5 and 93.5, with odd zero points and to all integers.
    for (const auto type : {u8, s8, u16, s16}) {
        EXPECT_EQ((quantizing {type, f16, f16, precision::f16}.values({150.625, -150.625}, 1.6279296875, 3)),
                (integers {95, type == s8 || type == s16 ? -89 : 0}));
        EXPECT_EQ((quantizing {type, f16, f16, precision::f32}.values({150.625, -150.625}, 1.6279296875, 3)),
                (integers {96, type == s8 || type == s16 ? -90 : 0}));
    }
    EXPECT_EQ((quantizing {s16, bf16, bf16, precision::bf16}.values({0.5, 1.5, 2.5, -0.5, -1.5}, 1, -7)),
            (integers {-7, -5, -5, -7, -9}));
    // f16 has steps of 32 from 32768 on, bf16 of 256: 40000 is 156.25 of those.
    EXPECT_EQ((quantizing {u16, f16, f16, precision::f16}.values({40000, 20000}, 0.5)), (integers {65535, 40000}));
    EXPECT_EQ((quantizing {u16, f32, f32, precision::f16}.values({40016, 40017}, 1, 5)), (integers {40005, 40037}));
    EXPECT_EQ((quantizing {u16, f32, f32, precision::bf16}.values({40000}, 1, 5)), (integers {39941}));
}

TEST(onnx_numerics, quotients_of_f16_overflow_at_65520) {
    // 65504 is the highest number. Values below 65520 round down to it, values from 65520 on to infinity.
    const quantizing to_u16 {u16, f16, f16, precision::f16}, to_s16 {s16, f16, f16, precision::f16};
    EXPECT_EQ(to_u16.values({65504, 32752, 32768}, 1), (integers {65504, 32752, 32768}));
    EXPECT_EQ(to_u16.values({32752, 32768, 60000}, 0.5), (integers {65504, 65535, 65535}));
    EXPECT_EQ(to_u16.values({-32752, -32768, -60000, -infinity}, 0.5, 65535), (integers {31, 0, 0, 0}));
    EXPECT_EQ(to_s16.values({32752, 32768, 60000, infinity}, 0.5, -32768), (integers {32736, 32767, 32767, 32767}));
    EXPECT_EQ(to_s16.values({-32752, -32768, -60000}, 0.5, 32767), (integers {-32737, -32768, -32768}));
}

TEST(onnx_numerics, scales_of_16_bits_may_be_anything) {
    for (const auto division : {precision::f16, precision::bf16}) {
        const auto type = division == precision::f16 ? f16 : bf16;
        const quantizing to_s8 {s8, type, type, division};
        EXPECT_EQ(to_s8.values({1, -1, 0, nan}, 0, 3), (integers {127, -128, -128, -128}));
        EXPECT_EQ(to_s8.values({10, -10, infinity}, -2, 1), (integers {-4, 6, -128}));
        EXPECT_EQ(to_s8.values({10, infinity}, infinity, 1), (integers {1, -128}));
        EXPECT_EQ(to_s8.values({1}, nan, 1), (integers {-128}));
        EXPECT_EQ(to_s8.values({0x1p-23, -0x1.8p-22, 1}, 0x1p-24, 1), (integers {3, -5, 127})); // subnormal as f16
    }
    const quantizing to_s8 {s8, bf16, bf16, precision::bf16};
    EXPECT_EQ(to_s8.values({0x1p100, -0x1p101, 0x1p127}, 0x1p100), (integers {1, -2, 127})); // outside the guard
    EXPECT_EQ(to_s8.values({0x1.8p-130, 0x1p127, -0x1p127}, 0x1p-130), (integers {2, 127, -128}));
}

TEST(onnx_numerics, f16_overflows_before_it_divides) {
    EXPECT_EQ((quantizing {s8, f32, f32, precision::f32}.values({70000, -70000}, 1000)), (integers {70, -70}));
    EXPECT_EQ((quantizing {s8, f32, f32, precision::f16}.values({70000, -70000}, 1000)), (integers {127, -128}));
    EXPECT_EQ((quantizing {s8, f32, f32, precision::f16}.values({70000}, 70000)), (integers {-128})); // NaN
    EXPECT_EQ((quantizing {s8, f16, f16, precision::f16}.values({60000}, 0.5)), (integers {127}));    // the quotient
}

TEST(onnx_numerics, s32_is_divided_in_f64) {
    const quantizing exact {s32, s32, f32, precision::f64}, rounded {s32, s32, f32};
    EXPECT_EQ(exact.values({16777217, -16777217, 2147483646}, 1), (integers {16777217, -16777217, 2147483646}));
    EXPECT_EQ(rounded.values({16777217, -16777217, 2147483646}, 1), (integers {16777216, -16777216, 2147483647}));
    const quantizing by_integers {s16, s32, s32, precision::f64};
    EXPECT_EQ(by_integers.values({5, 7, -5, 9, 2147483647}, 2), (integers {2, 4, -2, 4, 32767}));
    EXPECT_EQ(by_integers.values({2147483647, -2147483648.0}, 65537), (integers {32767, -32768})); // 32767.5 - tiny
    // Above a half, which f32 does not see.
    EXPECT_EQ((quantizing {u8, s32, s32, precision::f64}.values({1073741825, -5}, 2147483647)), (integers {1, 0}));
    // To bf16 at once: 2^30 + 2^22 would be a tie, to 2^30. Then 2^30 + 2^23 over 2^23.
    // 1.5 * 2^24 by 2^24 + 1 is below 1.5; as f32 the scale would be 2^24, and the quotient a tie.
    EXPECT_EQ((quantizing {s16, f32, s32, precision::f64}.values({25165824, -25165824}, 16777217)), (integers {1, -1}));
    const quantizing in_bf16 {s16, s32, f32, precision::bf16};
    EXPECT_EQ(in_bf16.values({1073741824.0 + 4194304 + 1, 1073741824.0 + 4194304}, 8388608), (integers {129, 128}));
}

TEST(onnx_numerics, every_integer_saturates_on_the_side_of_the_quotient) {
    for (const auto type : {u2, s2, u4, s4, u8, s8, u16, s16, u32, s32}) {
        const auto [lowest, highest] = range_of(type);
        const quantizing to {type};
        for (const double beyond : {0x1p33, 0x1p62, 0x1p63, 0x1p64, 0x1p100, infinity}) {
            EXPECT_EQ(to.values({beyond, -beyond}, 1), (integers {highest, lowest})) << to_string(type) << beyond;
            EXPECT_EQ(to.values({beyond, -beyond}, 1, lowest), (integers {highest, lowest})) << to_string(type);
            EXPECT_EQ(to.values({beyond, -beyond}, -0.5, highest), (integers {lowest, highest})) << to_string(type);
        }
        EXPECT_EQ(to.values({nan, 1}, 1), (integers {lowest, 1})) << to_string(type);
        EXPECT_EQ(to.values({0, 1, -1}, 0, 1), (integers {lowest, highest, lowest})) << to_string(type);
        EXPECT_EQ(to.values({1, infinity}, infinity, 1), (integers {1, lowest})) << to_string(type);
    }
}

/// Kernels may add in 16 bits.
TEST(onnx_numerics, every_zero_point_is_added_to_quotients_beyond_16_bits) {
    reals x;
    for (const double around : {0.0, 128.0, 255.0, 256.0, 384.0, 511.0, 32512.0, 32640.0, 32767.0, 32768.0, 33023.0,
                 65536.0, 4194304.0, 2147483648.0})
        for (const double step : {-1.0, -0.5, 0.0, 0.5, 1.0})
            for (const double sign : {1.0, -1.0})
                x.push_back(sign * static_cast<float>(around + step));
    for (const auto type : {u8, s8}) {
        const auto [lowest, highest] = range_of(type);
        for (auto zp = lowest; zp <= highest; ++zp) {
            integers expected;
            for (const auto value : x) // std::nearbyint rounds halves to even
                expected.push_back(std::clamp(static_cast<std::int64_t>(std::nearbyint(value)) + zp,
                        std::int64_t {lowest}, std::int64_t {highest}));
            EXPECT_EQ(quantizing {type}.values(x, 1, static_cast<double>(zp)), expected)
                    << to_string(type) << " " << zp;
        }
    }
}

TEST(onnx_numerics, the_sum_does_not_wrap) {
    const double highest = 2147483647, lowest = -2147483648.0;
    EXPECT_EQ(quantizing {s32}.values({1, -1, -4294967040.0, -4294967296.0}, 1, highest),
            (integers {2147483647, 2147483646, -2147483393, INT32_MIN}));
    EXPECT_EQ(quantizing {s32}.values({-1, 1, 4294967040.0, 4294967296.0}, 1, lowest),
            (integers {INT32_MIN, INT32_MIN + 1, 2147483392, INT32_MAX}));
    EXPECT_EQ(quantizing {u32}.values({1, -1, -4294967040.0, -0x1p33}, 1, 4294967295.0),
            (integers {4294967295, 4294967294, 255, 0}));
    EXPECT_EQ(quantizing {u16}.values({1, -1, -65535, -65536}, 1, 65535), (integers {65535, 65534, 0, 0}));
    EXPECT_EQ(quantizing {s2}.values({3, 2, -1, 0}, 1, -2), (integers {1, 0, -2, -2}));
    // This helper has no zero points of s32 for 8-bit types, as Quark has; tests of oneDNN's rules cover them.
}

// ---- Scales of f8_e8m0, blocks, dequantizing

TEST(onnx_numerics, f8_e8m0_scales_are_powers_of_two) {
    const quantizing by_e8m0 {s8, f32, f8_e8m0};
    EXPECT_EQ(by_e8m0.values({3, -5}, 0.5), (integers {6, -10}));
    EXPECT_EQ(by_e8m0.values({0x1p-126, 0x1.8p-127}, 0x1p-127), (integers {2, 2})); // 1.5
    EXPECT_EQ(by_e8m0.values({0x1p127, -0x1.8p127}, 0x1p127), (integers {1, -2}));
    EXPECT_EQ(by_e8m0.values({0, 1}, nan), (integers {-128, -128}));
    EXPECT_EQ(dequantized(s8, {3, -5}, 0x1p-127, {}, f8_e8m0), (std::vector {0x1.8p-126f, -0x1.4p-125f}));
    EXPECT_EQ(dequantized(f4_e2m1, {1.5, -6}, 4, {}, f8_e8m0), (std::vector {6.0f, -24.0f}));
    EXPECT_TRUE(std::isnan(dequantized(f4_e2m1, {0}, nan, {}, f8_e8m0)[0]));
}

TEST(onnx_numerics, f8_e4m3_scales_have_a_sign_and_nan) {
    const quantizing by_e4m3 {s8, f32, f8_e4m3};
    EXPECT_EQ(by_e4m3.values({3, -5}, 1.125), (integers {3, -4}));              // 2.67, -4.44
    EXPECT_EQ(by_e4m3.values({0x1p-8, -0x1.8p-9}, 0x1p-9), (integers {2, -2})); // the least; -1.5
    EXPECT_EQ(by_e4m3.values({896, -224}, 448), (integers {2, 0}));             // -0.5
    EXPECT_EQ(by_e4m3.values({3, -5}, -0.5), (integers {-6, 10}));
    EXPECT_EQ(by_e4m3.values({1, -1, 0}, 0), (integers {127, -128, -128}));
    EXPECT_EQ(by_e4m3.values({0, 1}, nan), (integers {-128, -128}));
    EXPECT_EQ(dequantized(s8, {3, -5}, 0x1.cp-7, {}, f8_e4m3), (std::vector {0x1.5p-5f, -0x1.18p-4f})); // subnormal
    EXPECT_EQ(dequantized(f4_e2m1, {1.5, -6}, 448, {}, f8_e4m3), (std::vector {672.0f, -2688.0f}));
    EXPECT_TRUE(std::isnan(dequantized(f4_e2m1, {0}, nan, {}, f8_e4m3)[0]));
}

TEST(onnx_numerics, the_last_block_may_be_short) {
    quantization q;
    q.rule = numerics::onnx;
    q.src = {f32, {2, 5}, {}};
    q.dst = {u8, {2, 5}, {}};
    q.scales = {f32, {1, 2}, {}};
    q.zero_points = {u8, {1, 2}, {}};
    const auto dst = computed(q,
            {encoded(f32, {8, 8, 8, 8, 8, 16, 16, 16, 16, 16}), encoded(f32, {1, 2, 4, 8, 16, 32}),
                    encoded(u8, {0, 1, 2, 3, 4, 5})});
    EXPECT_EQ(dst, encoded(u8, {8, 8, 5, 5, 4, 5, 5, 5, 5, 5})); // 16 / 32 is a tie, to 0
}

TEST(onnx_numerics, every_type_is_dequantized) {
    EXPECT_EQ(dequantized(s16, {-32768, 32767}, 0.5, 32767), (std::vector {-32767.5f, 0.0f}));
    EXPECT_EQ(dequantized(u16, {0, 65535}, 2, 65535), (std::vector {-131070.0f, 0.0f}));
    EXPECT_EQ(dequantized(s32, {-2147483648.0, 7}, 1, 2147483647), (std::vector {-0x1p32f, -2147483640.0f}));
    EXPECT_EQ(dequantized(u32, {4294967295.0, 4294967040.0}, 1), (std::vector {0x1p32f, 4294967040.0f}));
    EXPECT_EQ(dequantized(u32, {0, 4294967295.0}, 1, 4294967295.0), (std::vector {-0x1p32f, 0.0f}));
    EXPECT_EQ(dequantized(s2, {-2, -1, 0, 1, -2}, 3, 1), (std::vector {-9.0f, -6.0f, -3.0f, 0.0f, -9.0f}));
    EXPECT_EQ(dequantized(u2, {0, 1, 2, 3, 3}, 3, 1), (std::vector {-3.0f, 0.0f, 3.0f, 6.0f, 6.0f}));
    EXPECT_EQ(dequantized(f4_e2m1, {6, -0.5, 3}, 2), (std::vector {12.0f, -1.0f, 6.0f}));
    EXPECT_EQ(dequantized(f6_e2m3, {7.5, -0.125, 1.125}, 2), (std::vector {15.0f, -0.25f, 2.25f}));
    EXPECT_EQ(dequantized(f6_e3m2, {28, -0.0625, 1.25}, 2), (std::vector {56.0f, -0.125f, 2.5f}));
    EXPECT_EQ(dequantized(f8_e4m3fnuz, {240, -0x1p-10}, 2), (std::vector {480.0f, -0x1p-9f}));
    EXPECT_EQ(dequantized(f8_e5m2fnuz, {57344, -0x1p-17}, 2, 1), (std::vector {114686.0f, -0x1.00008p+1f}));
    EXPECT_EQ(dequantized(f16, {65504, -1}, 2, 1), (std::vector {131006.0f, -4.0f}));
    EXPECT_EQ(dequantized(bf16, {0x1p100, -1}, 2, 1), (std::vector {0x1p101f, -4.0f}));
}

TEST(onnx_numerics, the_difference_is_rounded_to_f32_before_the_product) {
    // 2^24 + 1 and then times 3; exactly it would be 50331651, which is a tie between 50331648 and 50331652.
    EXPECT_EQ(dequantized(s32, {16777217}, 3), (std::vector {50331648.0f}));
    EXPECT_EQ(dequantized(s32, {16777216}, 3, -1), (std::vector {50331648.0f}));
    EXPECT_EQ(dequantized(s32, {16777218}, 3, 0), (std::vector {50331656.0f})); // 50331654: a tie, to even
    EXPECT_EQ(dequantized(s32, {16777217, 16777216}, 1, 16777216), (std::vector {1.0f, 0.0f}));
}

// ---- Which kernel

#if DYNQUANT_TEST_ONEDNN
std::string refusal(const quantization &q, kernel_kind kernel) {
    try {
        prepare(q, {.kernel = kernel});
        return "nothing";
    } catch (const error &thrown) {
        return thrown.status == status::unimplemented ? thrown.what() : "another status";
    }
}

/// f32 to u8 under one known scale.
quantization plain() {
    quantization q;
    q.rule = numerics::onnx;
    q.src = {f32, {4}, {}};
    q.dst = {u8, {4}, {}};
    q.scales = {f32, {4}, {1}};
    return q;
}

void expect_refused(const quantization &q, kernel_kind kernel, const std::string &why) {
    EXPECT_EQ(refusal(q, kernel),
            std::string("kernel: '") + to_string(kernel) + "' was asked for but cannot compute this: " + why);
}

TEST(onnx_numerics, onednn_says_why_it_refuses_what_its_rules_have_not) {
    auto q = plain();
    EXPECT_EQ(refusal(q, kernel_kind::onednn), "nothing"); // both rules agree without zero points
    q.zero_points = {u8, {4}, {}};
    expect_refused(q, kernel_kind::onednn,
            "zero points are added to the rounded quotients, and under numerics strict to those not yet rounded");
    q.zero_points.reset();
    q.division = precision::f16;
    expect_refused(q, kernel_kind::onednn, "the division is one in f16, and numerics strict divides in f32");
    q.division = precision::f32;
    q.dst.type = u16;
    expect_refused(q, kernel_kind::onednn,
            "numerics strict has no such types: dst: expected data type s8, u8, s4, u4, f8_e4m3 or f8_e5m2, "
            "given u16");
    q.dst.type = f8_e4m3;
    q.saturate = true;
    expect_refused(q, kernel_kind::onednn, "dst saturates, and overflows under numerics strict");
}
#endif

} // namespace
} // namespace dynquant::test
