// numerics::onnx next to ties: the float quotient decides, and rounding it decides the integer. Every element of src is
// as close to a tie as a float comes, on every kernel that claims a statement, however the scales lie.
#include <algorithm>

#include "onnx_quantizing.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

/// Scales of all kinds of significands: those whose quotients approximations round wrongly first (the greatest, and
/// some of tests/unit's), and 56 drawn ones, between 2^-12 and 2^12.
std::vector<float> scales_to_try() {
    std::vector<float> scales;
    for (const auto significand : {0xffffff, 0xf4fffe, 0xc9e3ff, 0xbad0ff, 0x800001, 0x800000, 0xaaaaab, 0xfffffe})
        scales.push_back(std::ldexp(static_cast<float>(significand), -24));
    std::uint32_t state = 1;
    while (scales.size() < 64) {
        state = state * 1664525 + 1013904223;
        scales.push_back(std::ldexp(static_cast<float>(0x800000 | state >> 9), static_cast<int>(state % 25) - 12 - 23));
    }
    return scales;
}

/// What is between `halves` ties and their neighbours in src: from 2 floats below one tie times the scale to 2 above.
std::vector<float> next_to_ties(float scale, int halves) {
    std::vector<float> x;
    for (int half = 0; half < halves; ++half)
        for (const float sign : {1.0F, -1.0F}) {
            const auto tie = static_cast<float>((half + 0.5) * scale);
            float value = std::nextafter(std::nextafter(tie, 0.0F), 0.0F);
            for (int step = 0; step < 5; ++step, value = std::nextafter(value, 2 * tie))
                x.push_back(sign * value);
        }
    return x;
}

/// RNE(RN(x / scale)) + zp, saturated. The quotient in double, which has more than twice the bits, rounds to the same
/// float as the exact one (Figueroa, "When is double rounding innocuous?", 1995).
std::int64_t expected_of(data_type dst, float x, float scale, std::int64_t zp) {
    const auto quotient = static_cast<float>(static_cast<double>(x) / static_cast<double>(scale));
    const auto [lowest, highest] = range_of(dst);
    const auto sum = static_cast<std::int64_t>(std::nearbyint(quotient)) + zp; // halves to even
    return std::clamp(sum, std::int64_t {lowest}, std::int64_t {highest});
}

/// A row of ties for each scale, or a column, under the blocks of scales that are given.
struct ties {
    data_type dst;
    int halves;
    bool in_columns = false;
    std::int64_t scales_of_row =
            1; // where not in columns: blocks along the row under the same scale, one after another
    std::optional<std::int64_t> zp = {};

    void expect_right(const std::vector<float> &scales) const {
        std::vector<std::vector<float>> rows;
        for (const float scale : scales)
            rows.push_back(next_to_ties(scale, halves));
        const auto count = static_cast<std::int64_t>(scales.size()),
                   length = static_cast<std::int64_t>(rows.front().size());
        quantization q;
        q.rule = numerics::onnx;
        const dims extents = in_columns ? dims {length, count} : dims {count, length};
        q.src = {f32, extents, {}};
        q.dst = {dst, extents, {}};
        q.scales = {f32, in_columns ? dims {length, 1} : dims {1, length / scales_of_row}};
        if (zp) q.zero_points = {dst, q.scales.block};
        std::vector<float> x, scale_of;
        integers expected;
        for (std::int64_t i = 0; i < count * length; ++i) {
            const auto number = static_cast<std::size_t>(in_columns ? i % count : i / length);
            const auto element = static_cast<std::size_t>(in_columns ? i / count : i % length);
            x.push_back(rows[number][element]);
            expected.push_back(expected_of(dst, x.back(), scales[number], zp.value_or(0)));
        }
        for (const float scale : scales)
            scale_of.insert(scale_of.end(), static_cast<std::size_t>(scales_of_row), scale);
        const integers zero_points(zp ? scale_of.size() : 0, zp.value_or(0));
        const auto bytes = computed(q,
                {encode_reals(f32, x), encode_reals(f32, scale_of),
                        zp ? encode(dst, zero_points) : std::vector<std::byte> {}});
        for (std::int64_t i = 0; i < count * length; ++i) {
            const auto index = static_cast<std::size_t>(i);
            ASSERT_EQ(integer_from(dst, static_cast<std::uint32_t>(get_bits(dst, bytes.data(), i))), expected[index])
                    << to_string(dst) << ": " << x[index] << " by "
                    << scales[static_cast<std::size_t>(in_columns ? i % count : i / length)];
        }
    }
};

void expect_right_everywhere(data_type dst, int halves, std::int64_t zp) {
    const auto scales = scales_to_try();
    for (const auto &zero : {std::optional<std::int64_t> {}, std::optional {zp}}) {
        ties {dst, halves, false, 1, zero}.expect_right(scales);
        ties {dst, halves, true, 1, zero}.expect_right(scales);
        for (const std::int64_t length : {32, 10})
            ties {dst, halves, false, halves * 10 / length, zero}.expect_right(scales);
        for (const float scale : scales) // alone, over enough elements for all that one scale is worth
            ties {dst, halves, false, 1, zero}.expect_right({scale});
    }
}

TEST(onnx_numerics, ties_of_8_bits_are_met_exactly) {
    for (const auto type : {u8, s8})
        expect_right_everywhere(type, 256, 3); // 2560 elements a scale: beyond the range with either sign
}

TEST(onnx_numerics, ties_of_4_bits_are_met_exactly) {
    for (const auto type : {u4, s4})
        expect_right_everywhere(type, 64, 3);
}

TEST(onnx_numerics, ties_of_16_bits_are_met_exactly) {
    for (const auto type : {u16, s16})
        expect_right_everywhere(type, 512, 3);
    // 0xbadd09 2^14 / 0xc9e3ff is 15164.5 + 2^-11 (1 + 2^-23.7), just above the middle between the tie and the next
    // float.
    constexpr double scale = 0xc9e3ff, x = 0xbadd09 * 0x1p14;
    for (const std::size_t count : {1U, 1000U, 20000U})
        EXPECT_EQ(quantizing {u16}.values(reals(count, x), scale), integers(count, 15165));
    for (const bool in_columns : {false, true})
        ties {u16, 15166, in_columns}.expect_right({static_cast<float>(scale), static_cast<float>(scale)});
}

TEST(onnx_numerics, a_quotient_just_above_a_half_is_1) {
    // 2^23 / (2^24 - 1) is 1/2 + 2^-25 (1 + 2^-24 ...), a float more than the half.
    for (const std::size_t count : {1U, 100U, 1000U, 20000U}) {
        EXPECT_EQ(quantizing {u8}.values(reals(count, 0x1p23), 0xffffff, 4), integers(count, 5));
        EXPECT_EQ(quantizing {u8}.values(reals(count, 0x1p23), 0x1000000, 4), integers(count, 4));
    }
}

} // namespace
} // namespace dynquant::test
