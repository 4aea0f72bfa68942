// Under numerics::onnx quotients next to ties are right: the quotient is rounded to float, then to dst. Each element of
// src is as close to a tie as floats allow. Tested on every kernel and with all layouts of scales.
#include <algorithm>

#include "onnx_quantizing.hpp"
#include "support/random.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

/// Scales between 2^-12 and 2^12: 8 significands whose quotients approximations easily round wrong (among them the
/// greatest, and some of tests/kernels), and 56 random ones.
std::vector<float> scales_to_try() {
    std::vector<float> scales;
    for (const auto significand : {0xffffff, 0xf4fffe, 0xc9e3ff, 0xbad0ff, 0x800001, 0x800000, 0xaaaaab, 0xfffffe})
        scales.push_back(std::ldexp(static_cast<float>(significand), -24));
    random_source random(1);
    while (scales.size() < 64)
        scales.push_back(std::abs(random.exponent_within(-12, 12)));
    return scales;
}

reals halves(int count) {
    reals ties;
    for (int i = 0; i < count; ++i)
        ties.push_back(i + 0.5);
    return ties;
}

/// Every `step`th midpoint between neighbouring numbers of a float type.
reals midpoints(data_type type, std::uint32_t highest, std::uint32_t step) {
    reals ties;
    for (std::uint32_t code = 0; code < highest; code += step)
        ties.push_back(
                (static_cast<double>(real_from(type, code)) + static_cast<double>(real_from(type, code + 1))) / 2);
    return ties;
}

/// Dividends whose quotients are next to ties: the 5 floats around tie * scale, of both signs.
std::vector<float> next_to(const reals &ties, float scale) {
    std::vector<float> x;
    for (const double tie : ties)
        for (const float sign : {1.0F, -1.0F}) {
            const auto middle = static_cast<float>(tie * static_cast<double>(scale));
            float value = std::nextafter(std::nextafter(middle, 0.0F), 0.0F);
            for (int step = 0; step < 5; ++step, value = std::nextafter(value, 2 * middle))
                x.push_back(sign * value);
        }
    return x;
}

/// The bits of RN(x / scale), rounded to dst, plus zp. The quotient in double, which has more than twice the bits,
/// rounds to the same float as the exact one (Figueroa, "When is double rounding innocuous?", 1995).
std::int64_t expected_of(data_type dst, float x, float scale, std::int64_t zp) {
    const auto quotient = static_cast<float>(static_cast<double>(x) / static_cast<double>(scale));
    if (!is_integer(dst)) return get_bits(dst, encode_reals(dst, {quotient}).data(), 0);
    const auto [lowest, highest] = range_of(dst);
    const auto sum = static_cast<std::int64_t>(std::nearbyint(quotient)) + zp; // halves to even
    return get_bits(
            dst, encode(dst, integers {std::clamp(sum, std::int64_t {lowest}, std::int64_t {highest})}).data(), 0);
}

/// The layout of the scales of several rows of elements next to ties.
struct scale_layout {
    bool in_columns = false;        // each row of ties becomes columns
    std::int64_t columns = 1;       // if in_columns: the number of columns
    std::int64_t blocks_of_row = 1; // otherwise: the number of blocks of a row, all with the same scale
};

/// A row of elements next to ties for each scale.
struct rows_of_ties {
    data_type dst;
    reals ties;
    std::optional<std::int64_t> zp = {};

    void expect_right(const std::vector<float> &scales, const scale_layout &at) const {
        const auto count = static_cast<std::int64_t>(scales.size()) * at.columns,
                   length = static_cast<std::int64_t>(ties.size()) * 10;
        quantization q;
        q.rule = numerics::onnx;
        const dims extents = at.in_columns ? dims {length, count} : dims {count, length};
        q.src = {f32, extents, {}};
        q.dst = {dst, extents, {}};
        q.scales = {f32, at.in_columns ? dims {length, at.columns} : dims {1, length / at.blocks_of_row}};
        if (zp) q.zero_points = {dst, q.scales.block};

        std::vector<std::vector<float>> rows;
        for (const float scale : scales)
            rows.push_back(next_to(ties, scale));
        std::vector<float> x, scale_of_block;
        const auto number_of = [&](std::int64_t i) {
            return static_cast<std::size_t>(at.in_columns ? i % count / at.columns : i / length);
        };
        for (std::int64_t i = 0; i < count * length; ++i)
            x.push_back(rows[number_of(i)][static_cast<std::size_t>(at.in_columns ? i / count : i % length)]);
        for (const float scale : scales)
            scale_of_block.insert(scale_of_block.end(), static_cast<std::size_t>(at.blocks_of_row), scale);
        const integers zero_points(zp ? scale_of_block.size() : 0, zp.value_or(0));
        const auto bytes = computed(q,
                {encode_reals(f32, x), encode_reals(f32, scale_of_block),
                        zp ? encode(dst, zero_points) : std::vector<std::byte> {}});

        for (std::int64_t i = 0; i < count * length; ++i) {
            const auto element = x[static_cast<std::size_t>(i)], scale = scales[number_of(i)];
            ASSERT_EQ(get_bits(dst, bytes.data(), i), expected_of(dst, element, scale, zp.value_or(0)))
                    << to_string(dst) << ": " << element << " by " << scale;
        }
    }

    void expect_right_everywhere() const {
        const auto scales = scales_to_try();
        const auto length = static_cast<std::int64_t>(ties.size()) * 10;
        expect_right(scales, {});
        expect_right(scales, {.in_columns = true});
        expect_right(scales, {.in_columns = true, .columns = 5});
        for (const std::int64_t block : {32, 10})
            if (length % block == 0) expect_right(scales, {.blocks_of_row = length / block});
        for (const float scale : scales) // one scale for enough elements to be worth its preparation
            expect_right({scale}, {});
    }
};

void expect_integers_right_everywhere(data_type dst, int ties) {
    for (const auto zp : {std::optional<std::int64_t> {}, std::optional<std::int64_t> {3}})
        rows_of_ties {dst, halves(ties), zp}.expect_right_everywhere();
}

TEST(onnx_numerics, ties_of_8_bits_are_met_exactly) {
    for (const auto type : {u8, s8})
        expect_integers_right_everywhere(type, 256); // exceeds the range with both signs
}

TEST(onnx_numerics, ties_of_4_bits_are_met_exactly) {
    for (const auto type : {u4, s4})
        expect_integers_right_everywhere(type, 64);
}

TEST(onnx_numerics, ties_of_16_bits_are_met_exactly) {
    for (const auto type : {u16, s16})
        expect_integers_right_everywhere(type, 256);
    // 0xbadd09 2^14 / 0xc9e3ff is 15164.5 + 2^-11 (1 + 2^-23.7), just above the middle between the tie and the next
    // float.
    constexpr double scale = 0xc9e3ff, x = 0xbadd09 * 0x1p14;
    for (const std::size_t count : {1U, 1000U, 20000U})
        EXPECT_EQ(quantizing {u16}.values(reals(count, x), scale), integers(count, 15165));
    const auto same = static_cast<float>(scale);
    for (const bool in_columns : {false, true})
        rows_of_ties {u16, halves(15166)}.expect_right({same, same}, {.in_columns = in_columns});
}

TEST(onnx_numerics, ties_of_floats_are_met_exactly) {
    rows_of_ties {f8_e4m3, midpoints(f8_e4m3, 0x7e, 1)}.expect_right_everywhere();
    rows_of_ties {f8_e5m2, midpoints(f8_e5m2, 0x7b, 1)}.expect_right_everywhere();
    rows_of_ties {f4_e2m1, midpoints(f4_e2m1, 7, 1)}.expect_right_everywhere();
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
