// Under numerics::onnx every kernel that computes a type dequantizes every code of it right, and quantizes every
// float16 right to each float type.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

const std::vector<data_type> types = {s16, u16, s8, u8, s4, u4, s2, u2, f16, bf16, f8_e4m3, f8_e5m2, f8_e4m3fnuz,
        f8_e5m2fnuz, f6_e2m3, f6_e3m2, f4_e2m1};

std::string name_of(const testing::TestParamInfo<data_type> &info) {
    return to_string(info.param);
}

/// All codes of a type, in order.
std::vector<std::byte> every_code(data_type type) {
    const auto count = std::int64_t {1} << bits_in(type);
    std::vector<std::byte> bytes(bytes_for(type, count));
    for (std::int64_t i = 0; i < count; ++i)
        set_bits(type, bytes.data(), i, static_cast<std::uint32_t>(i));
    return bytes;
}

std::vector<std::byte> one(data_type type, std::uint32_t code) {
    std::vector<std::byte> bytes(bytes_for(type, 1));
    set_bits(type, bytes.data(), 0, code);
    return bytes;
}

class every_code_of : public testing::TestWithParam<data_type> {
  protected:
    static void expect_dequantized(data_type dst, float scale, std::optional<std::uint32_t> zero_point) {
        const auto count = std::int64_t {1} << bits_in(GetParam());
        quantization q;
        q.dir = direction::dequantize;
        q.rule = numerics::onnx;
        q.src = {GetParam(), {count}, {}};
        q.dst = {dst, {count}, {}};
        q.scales = {f32, {count}, {}};
        if (zero_point) q.zero_points = {GetParam(), {count}, {}};
        const sample s {q,
                {every_code(GetParam()), bytes_of(std::vector {scale}),
                        zero_point ? one(GetParam(), *zero_point) : std::vector<std::byte> {}}};
        EXPECT_TRUE(computed_right(s, universal_variants())) << "scale " << scale;
    }
};

TEST_P(every_code_of, is_dequantized_right) {
    expect_dequantized(f32, 1, {});
    expect_dequantized(f32, 0.1F, {});
    expect_dequantized(f16, -0x1.234566p-3F, {});
    expect_dequantized(bf16, 0x1p-120F, {});
}

TEST_P(every_code_of, is_dequantized_right_with_zero_points) {
    const auto last = (1U << bits_in(GetParam())) - 1, sign = 1U << (bits_in(GetParam()) - 1);
    expect_dequantized(f32, 1, 1);
    expect_dequantized(f16, 0.1F, sign - 2);
    for (const auto code : {0U, sign, last}) // 0, then -0 or NaN among the floats
        expect_dequantized(bf16, 3, code);
}

// A row by each code of f8_e4m3 and of f8_e8m0, in groups along the row and as one group.
TEST_P(every_code_of, is_dequantized_right_by_every_scale_of_8_bits) {
    const auto count = std::int64_t {1} << std::min(bits_in(GetParam()), 8);
    for (const auto scales : {f8_e4m3, f8_e8m0})
        for (const std::int64_t groups : {1, 4}) {
            quantization q;
            q.dir = direction::dequantize;
            q.rule = numerics::onnx;
            q.src = {GetParam(), {256, count}, {0, 1}};
            q.dst = {f32, {256, count}, {}};
            q.scales = {scales, {1, count / groups}, {}};
            std::vector<std::byte> codes;
            for (int i = 0; i < 256; ++i)
                codes.insert(codes.end(), static_cast<std::size_t>(groups), static_cast<std::byte>(i));
            EXPECT_TRUE(computed_right({q, {every_code(GetParam()), codes, {}}}, universal_variants()));
        }
}

INSTANTIATE_TEST_SUITE_P(types, every_code_of, testing::ValuesIn(types), name_of);

// The oracle divides in exact arithmetic. Ties, overflows and numbers below the least of dst are among the quotients.
TEST_P(every_code_of, is_quantized_to_right_by_every_scale_of_8_bits) {
    const std::vector<float> row = {
            0, -0.0F, 0.3F, -1, 2.5F, -6, 448, 0x1p-9F, -0x1.9p-127F, 0x1.4p127F, INFINITY, NAN};
    for (const auto scales : {f8_e4m3, f8_e8m0}) {
        quantization q;
        q.rule = numerics::onnx;
        q.src = {f32, {256, std::ssize(row)}, {0, 1}};
        q.dst = {GetParam(), {256, std::ssize(row)}, {}};
        q.scales = {scales, {1, std::ssize(row)}, {}};
        EXPECT_TRUE(computed_right({q, {bytes_of(row), every_code(scales), {}}}, universal_variants()));
    }
}

class every_float16_to : public testing::TestWithParam<data_type> {
  protected:
    static void expect_quantized(float scale, bool saturate, std::optional<std::uint32_t> zero_point = {}) {
        expect_quantized_in(precision::f32, f16, scale, saturate, zero_point);
    }

    static void expect_quantized_in(precision division, data_type src, float scale, bool saturate,
            std::optional<std::uint32_t> zero_point = {}) {
        const auto count = std::int64_t {1} << 16;
        quantization q;
        q.rule = numerics::onnx;
        q.src = {src, {count}, {}};
        q.dst = {GetParam(), {count}, {}};
        q.scales = {f32, {count}, {}};
        q.division = division;
        q.saturate = saturate;
        if (zero_point) q.zero_points = {GetParam(), {count}, {}};
        const sample s {q,
                {every_code(src), bytes_of(std::vector {scale}),
                        zero_point ? one(GetParam(), *zero_point) : std::vector<std::byte> {}}};
        EXPECT_TRUE(computed_right(s, universal_variants())) << "scale " << scale << (saturate ? ", saturating" : "");
    }
};

TEST_P(every_float16_to, is_quantized_right) {
    for (const bool saturate : {false, true}) {
        expect_quantized(1, saturate);
        expect_quantized(0x1.8p+8F, saturate);    // to the subnormals
        expect_quantized(-0x1.1p-100F, saturate); // beyond the guard: all but 0 overflow
    }
}

TEST_P(every_float16_to, is_divided_right_in_16_bits) {
    for (const auto &[division, src] : {std::pair(precision::f16, f16), std::pair(precision::bf16, bf16)}) {
        expect_quantized_in(division, src, 0x1.8p+8F, false); // to subnormals, among them ties
        expect_quantized_in(division, src, 0x1.554p-9F, true, 0U);
        expect_quantized_in(division, src, -0x1.1p-8F, false, 1U << (bits_in(GetParam()) - 1)); // -0 or NaN
    }
}

TEST_P(every_float16_to, is_quantized_right_with_zero_points) {
    const auto sign = 1U << (bits_in(GetParam()) - 1);
    for (const auto code : {0U, sign, sign - 2}) { // 0, -0 or NaN, and nearly the highest
        expect_quantized(0x1.554p-3F, false, code);
        expect_quantized(3, true, code);
    }
}

// -2^-149 / 1.9 rounds to -2^-149. The sum with 0 is not 0, so it keeps its sign when it is rounded to dst. -2^-149 / 2
// is -0. A scale of 2 selects another algorithm for all scales.
TEST_P(every_float16_to, the_least_quotients_keep_their_sign_beside_a_zero_point_of_0) {
    for (const float other : {2.0F, 0x1.fffffep0F}) {
        quantization q;
        q.rule = numerics::onnx;
        q.src = {f32, {3}, {}};
        q.dst = {GetParam(), {3}, {}};
        q.scales = {f32, {1}, {}};
        q.zero_points = {GetParam(), {1}, {}};
        const sample s {q,
                {bytes_of(std::vector {-0x1p-149F, -0x1p-149F, -0.0F}), bytes_of(std::vector {1.9F, other, 1.0F}),
                        std::vector(bytes_for(GetParam(), 3), std::byte {0})}};
        EXPECT_TRUE(computed_right(s, universal_variants()));
    }
}

INSTANTIATE_TEST_SUITE_P(types, every_float16_to,
        testing::Values(f16, bf16, f8_e4m3, f8_e5m2, f8_e4m3fnuz, f8_e5m2fnuz, f6_e2m3, f6_e3m2, f4_e2m1), name_of);

// All set fraction bits of these NaNs are among the bits that rounding drops. Truncation would make infinity of them.
TEST(signalling_nan, stays_nan_when_it_is_rounded_to_the_division) {
    for (const auto division : {precision::f16, precision::bf16})
        for (const auto dst : {u8, s16, f8_e5m2, bf16}) {
            quantization q;
            q.rule = numerics::onnx;
            q.src = {f32, {2}, {}};
            q.dst = {dst, {2}, {}};
            q.scales = {f32, {2}, {}};
            q.division = division;
            const sample s {q, {bytes_of(std::vector {0x7f800001U, 0xff800fffU}), bytes_of(std::vector {1.0F}), {}}};
            EXPECT_TRUE(computed_right(s, universal_variants()));
        }
}

// Differences need 33 bits, and some are not exact in f32: ties of 25 bits and their neighbours.
TEST(integers_of_32_bits, are_dequantized_right) {
    std::vector<std::uint32_t> src;
    for (const std::uint32_t near :
            {0U, 1U << 24, 1U << 25, 3U << 24, 1U << 30, 1U << 31, 0U - (1U << 24), 0U - (1U << 25)})
        for (std::uint32_t offset = 0; offset < 150; ++offset)
            src.push_back(near + offset - 75);
    const auto count = static_cast<std::int64_t>(src.size());
    for (const auto type : {s32, u32})
        for (const std::optional<std::uint32_t> zero_point :
                std::initializer_list<std::optional<std::uint32_t>> {{}, 0U, 1U, 1U << 31, (1U << 31) - 1, ~0U}) {
            quantization q;
            q.dir = direction::dequantize;
            q.rule = numerics::onnx;
            q.src = {type, {count}, {}};
            q.dst = {f32, {count}, {}};
            q.scales = {f32, {count}, {}};
            if (zero_point) q.zero_points = {type, {count}, {}};
            const sample s {q,
                    {bytes_of(src), bytes_of(std::vector {1.0F}),
                            zero_point ? one(type, *zero_point) : std::vector<std::byte> {}}};
            EXPECT_TRUE(computed_right(s, universal_variants()));
        }
}

} // namespace
} // namespace dynquant::test
