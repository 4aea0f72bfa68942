// Every data type is packed, rounded and saturated as worked out by hand, on every kernel that computes it. The direct
// API takes all combinations of types.
#include <bit>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace dynquant::test {
namespace {

using enum data_type;
using bytes = std::vector<int>;

tensor of(data_type type, dims extents, dims strides = {}) {
    return {type, std::move(extents), std::move(strides)};
}

quantization statement(direction dir, tensor src, tensor dst, parameter scales) {
    quantization q;
    q.dir = dir;
    q.src = std::move(src);
    q.dst = std::move(dst);
    q.scales = std::move(scales);
    return q;
}

std::vector<std::byte> as_bytes(const bytes &values) {
    return encode(u8, {values.begin(), values.end()});
}

/// Runs q by every kernel that computes it. dst is filled with 0xa5 before.
void expect_bytes(const quantization &q, const std::vector<std::byte> &src, const std::vector<std::byte> &scales,
        const std::vector<std::byte> &zps, const std::vector<std::byte> &expected) {
    for (const auto &v : universal_variants()) {
        std::vector dst(bytes_spanned(q.dst), std::byte {0xa5});
        prepare(q, v.forced()).run({src.data(), scales.data(), zps.data(), dst.data()});
        EXPECT_EQ(dst, expected) << v << ": " << describe(q);
    }
}
void expect_gives(const quantization &q, const std::vector<std::byte> &src, const std::vector<std::byte> &scales,
        const std::vector<std::byte> &zps, const bytes &expected) {
    expect_bytes(q, src, scales, zps, as_bytes(expected));
}

TEST(data_types, s4_and_u4_are_dequantized_low_nibble_first) {
    const auto q = [](data_type type) {
        return statement(direction::dequantize, of(type, {5}), of(f32, {5}), {f32, {5}, {0.5}});
    };
    // f32 of 0.5, -0.5, -4, 3.5, 0 and, unsigned, of 0.5, 7.5, 4, 3.5, 0
    expect_gives(q(s4), as_bytes({0xf1, 0x78, 0xf0}), {}, {},
            {0, 0, 0, 0x3f, 0, 0, 0, 0xbf, 0, 0, 0x80, 0xc0, 0, 0, 0x60, 0x40, 0, 0, 0, 0});
    expect_gives(q(u4), as_bytes({0xf1, 0x78, 0xf0}), {}, {},
            {0, 0, 0, 0x3f, 0, 0, 0xf0, 0x40, 0, 0, 0x80, 0x40, 0, 0, 0x60, 0x40, 0, 0, 0, 0});
}

TEST(data_types, s4_and_u4_are_quantized_and_saturate) {
    auto q = statement(direction::quantize, of(f32, {7}), of(s4, {7}), {f32, {7}, {1}});
    const auto src = encode_reals(f32, {1.5f, 2.5f, -100, 100, -8.5f, NAN, 7.4f});
    expect_gives(q, src, {}, {}, {0x22, 0x78, 0x88, 0xa7}); // 2 2 -8 7 -8 -8 7, and an unused nibble
    q.dst.type = u4;
    expect_gives(q, src, {}, {}, {0x22, 0xf0, 0x00, 0xa7}); // 2 2 0 15 0 0 7
}

TEST(data_types, zero_points_of_4_bits_are_packed_too) {
    auto q = statement(direction::dequantize, of(u4, {3, 2}), of(bf16, {3, 2}), {bf16, {1, 2}, {}});
    q.zero_points = {u4, {1, 2}, {}};
    // (9 - 8) * 1, (7 - 8) * 1; (15 - 15) * 2, (0 - 15) * 2; (1 - 3) * 0.5, (3 - 3) * 0.5
    expect_gives(q, as_bytes({0x79, 0x0f, 0x31}), encode_reals(bf16, {1, 2, 0.5f}), as_bytes({0xf8, 0x03}),
            {0x80, 0x3f, 0x80, 0xbf, 0, 0, 0xf0, 0xc1, 0x80, 0xbf, 0, 0});
}

TEST(data_types, a_group_may_span_two_dims) {
    auto q = statement(direction::dequantize, of(s4, {4, 4}), of(f16, {4, 4}), {f16, {2, 2}, {}});
    // All ones; scales 1, 2, 3, 4 for the quarters.
    expect_gives(q, as_bytes({0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}), encode_reals(f16, {1, 2, 3, 4}), {},
            {0, 0x3c, 0, 0x3c, 0, 0x40, 0, 0x40, 0, 0x3c, 0, 0x3c, 0, 0x40, 0, 0x40, 0, 0x42, 0, 0x42, 0, 0x44, 0, 0x44,
                    0, 0x42, 0, 0x42, 0, 0x44, 0, 0x44});
}

TEST(data_types, strides_count_elements_of_4_bits) {
    // src has columns of 3 at an odd distance. dst has rows of 2, each followed by a gap of one nibble.
    auto q = statement(direction::quantize, of(f32, {3, 2}), of(u4, {3, 2}, {3, 1}), {f32, {3, 2}, {1}});
    expect_gives(q, encode_reals(f32, {1, 2, 3, 4, 5, 6}), {}, {}, {0x21, 0x35, 0xa4, 0x65});
    q = statement(direction::dequantize, of(u4, {2, 3}, {1, 3}), of(bf16, {2, 3}), {f32, {2, 3}, {1}});
    // Offsets 0 3 6 and 1 4 7 of the nibbles 1 2 3 4 5 6 7 8: 1 4 7 2 5 8
    expect_gives(q, as_bytes({0x21, 0x43, 0x65, 0x87}), {}, {},
            {0x80, 0x3f, 0x80, 0x40, 0xe0, 0x40, 0, 0x40, 0xa0, 0x40, 0, 0x41});
}

TEST(data_types, f16_and_bf16_are_read_exactly) {
    auto q = statement(direction::quantize, of(f16, {4}), of(s8, {4}), {f32, {4}, {0x1p-24}});
    expect_gives(q, encode_reals(f16, {0x1p-24f, -0x1p-23f, 0x1p-17f, INFINITY}), {}, {}, {1, 0xfe, 127, 127});
    q = statement(direction::quantize, of(bf16, {3}), of(u8, {3}), {bf16, {3}, {}});
    // Subnormal by subnormal, 5 / 2; and 0x1.02p0 / 0x1p-7 = 129; NaN
    expect_gives(q, as_bytes({5, 0, 0x81, 0x3f, 0xc0, 0x7f}), as_bytes({2, 0}), {}, {2, 255, 0});
}

TEST(data_types, f16_and_bf16_results_are_rounded_twice) {
    // The product is 1 + 2^-8 + 2^-24, as f32 1 + 2^-8: a tie between two bf16, of which 1 is even.
    auto q = statement(direction::dequantize, of(s8, {1}), of(bf16, {1}), {f32, {1}, {11228502 * 0x1p-25}});
    expect_gives(q, as_bytes({3}), {}, {}, {0x80, 0x3f});
    // 127 * 0x1.0204p0 = 0x1.fffff8p6: bf16 has 0x1.fep6 and 0x1p7.
    q.scales.values = {0x1.0204p0};
    expect_gives(q, as_bytes({127}), {}, {}, {0, 0x43});
    // 127 * 516 = 65532, beyond 65520: infinity in f16
    q.scales.values = {516};
    q.dst.type = f16;
    expect_gives(q, as_bytes({127}), {}, {}, {0, 0x7c});
    expect_gives(q, as_bytes({126}), {}, {}, {0xf0, 0x7b}); // 65016, to 65024: steps of 32
}

/// 5 * scale is next to the midpoint of two numbers of dst's type, and rounds to that midpoint in f32. The result is
/// the even number of the two, not the nearer one. In units of 2^-26, where f32 between 1 and 2 are multiples of 8:
///   13428327: 5 s is 3 above 67141632, which is 1 + 2^-11. f16 has 1, which is even, and 1 + 2^-10.
///   13441433: 5 s is 3 below 67207168, which is 1 + 3 * 2^-11. f16 has 1 + 2^-10 and 1 + 2^-9, which is even.
///   13474202: 5 s is 2 above 67371008, which is 1 + 2^-8. bf16 has 1, which is even, and 1 + 2^-7.
///   13579059: 5 s is 1 below 67895296, which is 1 + 3 * 2^-8. bf16 has 1 + 2^-7 and 1 + 2^-6, which is even.
struct rounded_twice {
    data_type dst;
    double scale;
    std::uint32_t bits;
};
constexpr rounded_twice cases_rounded_twice[] = {{f16, 13428327 * 0x1p-26, 0x3c00}, {f16, 13441433 * 0x1p-26, 0x3c02},
        {bf16, 13474202 * 0x1p-26, 0x3f80}, {bf16, 13579059 * 0x1p-26, 0x3f82}};

TEST(data_types, the_f32_product_is_rounded_to_f16_and_bf16_in_every_layout) {
    struct layout {
        dims extents, block, src_strides = {}, dst_strides = {};
    };
    const layout layouts[] = {{{150}, {150}}, {{3, 70}, {1, 70}}, {{3, 70}, {3, 1}}, {{3, 96}, {1, 32}},
            {{3, 70}, {3, 1}, {}, {140, 2}}, {{2, 66, 70}, {2, 66, 70}, {66 * 70, 1, 66}},
            {{2, 66, 70}, {2, 66, 1}, {66 * 70, 1, 66}}, {{2, 66, 70}, {2, 1, 35}, {66 * 70, 1, 66}}};
    const std::pair<data_type, std::int64_t> sources[] = {
            {s8, -100}, {u8, 100}, {s4, 0}, {u4, 7}, {s16, 1000}, {s32, 0}};
    for (const auto &c : cases_rounded_twice)
        for (const auto &l : layouts)
            for (const auto &[src, zp] : sources)
                for (const int sign : {1, -1}) {
                    auto q = statement(direction::dequantize, of(src, l.extents, l.src_strides),
                            of(c.dst, l.extents, l.dst_strides), {f32, l.block, {}});
                    if (src == s16 || src == s32) q.rule = numerics::onnx;
                    if (zp != 0) q.zero_points = {src, l.block, {}};
                    const auto elements =
                            std::accumulate(l.extents.begin(), l.extents.end(), std::int64_t {1}, std::multiplies());
                    const auto all = [=](std::int64_t value) {
                        return std::vector(static_cast<std::size_t>(elements), value);
                    };
                    std::vector expected(bytes_spanned(q.dst), std::byte {0xa5});
                    for (std::int64_t i = 0, step = l.dst_strides.empty() ? 1 : 2; i < elements; ++i)
                        set_bits(c.dst, expected.data(), i * step, c.bits | (sign < 0 ? 0x8000U : 0));
                    const std::vector scales(static_cast<std::size_t>(elements), static_cast<float>(c.scale));
                    expect_bytes(q, encode(src, all(zp + 5 * sign)), encode_reals(f32, scales), encode(src, all(zp)),
                            expected);
                }
}

TEST(data_types, f8_overflows_to_nan_or_infinity_and_nan_stays) {
    auto q = statement(direction::quantize, of(f32, {9}), of(f8_e4m3, {9}), {f32, {9}, {0.5}});
    const auto src = encode_reals(f32, {0.5f, -0.0f, 224, 1e30f, -INFINITY, 0.53125f, 1, 232, 232.1f});
    expect_gives(q, src, {}, {}, {0x38, 0x80, 0x7e, 0x7f, 0xff, 0x38, 0x40, 0x7e, 0x7f}); // 464 is a tie, to 448
    q.dst.type = f8_e5m2;
    expect_gives(q, src, {}, {}, {0x3c, 0x80, 0x5f, 0x7c, 0xfc, 0x3c, 0x40, 0x5f, 0x5f}); // 448 = 1.75 * 2^8
    q = statement(direction::quantize, of(f32, {1}), of(f8_e4m3, {1}), {f32, {1}, {1}});
    expect_gives(q, encode_reals(f32, {NAN}), {}, {}, {0x7f});
    q.dst.type = f8_e5m2;
    expect_gives(q, encode_reals(f32, {NAN}), {}, {}, {0x7e}); // quiet
}

TEST(data_types, f8_is_dequantized_by_a_product) {
    auto q = statement(direction::dequantize, of(f8_e4m3, {4}), of(bf16, {4}), {f32, {4}, {2}});
    // 2^-9 * 2, 448 * 2, -0 * 2, 1.125 * 2
    expect_gives(q, as_bytes({1, 0x7e, 0x80, 0x39}), {}, {}, {0x80, 0x3b, 0x60, 0x44, 0, 0x80, 0x10, 0x40});
    q.src.type = f8_e5m2; // 2^-16 * 2, infinity, -0, 1.25 * 2^-1 * 2
    expect_gives(q, as_bytes({1, 0x7c, 0x80, 0x39}), {}, {}, {0, 0x38, 0x80, 0x7f, 0, 0x80, 0xa0, 0x3f});
}

TEST(data_types, known_parameters_are_rounded_to_their_type) {
    auto q = statement(direction::dequantize, of(s8, {1}), of(f32, {1}), {bf16, {1}, {1 + 0x3p-8}});
    expect_gives(q, as_bytes({1}), {}, {}, {0, 0, 0x82, 0x3f}); // 1 + 4 * 2^-8
    q.rule = numerics::onnx;
    q.scales = {f8_e4m3, {1}, {1.1875}};
    expect_gives(q, as_bytes({1}), {}, {}, {0, 0, 0xa0, 0x3f}); // a tie between 1.125 and 1.25
    q = statement(direction::quantize, of(f32, {1}), of(s8, {1}), {f8_e4m3, {1}, {464}});
    q.rule = numerics::onnx;
    expect_gives(q, encode_reals(f32, {896}), {}, {}, {2}); // a tie between 448 and what would be 480
    q.scales.values = {465};
    expect_gives(q, encode_reals(f32, {896}), {}, {}, {0x80}); // by NaN
}

TEST(data_types, scales_of_8_bits_serve_groups) {
    auto q = statement(direction::dequantize, of(f4_e2m1, {8}), of(f32, {8}), {f8_e8m0, {2}, {}});
    q.rule = numerics::onnx;
    // 1 and -6 by 2^-127, which is subnormal, by 2^-1, 2^-126 and 2^127, where 6 overflows
    const auto codes = as_bytes({0xf2, 0xf2, 0xf2, 0xf2});
    expect_gives(q, codes, as_bytes({0, 126, 1, 254}), {},
            {0, 0, 0x40, 0, 0, 0, 0x40, 0x81, 0, 0, 0, 0x3f, 0, 0, 0x40, 0xc0, 0, 0, 0x80, 0, 0, 0, 0xc0, 0x81, 0, 0, 0,
                    0x7f, 0, 0, 0x80, 0xff});
    // By 2^-9, the least f8_e4m3, by -1.5 * 2^-7, which is subnormal, by 2^-6 and 448
    q.scales.type = f8_e4m3;
    expect_gives(q, codes, as_bytes({1, 0x86, 0x08, 0x7e}), {},
            {0, 0, 0, 0x3b, 0, 0, 0x40, 0xbc, 0, 0, 0x40, 0xbc, 0, 0, 0x90, 0x3d, 0, 0, 0x80, 0x3c, 0, 0, 0xc0, 0xbd, 0,
                    0, 0xe0, 0x43, 0, 0, 0x28, 0xc5});
    // 2^-128 / 2^-127, 3 / 2^-1, 1 / NaN, -2^127 / 2^127; then 448 / 2^-9 and 6 by each of the others
    q = statement(direction::quantize, of(f32, {4}), of(f8_e4m3, {4}), {f8_e8m0, {1}, {}});
    q.rule = numerics::onnx;
    expect_gives(q, encode_reals(f32, {0x1p-128f, 3, 1, -0x1p127f}), as_bytes({0, 126, 0xff, 254}), {},
            {0x30, 0x4c, 0x7f, 0xb8});
    q.scales.type = f8_e4m3;
    q.saturate = true;
    expect_gives(q, encode_reals(f32, {448, 6, 6, 6}), as_bytes({1, 0x86, 0x7f, 0x7e}), {}, {0x7e, 0xfe, 0x7f, 0x07});
}

TEST(data_types, scales_of_f8_e4m3_are_multiplied_by_a_global_scale) {
    auto q = statement(direction::dequantize, of(f4_e2m1, {4}), of(f32, {4}), {f8_e4m3, {2}, {}});
    q.rule = numerics::onnx;
    q.second_scales = parameter {f32, {4}, {0.75}};
    // Codes 1, -6, 0.5, 4 by 1.5 * 0.75 = 1.125 and by 2^-9 * 0.75 = 1.5 * 2^-10: 1.125, -6.75, 1.5 * 2^-11, 3 * 2^-9
    expect_gives(q, as_bytes({0xf2, 0x61}), as_bytes({0x3c, 0x01}), {},
            {0, 0, 0x90, 0x3f, 0, 0, 0xd8, 0xc0, 0, 0, 0x40, 0x3a, 0, 0, 0xc0, 0x3b});
    // Scale and global scale are multiplied first: 0.1875 * f32(1 / 3) is 0.0625, and 6 * 0.0625 is 0.375.
    q.second_scales->values = {0x1.555556p-2};
    q.scales.block = {4};
    expect_gives(q, as_bytes({0x77, 0x77}), as_bytes({0x24}), {},
            {0, 0, 0xc0, 0x3e, 0, 0, 0xc0, 0x3e, 0, 0, 0xc0, 0x3e, 0, 0, 0xc0, 0x3e});
    q.second_scales->block = {2};
    const auto wrong = check(q);
    ASSERT_TRUE(wrong);
    EXPECT_EQ(wrong->status, status::invalid_shape);
    EXPECT_EQ(wrong->message, "second scales: expected the block of the whole tensor, 4, given 2");
    q.second_scales->block = {4};
    q.scales.type = f8_e8m0;
    EXPECT_EQ(check(q)->message, "second scales: expected none for dequantize, given some of f32");
}

/// Under numerics::onnx by one known scale.
quantization onnx_statement(direction dir, tensor src, tensor dst, data_type scales, double scale) {
    auto q = statement(dir, src, std::move(dst), {scales, src.dims, {scale}});
    q.rule = numerics::onnx;
    return q;
}

TEST(data_types, f6_lies_by_fours_in_three_bytes) {
    // The codes 01, 1f, 2a, 3f and 15 hex, by 2: as f6_e2m3 0.25, 15, -2.5, -15, 6.5
    const auto five = as_bytes({0xc1, 0xa7, 0xfe, 0xd5});
    auto q = onnx_statement(direction::dequantize, of(f6_e2m3, {5}), of(bf16, {5}), f8_e8m0, 2);
    expect_gives(q, five, {}, {}, {0x80, 0x3e, 0x70, 0x41, 0x20, 0xc0, 0x70, 0xc1, 0xd0, 0x40});
    q.src.type = f6_e3m2; // 0.125, 56, -1.5, -56, 10
    expect_gives(q, five, {}, {}, {0, 0x3e, 0x60, 0x42, 0xc0, 0xbf, 0x60, 0xc2, 0x20, 0x41});
    // The last two bits of dst are kept.
    q = onnx_statement(direction::quantize, of(f32, {5}), of(f6_e2m3, {5}), f8_e8m0, 2);
    expect_gives(q, encode_reals(f32, {0.25f, 100, -2.5f, -INFINITY, 6.5f}), {}, {}, {0xc1, 0xa7, 0xfe, 0x95});
    expect_gives(q, encode_reals(f32, {0.375f, NAN, -2.375f, -16, 6.25f}), {}, {}, {0xc2, 0xa7, 0xfe, 0x94}); // ties
    q = onnx_statement(direction::quantize, of(f32, {5}), of(f6_e3m2, {5}), f8_e4m3, 0.5);
    expect_gives(q, encode_reals(f32, {0.03125f, NAN, -0.375f, -1e30f, 2.5f}), {}, {}, {0xc1, 0xa7, 0xfe, 0x95});
}

TEST(data_types, strides_count_elements_of_6_bits) {
    // dst has gaps at elements 2 and 5, which keep their codes 1a and 16 hex.
    auto q = onnx_statement(direction::quantize, of(f32, {3, 2}), of(f6_e2m3, {3, 2}, {3, 1}), f32, 1);
    const auto src = encode_reals(f32, {1, 2, 3, 4, 5, 6}); // 08, 10, 14, 18, 1a and 1c hex
    expect_gives(q, src, {}, {}, {0x08, 0xa4, 0x51, 0x98, 0xa5, 0x71});
    q = onnx_statement(direction::quantize, of(f32, {2, 3}), of(f6_e2m3, {2, 3}, {1, 3}), f32, 1);
    expect_gives(q, src, {}, {}, {0x08, 0xa6, 0x41, 0x9a, 0x45, 0x71});
    q = onnx_statement(direction::dequantize, of(f6_e2m3, {2, 3}, {1, 3}), of(bf16, {2, 3}), f32, 1);
    expect_gives(q, as_bytes({0x08, 0xa4, 0x51, 0x98, 0xa5, 0x71}), {}, {}, // 1, 3, 5, 2, 4, 6
            {0x80, 0x3f, 0x40, 0x40, 0xa0, 0x40, 0, 0x40, 0x80, 0x40, 0xc0, 0x40});
}

/// Groups as long as those of MX and NVFP4: one scale for each 32 or 16 elements.
TEST(data_types, groups_of_mx_and_nvfp4_have_the_products_of_their_scale) {
    struct format {
        data_type codes, scales;
        std::int64_t group;
    };
    constexpr std::int64_t rows = 3, groups = 5;
    for (const auto &f : {format {f8_e4m3, f8_e8m0, 32}, format {f8_e5m2, f8_e8m0, 32}, format {f4_e2m1, f8_e8m0, 32},
                 format {f6_e2m3, f8_e8m0, 32}, format {f6_e3m2, f8_e8m0, 32}, format {s8, f8_e8m0, 32},
                 format {f4_e2m1, f8_e4m3, 16}, format {s4, f8_e4m3, 16}}) {
        const auto columns = groups * f.group, count = rows * columns;
        auto q = statement(direction::dequantize, of(f.codes, {rows, columns}), of(f32, {rows, columns}),
                {f.scales, {1, f.group}, {}});
        q.rule = numerics::onnx;
        std::vector<std::byte> src(bytes_for(f.codes, count)), scales(rows * groups), expected(bytes_for(f32, count));
        const auto scale_of = [&](std::int64_t i) { return real_from(f.scales, get_bits(f.scales, scales.data(), i)); };
        for (std::int64_t i = 0; i < rows * groups; ++i)
            set_bits(f.scales, scales.data(), i, static_cast<std::uint32_t>(f.scales == f8_e8m0 ? 120 + i : 17 * i));
        for (std::int64_t i = 0; i < count; ++i) {
            const auto code = static_cast<std::uint32_t>(f.codes == f8_e5m2 || f.codes == f8_e4m3 ? i % 120 : i * 7);
            set_bits(f.codes, src.data(), i, code);
            const auto stored = get_bits(f.codes, src.data(), i);
            const float x = is_integer(f.codes) ? static_cast<float>(integer_from(f.codes, stored))
                                                : real_from(f.codes, stored);
            set_bits(f32, expected.data(), i, std::bit_cast<std::uint32_t>(x * scale_of(i / f.group))); // exact
        }
        expect_bytes(q, src, scales, {}, expected);
    }
}

} // namespace
} // namespace dynquant::test
