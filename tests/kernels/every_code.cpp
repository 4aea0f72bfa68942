// Every kernel that computes a type dequantizes every code of it right, and quantizes every float16 right to each float
// type. The rule is ONNX's but for integers of 8 bits, whose zero points have 32 bits under oneDNN's.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

/// The quantized types of at most 16 bits.
std::vector<data_type> types_to_try() {
    std::vector<data_type> types(std::begin(quantized_types), std::end(quantized_types));
    std::erase_if(types, [](data_type type) { return bits_in(type) > 16; });
    return types;
}

std::vector<data_type> floats_to_try() {
    auto types = types_to_try();
    std::erase_if(types, is_integer);
    return types;
}

quantization onnx_statement(direction dir, data_type reals, data_type codes, const dims &extents, const dims &block,
        bool has_zero_points = false) {
    auto q = statement_of(dir, reals, codes, extents, block);
    q.rule = numerics::onnx;
    if (has_zero_points) q.zero_points = {codes, block, {}};
    return q;
}

/// All codes of a type, in order.
std::vector<std::byte> every_code(data_type type) {
    const auto count = std::int64_t {1} << bits_in(type);
    std::vector<std::byte> bytes(bytes_for(type, count));
    for (std::int64_t i = 0; i < count; ++i)
        set_bits(type, bytes.data(), i, static_cast<std::uint32_t>(i));
    return bytes;
}

/// The buffer of a zero point, or of none.
std::vector<std::byte> bytes_of_code(data_type type, std::optional<std::uint32_t> code) {
    if (!code) return {};
    std::vector<std::byte> bytes(bytes_for(type, 1));
    set_bits(type, bytes.data(), 0, *code);
    return bytes;
}

class every_code_of : public testing::TestWithParam<data_type> {
  protected:
    static void expect_dequantized(data_type dst, float scale, std::optional<std::uint32_t> zero_point) {
        const auto count = std::int64_t {1} << bits_in(GetParam());
        const auto q = onnx_statement(direction::dequantize, dst, GetParam(), {count}, {count}, zero_point.has_value());
        const sample s {
                q, {every_code(GetParam()), bytes_of(std::vector {scale}), bytes_of_code(GetParam(), zero_point)}};
        EXPECT_TRUE(computed_right(s, universal_variants())) << "scale " << scale;
    }
};

TEST_P(every_code_of, is_dequantized_right) {
    expect_dequantized(f32, 1, {});
    expect_dequantized(f32, 0.1F, {});
    expect_dequantized(f16, -0x1.234566p-3F, {});
    expect_dequantized(bf16, 0x1p-120F, {});
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
            auto q = onnx_statement(direction::dequantize, f32, GetParam(), {256, count}, {1, count / groups});
            q.src.strides = {0, 1};
            q.scales.type = scales;
            std::vector<std::byte> codes;
            for (int i = 0; i < 256; ++i)
                codes.insert(codes.end(), static_cast<std::size_t>(groups), static_cast<std::byte>(i));
            EXPECT_TRUE(computed_right({q, {every_code(GetParam()), codes, {}}}, universal_variants()));
        }
}

INSTANTIATE_TEST_SUITE_P(types, every_code_of, testing::ValuesIn(types_to_try()), name_of_type);

/// What decides the rounding to an 8-bit float: its numbers, the midpoints between them, and the floats next to each.
std::vector<float> floats_around_all(data_type type) {
    std::vector<float> result = {INFINITY, -INFINITY, 464, std::nextafter(464.0F, 500.0F), 61440, 0x1p-149F, 3e38F};
    for (std::uint32_t bits = 0; bits < 255; ++bits) {
        const float value = real_from(type, bits), next = real_from(type, bits + 1);
        for (const float centre : {value, (value + next) / 2})
            for (const float x : {std::nextafter(centre, -INFINITY), centre, std::nextafter(centre, INFINITY)})
                if (!std::isnan(x)) result.push_back(x);
    }
    return result;
}

TEST(every_code, of_8_bit_floats_is_right_under_strict_and_so_is_its_neighbourhood) {
    for (const auto type : {f8_e4m3, f8_e5m2}) {
        const auto q = statement_of(direction::dequantize, f32, type, {256}, {256});
        EXPECT_TRUE(computed_right({q, {every_code(type), bytes_of(std::vector {0.375F}), {}}}, universal_variants()));
        for (const float scale : {1.0F, 0.125F, 3.0F, 0x1p-80F}) {
            auto src = floats_around_all(type);
            for (auto &x : src)
                x *= scale;
            const auto to = statement_of(direction::quantize, f32, type, {std::ssize(src)}, {std::ssize(src)});
            EXPECT_TRUE(computed_right({to, {bytes_of(src), bytes_of(std::vector {scale}), {}}}, universal_variants()))
                    << "scale " << scale;
        }
    }
}

// The oracle divides in exact arithmetic. Ties, overflows and numbers below the least of dst are among the quotients.
TEST_P(every_code_of, is_quantized_to_right_by_every_scale_of_8_bits) {
    const std::vector<float> row = {
            0, -0.0F, 0.3F, -1, 2.5F, -6, 448, 0x1p-9F, -0x1.9p-127F, 0x1.4p127F, INFINITY, NAN};
    for (const auto scales : {f8_e4m3, f8_e8m0}) {
        auto q = onnx_statement(direction::quantize, f32, GetParam(), {256, std::ssize(row)}, {1, std::ssize(row)});
        q.src.strides = {0, 1};
        q.scales.type = scales;
        EXPECT_TRUE(computed_right({q, {bytes_of(row), every_code(scales), {}}}, universal_variants()));
    }
}

class every_float16_to : public testing::TestWithParam<data_type> {
  protected:
    static void expect_quantized(float scale, bool saturate, std::optional<std::uint32_t> zero_point = {},
            precision division = precision::f32, data_type src = f16) {
        const auto count = std::int64_t {1} << 16;
        auto q = onnx_statement(direction::quantize, src, GetParam(), {count}, {count}, zero_point.has_value());
        q.division = division;
        q.saturate = saturate;
        const sample s {q, {every_code(src), bytes_of(std::vector {scale}), bytes_of_code(GetParam(), zero_point)}};
        EXPECT_TRUE(computed_right(s, universal_variants())) << "scale " << scale << (saturate ? ", saturating" : "");
    }
};

TEST_P(every_float16_to, is_quantized_right) {
    for (const bool saturate : {false, true}) {
        expect_quantized(1, saturate);
        expect_quantized(0x1.8p+8F, saturate);    // to the subnormals
        expect_quantized(-0x1.1p-100F, saturate); // beyond the guard: all but 0 overflow
    }
    const auto sign = 1U << (bits_in(GetParam()) - 1);
    for (const auto code : {0U, sign, sign - 2}) { // 0, -0 or NaN, and nearly the highest
        expect_quantized(0x1.554p-3F, false, code);
        expect_quantized(3, true, code);
    }
}

TEST_P(every_float16_to, is_divided_right_in_16_bits) {
    for (const auto &[division, src] : {std::pair(precision::f16, f16), std::pair(precision::bf16, bf16)}) {
        expect_quantized(0x1.8p+8F, false, {}, division, src); // to subnormals, among them ties
        expect_quantized(0x1.554p-9F, true, 0U, division, src);
        expect_quantized(-0x1.1p-8F, false, 1U << (bits_in(GetParam()) - 1), division, src); // -0 or NaN
    }
}

// -2^-149 / 1.9 rounds to -2^-149. The sum with 0 is not 0, so it keeps its sign when it is rounded to dst. -2^-149 / 2
// is -0. A scale of 2 selects another algorithm for all scales.
TEST_P(every_float16_to, the_least_quotients_keep_their_sign_beside_a_zero_point_of_0) {
    for (const float other : {2.0F, 0x1.fffffep0F}) {
        const auto q = onnx_statement(direction::quantize, f32, GetParam(), {3}, {1}, true);
        const sample s {q,
                {bytes_of(std::vector {-0x1p-149F, -0x1p-149F, -0.0F}), bytes_of(std::vector {1.9F, other, 1.0F}),
                        std::vector(bytes_for(GetParam(), 3), std::byte {0})}};
        EXPECT_TRUE(computed_right(s, universal_variants()));
    }
}

INSTANTIATE_TEST_SUITE_P(types, every_float16_to, testing::ValuesIn(floats_to_try()), name_of_type);

// All set fraction bits of these NaNs are among the bits that rounding drops. Truncation would make infinity of them.
TEST(signalling_nan, stays_nan_when_it_is_rounded_to_the_division) {
    for (const auto division : {precision::f16, precision::bf16})
        for (const auto dst : {u8, s16, f8_e5m2, bf16}) {
            auto q = onnx_statement(direction::quantize, f32, dst, {2}, {2});
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
            const auto q = onnx_statement(direction::dequantize, f32, type, {count}, {count}, zero_point.has_value());
            const sample s {q, {bytes_of(src), bytes_of(std::vector {1.0F}), bytes_of_code(type, zero_point)}};
            EXPECT_TRUE(computed_right(s, universal_variants()));
        }
}

// Under oneDNN's rule, by zero points and scales that need each kind of rounding.
TEST(integers_of_8_bits, are_dequantized_right) {
    const auto expect_right = [](float scale, std::int32_t zero_point) {
        for (const auto type : {s8, u8}) {
            const auto q = statement_of(direction::dequantize, f32, type, {256}, {256}, s32);
            const sample s {q, {every_code(type), bytes_of(std::vector {scale}), bytes_of(std::vector {zero_point})}};
            EXPECT_TRUE(computed_right(s, universal_variants())) << "scale " << scale << ", zp " << zero_point;
        }
    };
    // The difference exceeds 24 bits from 2^24 on, and 32 bits at the ends of s32.
    for (const std::int32_t zero_point : {0, 1, -1, 127, -128, 255, (1 << 24) - 256, (1 << 24) - 1, 1 << 24,
                 (1 << 24) + 1, -(1 << 24) - 1, 123456789, INT32_MAX, INT32_MAX - 1, INT32_MAX - 126, INT32_MAX - 127,
                 INT32_MAX - 254, INT32_MAX - 255, INT32_MAX - 256, INT32_MIN, INT32_MIN + 1, INT32_MIN + 127,
                 INT32_MIN + 255, INT32_MIN + 256})
        for (const float scale : {1.0f, 0.1f, -0x1.234566p-3f})
            expect_right(scale, zero_point);
    using limits = std::numeric_limits<float>;
    for (const float scale :
            {0.0f, -0.0f, limits::denorm_min(), 0x1.8p-149f, -0x1.fffffcp-127f, limits::min(), 0x1.8p-130f,
                    limits::max(), limits::lowest(), limits::infinity(), -limits::infinity(), limits::quiet_NaN()})
        for (const std::int32_t zero_point : {0, 7, INT32_MIN})
            expect_right(scale, zero_point);
}

} // namespace
} // namespace dynquant::test
