// Computed scales (dynquant/scale_rule.hpp): scales, zero points and codes, worked out by hand, on every kernel.
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <ostream>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace dynquant::test {
namespace {

using enum data_type;
using reals = std::vector<float>;
using enum scale_rounding;

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr float max = std::numeric_limits<float>::max();
constexpr auto minmax = scale_range::minmax;

/// Everything as reals, which hold each value exactly.
struct outcome {
    reals scales, codes, zero_points = {};
};

/// NaN is NaN, and 0 is not -0.
bool same(const reals &a, const reals &b) {
    return std::ranges::equal(a, b, [](float x, float y) {
        return std::isnan(x) ? std::isnan(y) : std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    });
}
bool operator==(const outcome &a, const outcome &b) {
    return same(a.scales, b.scales) && same(a.codes, b.codes) && same(a.zero_points, b.zero_points);
}
std::ostream &operator<<(std::ostream &out, const outcome &o) {
    return out << "scales " << testing::PrintToString(o.scales) << ", codes " << testing::PrintToString(o.codes)
               << ", zero points " << testing::PrintToString(o.zero_points);
}

reals decoded(data_type type, const std::vector<std::byte> &bytes, std::int64_t count) {
    reals values;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = get_bits(type, bytes.data(), i);
        values.push_back(is_integer(type) ? static_cast<float>(integer_from(type, bits)) : real_from(type, bits));
    }
    return values;
}

/// From the first element to the last, gaps included.
std::int64_t elements_spanned(const tensor &t) {
    std::int64_t last = 0, dense = 1;
    for (std::size_t d = t.dims.size(); d-- > 0;) {
        last += (t.dims[d] - 1) * (t.strides.empty() ? dense : t.strides[d]);
        dense *= t.dims[d];
    }
    return last + 1;
}

/// The outcome on which all kernels agree. native must compute codes of 8 bits.
outcome by_all(quantization q, const reals &x, std::optional<float> global = {}) {
    const auto count = elements_spanned(q.dst);
    std::int64_t parameters = 1;
    for (std::size_t d = 0; d < q.src.dims.size(); ++d)
        parameters *= (q.src.dims[d] + q.scales.block[d] - 1) / q.scales.block[d];
    if (global) q.second_scales = {f32, q.src.dims, {}};
    sample s;
    s.q = q;
    const auto src = encode_reals(q.src.type, x);
    std::optional<outcome> result;
    for (const auto &v : variants_for(s)) {
        std::vector dst(bytes_spanned(q.dst), std::byte {0}),
                scales(bytes_for(q.scales.type, parameters), std::byte {0}),
                zps(bytes_for(q.dst.type, parameters), std::byte {0});
        arguments args;
        args.src = src.data();
        args.dst = q.computed->scales_only ? nullptr : dst.data();
        args.second_scales = global ? &*global : nullptr;
        args.computed_scales = scales.data();
        args.computed_zero_points = q.zero_points ? zps.data() : nullptr;
        prepare(q, v.forced()).run(args);
        outcome given {decoded(q.scales.type, scales, parameters), {}, {}};
        if (!q.computed->scales_only) given.codes = decoded(q.dst.type, dst, count);
        if (q.zero_points) given.zero_points = decoded(q.dst.type, zps, parameters);
        if (!result) result = given;
        EXPECT_EQ(*result, given) << v << ": " << describe(q);
    }
    return *result;
}

/// Quantizes a row, in one block or more.
struct computing {
    data_type dst = s8;
    scale_rule rule = {};
    data_type scales = f32, src = f32;
    bool saturate = false;
    std::optional<float> global = {};
    std::int64_t block = 0; // the row

    outcome operator()(const reals &x) const {
        const auto count = static_cast<std::int64_t>(x.size());
        quantization q;
        q.rule = numerics::onnx;
        q.src = {src, {count}, {}};
        q.dst = {dst, {count}, {}};
        q.scales = {scales, {block == 0 ? count : block}, {}};
        if (rule.range == minmax) q.zero_points = {dst, q.scales.block, {}};
        q.computed = rule;
        q.saturate = saturate;
        const auto at_run = by_all(q, x, global);
        if (!global || !(*global > 0 && *global <= max)) return at_run; // others must not be known
        q.second_scales = {f32, {count}, {*global}};
        EXPECT_EQ(by_all(q, x), at_run) << "with a known global scale";
        return at_run;
    }
};

// ---- Ranges and divisors

TEST(computed_scales, absmax_divides_by_half_of_the_codes) {
    // 127.5 and 7.5. The highest code is below R / s, the lowest is reached.
    EXPECT_EQ((computing {s8}({127.5, -63.75, 1.5, 0.5, 2.5, -127.5})), (outcome {{1}, {127, -64, 2, 0, 2, -128}}));
    EXPECT_EQ((computing {s4}({7.5, -7.5, 0.5, 1.5, 7.25, -6.5})), (outcome {{1}, {7, -8, 0, 2, 7, -6}}));
    EXPECT_EQ((computing {s8}({-255, 1, 254, 3})), (outcome {{2}, {-128, 0, 127, 2}})); // 0.5 and 1.5 are ties
}

TEST(computed_scales, narrow_divides_by_the_highest_code) {
    EXPECT_EQ((computing {s8, {.narrow = true}}({127, -127, 126.5, -1.5})), (outcome {{1}, {127, -127, 126, -2}}));
    EXPECT_EQ((computing {s4, {.narrow = true}}({3.5, -3.5, 0.25, 0.75})), (outcome {{0.5}, {7, -7, 0, 2}}));
    // f16 rounds the scale 1 + 2^-11 down to 1; R / s is 127.06.
    EXPECT_EQ((computing {s8, {.narrow = true}, f16}({-127 - 127 * 0x1p-11F, 64})), (outcome {{1}, {-127, 64}}));
}

TEST(computed_scales, minmax_has_zero_in_its_range) {
    EXPECT_EQ((computing {u8, {.range = minmax}}({-1, 254, 0, 3.5})), (outcome {{1}, {0, 255, 1, 5}, {1}}));
    EXPECT_EQ((computing {u8, {.range = minmax}}({5, 255})), (outcome {{1}, {5, 255}, {0}}));
    EXPECT_EQ((computing {u8, {.range = minmax}}({-255, -1})), (outcome {{1}, {0, 254}, {255}}));
    EXPECT_EQ((computing {u4, {.range = minmax}}({-5, 10, 1})), (outcome {{1}, {0, 15, 6}, {5}}));
    EXPECT_EQ((computing {s8, {.range = minmax}}({-1, 254, 0})), (outcome {{1}, {-128, 127, -127}, {-127}}));
    EXPECT_EQ((computing {s4, {.range = minmax}}({-5, 10, 0})), (outcome {{1}, {-8, 7, -3}, {-3}}));
}

TEST(computed_scales, narrow_minmax_divides_by_twice_the_highest_code) {
    EXPECT_EQ((computing {s8, {.range = minmax, .narrow = true}}({-27, 227, 0})),
            (outcome {{1}, {-127, 127, -100}, {-100}}));
    EXPECT_EQ((computing {s4, {.range = minmax, .narrow = true}}({-4, 10, 0})), (outcome {{1}, {-7, 7, -3}, {-3}}));
}

TEST(computed_scales, narrow_codes_stay_narrow_where_zero_point_and_code_round_apart) {
    // s = 3810 / 254 = 15, lo / s = -2.5, a tie: the zero point is -127 + 2. f32(1 / 15) is above 1 / 15: -37.5 times
    // it rounds to -3, which the zero point takes to -128; 3772.5 times it to 252.
    const scale_rule rule = {.range = minmax, .narrow = true, .quotient = scale_quotient::multiply_reciprocal};
    EXPECT_EQ((computing {s8, rule}({-37.5, 3772.5, 0})), (outcome {{15}, {-127, 127, -125}, {-125}}));
}

TEST(computed_scales, zero_points_are_rounded_to_even_before_they_are_subtracted) {
    // -0.5 rounds to 0, -1.5 to -2. s8: -128 + 0, -128 + 2. Codes are rounded before the zero point is added.
    EXPECT_EQ((computing {u8, {.range = minmax}}({-0.5, 254.5})), (outcome {{1}, {0, 254}, {0}}));
    EXPECT_EQ((computing {u8, {.range = minmax}}({-1.5, 253.5, 0.5})), (outcome {{1}, {0, 255, 2}, {2}}));
    EXPECT_EQ((computing {s8, {.range = minmax}}({-1.5, 253.5})), (outcome {{1}, {-128, 127}, {-126}}));
}

TEST(computed_scales, zero_points_use_the_scale_as_stored) {
    // (hi - lo) / 255 is 1 + 2^-11, which f16 rounds to 1; lo is -0.5 - 2^-12: 1 step, and 0.5 by the scale unrounded.
    const float lo = -0.5F - 0x1p-12F, hi = 255 + 255 * 0x1p-11F + lo;
    EXPECT_EQ((computing {u8, {.range = minmax}, f16}({lo, hi})), (outcome {{1}, {0, 255}, {1}}));
}

TEST(computed_scales, ranges_of_floats_are_divided_by_the_largest_number) {
    EXPECT_EQ((computing {f8_e4m3}({896, -448, 3})), (outcome {{2}, {448, -224, 1.5}}));
    EXPECT_EQ((computing {f8_e5m2}({28672, -3})), (outcome {{0.5}, {57344, -6}}));
    EXPECT_EQ((computing {f6_e2m3}({15, 2.25, 0.125})), (outcome {{2}, {7.5, 1.125, 0}})); // 0.0625 is a tie
    EXPECT_EQ((computing {f6_e3m2}({28, -9, 0.0625})), (outcome {{1}, {28, -8, 0.0625}})); // 9 is a tie of 8 and 10
    EXPECT_EQ((computing {f4_e2m1}({-6, 2.5, 0.25, -0.75})), (outcome {{1}, {-6, 2, 0, -1}}));
}

// ---- The scale

TEST(computed_scales, are_at_least_the_least) {
    // 12.75 / 127.5 is below 0.5, 127.5 / 127.5 is not.
    EXPECT_EQ((computing {s8, {.least = 0.5}}({12.75, -1})), (outcome {{0.5}, {26, -2}})); // 25.5
    EXPECT_EQ((computing {s8, {.least = 0.5}}({127.5})), (outcome {{1}, {127}}));
    EXPECT_EQ((computing {u8, {.range = minmax, .least = 0.5}}({-1, 2})), (outcome {{0.5}, {0, 6}, {2}}));
    EXPECT_EQ((computing {f4_e2m1, {.least = 0.25}}({0.75, 0.125})), (outcome {{0.25}, {3, 0.5}}));
}

TEST(computed_scales, of_zeros_are_of_zero) {
    EXPECT_EQ((computing {s8}({0, -0.0F})), (outcome {{1}, {0, 0}}));
    EXPECT_EQ((computing {s8, {.least = 0.5, .of_zero = 0.25}}({0, 0})), (outcome {{0.25}, {0, 0}}));
    EXPECT_EQ((computing {u8, {.range = minmax, .of_zero = 3}}({0, 0})), (outcome {{3}, {0, 0}, {0}}));
    EXPECT_EQ((computing {s8, {.range = minmax, .of_zero = 3}}({0})), (outcome {{3}, {-128}, {-128}}));
    EXPECT_EQ((computing {f4_e2m1}({0, -0.0F})), (outcome {{1}, {0, -0.0F}}));
    // It is rounded to the scales' type: 1e-30 is 0 in f16, 0.3 is 9.6 of the steps of e4m3 there, 2^-5.
    EXPECT_EQ((computing {s8, {.of_zero = 1e-30}, f16}({0})), (outcome {{0}, {0}}));
    EXPECT_EQ((computing {s8, {.of_zero = 0.3}, f8_e4m3}({0})), (outcome {{0.3125}, {0}}));
}

TEST(computed_scales, least_and_of_zero_are_rounded_to_f32_and_then_to_the_type) {
    // By way of f32, where 2^-40 is lost, these are ties, which go down to even; at once they would go up.
    const std::pair<data_type, double> ties[] = {
            {f16, 1 + 0x1p-11 + 0x1p-40}, {bf16, 1 + 0x1p-8 + 0x1p-40}, {f8_e4m3, 1 + 0x1p-4 + 0x1p-40}};
    for (const auto &[type, value] : ties) {
        EXPECT_EQ((computing {s8, {.of_zero = value}, type}({0})), (outcome {{1}, {0}}));
        EXPECT_EQ((computing {s8, {.narrow = true, .least = value}, type}({12, -3})), (outcome {{1}, {12, -3}}));
    }
    // Above the tie of 1 and 1 + 2^-23. 1e-46 is 0 in f32.
    EXPECT_EQ((computing {s8, {.of_zero = 1 + 0x1p-24 + 0x1p-50}}({0})), (outcome {{1 + 0x1p-23F}, {0}}));
    EXPECT_EQ((computing {s8, {.narrow = true, .least = 1 + 0x1p-24 + 0x1p-50}}({3})), (outcome {{1 + 0x1p-23F}, {3}}));
    EXPECT_EQ((computing {s8, {.of_zero = 1e-46}}({0})), (outcome {{0}, {0}}));
    // So least above 0 keeps no scale from 0: 1e-30 is 0 in f16.
    EXPECT_EQ((computing {s8, {.least = 1e-30}, f16}({1e-20F})), (outcome {{0}, {127}}));
}

TEST(computed_scales, floats_of_zeros_keep_the_sign) {
    using enum scale_quotient;
    for (const auto dst : {f8_e4m3, f8_e5m2, f4_e2m1, f6_e2m3, f6_e3m2})
        for (const auto type : {f32, f16, bf16, f8_e4m3, f8_e8m0})
            for (const auto quotient : {divide, multiply_reciprocal}) {
                const bool to_powers = type == f8_e8m0;
                const scale_rule rule = {.rounding = to_powers ? floor : nearest, .quotient = quotient};
                const float scale = to_powers ? 0x1p-127F : 1;
                EXPECT_EQ((computing {dst, rule, type}({0, -0.0F, -0.0F})), (outcome {{scale}, {0, -0.0F, -0.0F}}));
                auto skipping = rule; // what is skipped counts as 0, not as -0
                skipping.special = nonfinite::skip;
                EXPECT_EQ((computing {dst, skipping, type}({-infinity, -0.0F, -nan})),
                        (outcome {{scale}, {0, -0.0F, 0}}));
            }
    EXPECT_EQ((computing {f4_e2m1, {.quotient = multiply_range}}({0, -0.0F})), (outcome {{1}, {0, -0.0F}}));
}

TEST(computed_scales, zeros_have_their_code_even_by_a_scale_of_zero) {
    using enum scale_quotient;
    for (const auto quotient : {divide, multiply_reciprocal, multiply_range})
        EXPECT_EQ((computing {s8, {.narrow = true, .of_zero = 0, .quotient = quotient}}({0, -0.0F})),
                (outcome {{0}, {0, 0}}));
    for (const auto quotient : {divide, multiply_reciprocal}) {
        EXPECT_EQ((computing {f4_e2m1, {.of_zero = 0, .quotient = quotient}}({0, -0.0F})), (outcome {{0}, {0, -0.0F}}));
        // 0 / 0 of the zero point is NaN.
        EXPECT_EQ((computing {s8, {.range = minmax, .of_zero = 0, .quotient = quotient}}({0})),
                (outcome {{0}, {127}, {127}}));
    }
}

TEST(computed_scales, are_rounded_to_even_in_their_type) {
    const scale_rule narrow {.narrow = true};
    // 1 + 2^-11 and 1 + 3 * 2^-11 are ties of f16; 1 + 2^-8 and 1 + 3 * 2^-8 of bf16.
    EXPECT_EQ((computing {s8, narrow, f16}({127 + 127 * 0x1p-11F})), (outcome {{1}, {127}}));
    EXPECT_EQ((computing {s8, narrow, f16}({127 + 381 * 0x1p-11F})), (outcome {{1 + 0x1p-9F}, {127}}));
    EXPECT_EQ((computing {s8, narrow, bf16}({127 + 127 * 0x1p-8F})), (outcome {{1}, {127}}));
    EXPECT_EQ((computing {s8, narrow, bf16}({127 + 381 * 0x1p-8F})), (outcome {{1 + 0x1p-6F}, {127}})); // 126.51
    // 1.0625 and 1.1875 are ties of e4m3.
    EXPECT_EQ((computing {s8, narrow, f8_e4m3}({127 * 1.0625F, 1})), (outcome {{1}, {127, 1}}));
    EXPECT_EQ((computing {s8, narrow, f8_e4m3}({127 * 1.1875F})), (outcome {{1.25}, {121}})); // 120.65
}

TEST(computed_scales, overflow_in_f16_and_saturate_in_e4m3) {
    const scale_rule narrow {.narrow = true};
    EXPECT_EQ((computing {s8, narrow, f16}({127.0F * 65519, 1})), (outcome {{65504}, {127, 0}}));
    EXPECT_EQ((computing {s8, narrow, f16}({127.0F * 65520, 1})), (outcome {{infinity}, {0, 0}}));
    EXPECT_EQ((computing {u8, {.range = minmax}, f16}({255.0F * 65520, -1})), (outcome {{infinity}, {0, 0}, {0}}));
    EXPECT_EQ((computing {f4_e2m1, {}, f16}({6.0F * 65520, -1})), (outcome {{infinity}, {0, -0.0F}}));
    EXPECT_EQ((computing {s8, narrow, bf16}({max, -1})), (outcome {{0x1.02p121F}, {127, 0}})); // max / 127
    EXPECT_EQ((computing {s8, narrow, f8_e4m3}({127000, 448})), (outcome {{448}, {127, 1}}));
    EXPECT_EQ((computing {s8, narrow, f8_e4m3}({0x1p120F, -0x1p120F, 1})), (outcome {{448}, {127, -127, 0}}));
    EXPECT_EQ(
            (computing {f4_e2m1, {.quotient = scale_quotient::multiply_reciprocal}, f8_e4m3}({infinity, -0x1p120F, 1})),
            (outcome {{448}, {6, -6, 0}}));
}

TEST(computed_scales, that_underflow_give_the_ends_of_the_codes) {
    // 2^-149 / 127 and 2^-10, a tie of e4m3, are 0. 0 / 0 is NaN.
    EXPECT_EQ((computing {s8, {.narrow = true}}({0x1p-149F, 0, -0x1p-149F})), (outcome {{0}, {127, -127, -127}}));
    EXPECT_EQ((computing {s8, {.narrow = true}, f8_e4m3}({127 * 0x1p-10F, -1e-9F})), (outcome {{0}, {127, -127}}));
    EXPECT_EQ((computing {u8, {.range = minmax}}({0x1p-149F, 0})), (outcome {{0}, {255, 0}, {255}}));
    // 1 / s and D / R are infinite. 0 by infinity is NaN.
    EXPECT_EQ((computing {s8, {.narrow = true, .quotient = scale_quotient::multiply_reciprocal}}({127 * 0x1p-140F, 0})),
            (outcome {{0x1p-140F}, {127, -127}}));
    EXPECT_EQ((computing {s8, {.narrow = true, .quotient = scale_quotient::multiply_range}}({127 * 0x1p-140F, 0})),
            (outcome {{0x1p-140F}, {127, -127}}));
}

// ---- Powers of two

/// The scale of a block of dst's type whose range is `range`.
float power(data_type dst, scale_rounding rounding, float range) {
    return computing {dst, {.rounding = rounding}, f8_e8m0, f32, true}({range, 0}).scales.at(0);
}

TEST(computed_scales, powers_of_two_by_floor) {
    EXPECT_EQ(power(f8_e4m3, floor, 448), 1); // 448 is 1.75 * 2^8
    EXPECT_EQ(power(f8_e4m3, floor, 256), 1);
    EXPECT_EQ(power(f8_e4m3, floor, std::nextafter(256.0F, 0.0F)), 0.5);
    EXPECT_EQ(power(f8_e4m3, floor, std::nextafter(512.0F, 0.0F)), 1);
    EXPECT_EQ(power(f8_e5m2, floor, 57344), 1); // 1.75 * 2^15
    EXPECT_EQ(power(f4_e2m1, floor, 6), 1);     // 1.5 * 2^2
    EXPECT_EQ(power(f6_e2m3, floor, 7.5), 1);   // 1.875 * 2^2
    EXPECT_EQ(power(f6_e3m2, floor, 28), 1);    // 1.75 * 2^4
    EXPECT_EQ(power(s8, floor, 127), 1);        // 1.98 * 2^6
    EXPECT_EQ(power(s4, floor, 7), 1);          // 1.75 * 2^2
    EXPECT_EQ(power(f4_e2m1, floor, max), 0x1p125F);
}

TEST(computed_scales, powers_of_two_by_ceil) {
    EXPECT_EQ(power(f8_e4m3, ceil, 256), 1);
    EXPECT_EQ(power(f8_e4m3, ceil, std::nextafter(256.0F, 512.0F)), 2);
    EXPECT_EQ(power(f8_e4m3, ceil, 448), 2);
    EXPECT_EQ(power(f4_e2m1, ceil, 4), 1);
    EXPECT_EQ(power(f4_e2m1, ceil, 6), 2);
    EXPECT_EQ(power(s8, ceil, 64), 1);
    EXPECT_EQ(power(f4_e2m1, ceil, max), 0x1p126F);
}

TEST(computed_scales, powers_of_two_by_even) {
    // 3 fraction bits: 496 is 1.9375 * 2^8, halfway from 1.875 to 2.
    EXPECT_EQ(power(f8_e4m3, even, 480), 1);
    EXPECT_EQ(power(f8_e4m3, even, std::nextafter(496.0F, 0.0F)), 1);
    EXPECT_EQ(power(f8_e4m3, even, 496), 2);
    EXPECT_EQ(power(f6_e2m3, even, 7.5), 1);
    EXPECT_EQ(power(f6_e2m3, even, 7.75), 2); // 1.9375 * 2^2
    // 2 fraction bits: 1.875.
    EXPECT_EQ(power(f8_e5m2, even, 1.875F * 32768), 2);
    EXPECT_EQ(power(f8_e5m2, even, 1.874F * 32768), 1);
    EXPECT_EQ(power(f6_e3m2, even, 30), 2);
    EXPECT_EQ(power(f6_e3m2, even, 29), 1);
    // 1 fraction bit: 1.75.
    EXPECT_EQ(power(f4_e2m1, even, 7), 2);
    EXPECT_EQ(power(f4_e2m1, even, std::nextafter(7.0F, 0.0F)), 1);
    // 127 has 6 bits below its highest.
    EXPECT_EQ(power(s8, even, 127), 1);
    EXPECT_EQ(power(s8, even, std::nextafter(127.5F, 0.0F)), 1);
    EXPECT_EQ(power(s8, even, 127.5), 2);
    EXPECT_EQ((computing {s8, {.narrow = true, .rounding = even}, f8_e8m0}({127.5, 0})).scales, reals {2});
    // 7 has 2.
    EXPECT_EQ(power(s4, even, std::nextafter(7.5F, 0.0F)), 1);
    EXPECT_EQ(power(s4, even, 7.5), 2);
    EXPECT_EQ(power(f4_e2m1, even, max), 0x1p126F); // rounds up to 2^128
}

TEST(computed_scales, powers_of_two_by_rceil) {
    EXPECT_EQ(power(f8_e4m3, rceil, 448), 1);
    EXPECT_EQ(power(f8_e4m3, rceil, 449), 2);
    EXPECT_EQ(power(f8_e4m3, rceil, 224), 0.5);
    EXPECT_EQ(power(f8_e4m3, rceil, 225), 1);
    EXPECT_EQ(power(f4_e2m1, rceil, 6), 1);
    EXPECT_EQ(power(f4_e2m1, rceil, 7), 2);
    EXPECT_EQ(power(s8, rceil, 127), 1);
    EXPECT_EQ(power(s8, rceil, 127.5), 2);
    EXPECT_EQ(power(f4_e2m1, rceil, max), 0x1p126F);
    EXPECT_EQ(power(f4_e2m1, rceil, std::nextafter(6.0F, 7.0F)), 2);
    EXPECT_EQ(power(f8_e4m3, rceil, std::nextafter(448.0F, 449.0F)), 2);
    // A number above 2^50 * 448 by one step of the quotient, which a logarithm in f32 cannot see.
    EXPECT_EQ(power(f8_e4m3, rceil, 448 * (0x1p50F + 0x1p27F)), 0x1p51F);
}

TEST(computed_scales, powers_of_two_end_at_2_to_minus_127) {
    for (const auto rounding : {floor, ceil, even, rceil}) {
        for (const float range : {0.0F, 0x1p-149F, 0x1p-126F})
            EXPECT_EQ(power(f8_e4m3, rounding, range), 0x1p-127F) << to_string(rounding) << " of " << range;
        // least and of_zero are for the other types.
        EXPECT_EQ((computing {f4_e2m1, {.least = 1, .of_zero = 5, .rounding = rounding}, f8_e8m0}({0, 0})),
                (outcome {{0x1p-127F}, {0, 0}}));
        EXPECT_EQ((computing {f4_e2m1, {.least = 1, .of_zero = 5, .rounding = rounding}, f8_e8m0}({0.0625, 0.0625}))
                          .scales,
                reals {0x1p-6F});
        EXPECT_TRUE(std::isnan(power(f8_e4m3, rounding, nan)));
        EXPECT_TRUE(std::isnan(power(f8_e4m3, rounding, infinity)));
    }
    // Codes of tiny values: 2^-120 by 2^-127 is 128.
    EXPECT_EQ((computing {f8_e4m3, presets::mx(), f8_e8m0, f32, true}({0x1p-120F, -0x1p-136F})),
            (outcome {{0x1p-127F}, {128, -0x1p-9F}}));
    // 2^-118.2 / 448 is above 2^-127 and rounds up to 2^-126.
    EXPECT_EQ(power(f8_e4m3, rceil, 449 * 0x1p-127F), 0x1p-126F);
    EXPECT_EQ(power(f8_e4m3, rceil, 448 * 0x1p-127F), 0x1p-127F);
}

TEST(computed_scales, codes_by_powers_of_two_saturate_if_stated) {
    // 480 by 1: beyond 464 e4m3 overflows to NaN.
    const auto mx = presets::mx();
    EXPECT_EQ((computing {f8_e4m3, mx, f8_e8m0, f32, true}({480, -464, 449})), (outcome {{1}, {448, -448, 448}}));
    EXPECT_EQ((computing {f8_e4m3, mx, f8_e8m0}({480, -464, 449})), (outcome {{1}, {nan, -448, 448}}));
    EXPECT_EQ((computing {f8_e5m2, mx, f8_e8m0}({61440, -61439})), (outcome {{1}, {infinity, -57344}}));
    EXPECT_EQ((computing {f8_e5m2, mx, f8_e8m0, f32, true}({61440, -65535})), (outcome {{1}, {57344, -57344}}));
    EXPECT_EQ((computing {f4_e2m1, mx, f8_e8m0}({7.5, -7, 2.5, 3.5})), (outcome {{1}, {6, -6, 2, 4}}));
    EXPECT_EQ((computing {s8, mx, f8_e8m0}({127.9F, -127.9F, -127.4F, 1.5})), (outcome {{1}, {127, -128, -127, 2}}));
}

// ---- Quotients

TEST(computed_scales, quotients_differ_next_to_ties) {
    using enum scale_quotient;
    // By 7, 45.5 is the tie 6.5. 1 / 7 as f32 is above 1 / 7, and 45.5 times that is the float after 6.5.
    EXPECT_EQ((computing {s8, {.narrow = true}}({889, 45.5})), (outcome {{7}, {127, 6}}));
    for (const auto quotient : {multiply_reciprocal, multiply_range}) // 127 / 889 is 1 / 7
        EXPECT_EQ((computing {s8, {.narrow = true, .quotient = quotient}}({889, 45.5})), (outcome {{7}, {127, 7}}));
}

TEST(computed_scales, multiply_range_does_not_see_how_the_scale_was_rounded) {
    using enum scale_quotient;
    // The scale 1 + 2^-11 is 1 in f16. 64.53 by 1 rounds up; by 1 + 2^-11 it is 64.4985.
    const float r = 127 + 127 * 0x1p-11F, x = 64.53F;
    for (const auto quotient : {divide, multiply_reciprocal})
        EXPECT_EQ((computing {s8, {.narrow = true, .quotient = quotient}, f16}({r, x})), (outcome {{1}, {127, 65}}));
    EXPECT_EQ((computing {s8, {.narrow = true, .quotient = multiply_range}, f16}({r, x})), (outcome {{1}, {127, 64}}));
    // Nor that it overflowed or became 0.
    EXPECT_EQ((computing {s8, {.narrow = true, .quotient = multiply_range}, f16}({127e6F, -1e6F})),
            (outcome {{infinity}, {127, -1}}));
    EXPECT_EQ((computing {s8, {.narrow = true, .quotient = multiply_range}, f16}({127e-9F, -1e-9F, 0})),
            (outcome {{0}, {127, -1, 0}}));
}

// ---- The global scale

TEST(computed_scales, a_global_scale_divides_the_scale) {
    // 12 / 6 / 0.5 = 4. By 4 * 0.5 = 2: 12 is 6, 5 is the tie 2.5 of 2 and 3.
    EXPECT_EQ((computing {f4_e2m1, {}, f8_e4m3, f32, false, 0.5F}({12, 5, -1})), (outcome {{4}, {6, 2, -0.5}}));
    EXPECT_EQ((computing {f8_e4m3, {}, f8_e4m3, f32, false, 0.25F}({448, 3})), (outcome {{4}, {448, 3}}));
    EXPECT_EQ(
            (computing {s8, {.narrow = true}, f8_e4m3, f32, false, 2.0F}({254, 5})), (outcome {{1}, {127, 2}})); // 2.5
    // least comes after it, of_zero is not divided.
    EXPECT_EQ(
            (computing {f4_e2m1, {.least = 0.125}, f8_e4m3, f32, false, 16.0F}({6, 1})), (outcome {{0.125}, {3, 0.5}}));
    EXPECT_EQ((computing {f4_e2m1, {.of_zero = 0.5}, f8_e4m3, f32, false, 16.0F}({0, 0})), (outcome {{0.5}, {0, 0}}));
    // It may be such that the scale saturates.
    EXPECT_EQ((computing {f4_e2m1, {}, f8_e4m3, f32, false, 0x1p-20F}({6, 0x1p-13F})), (outcome {{448}, {6, 0.5}}));
    for (const auto quotient : {scale_quotient::divide, scale_quotient::multiply_reciprocal}) // 2^14 / 448 is 36.57
        EXPECT_EQ((computing {s8, {.quotient = quotient}, f8_e4m3, f32, false, 0x1p-14F}({0x1p110F, -0x1p110F, 1})),
                (outcome {{448}, {127, -128, 37}}));
}

TEST(computed_scales, quotients_under_a_global_scale) {
    using enum scale_quotient;
    // 9 / 6 / 0.3f rounds to 5. 5 * 0.3f rounds to 1.5, and 2.625 by 1.5 is the tie 1.75, which goes to 2. 1 / 0.3f / 5
    // rounds to a float below 2 / 3.
    EXPECT_EQ((computing {f4_e2m1, {}, f8_e4m3, f32, false, 0.3F}({9, 2.625})), (outcome {{5}, {6, 2}}));
    EXPECT_EQ((computing {f4_e2m1, {.quotient = multiply_reciprocal}, f8_e4m3, f32, false, 0.3F}({9, 2.625})),
            (outcome {{5}, {6, 1.5}}));
}

TEST(computed_scales, a_global_scale_at_run_time_is_not_checked) {
    const auto by = [](float global, scale_rule rule, const reals &x, data_type dst = f4_e2m1) {
        return computing {dst, rule, f8_e4m3, f32, false, global}(x);
    };
    for (const auto quotient : {scale_quotient::divide, scale_quotient::multiply_reciprocal}) {
        const scale_rule none = {.quotient = quotient}, least = {.least = 0.125, .quotient = quotient};
        // Below 0, v is below least: 0.25 by 0.125 * -0.5. By -0 the codes are at the other end; 0 by it is NaN.
        EXPECT_EQ(by(-0.5F, least, {0.25, -0.125}), (outcome {{0.125}, {-4, 2}}));
        EXPECT_EQ(by(-0.5F, none, {6, -1, 0}), (outcome {{0}, {-6, 6, 6}}));
        EXPECT_EQ(by(-0.5F, none, {6, -1, 0}, s8), (outcome {{0}, {-128, 127, -128}}));
        EXPECT_EQ(by(-1, none, {0x1p-149F, 0}), (outcome {{0}, {-6, 6}})); // v is -0, the scale is not
        EXPECT_EQ(by(-infinity, least, {6, -1}), (outcome {{0.125}, {-0.0F, 0}}));
        // By 0, v is infinite, which saturates; codes too.
        EXPECT_EQ(by(0, none, {6, -1, 0}), (outcome {{448}, {6, -6, 6}}));
        EXPECT_EQ(by(0, none, {6, -1, 0}, s8), (outcome {{448}, {127, -128, -128}}));
        EXPECT_EQ(by(-0.0F, least, {6, -1, 0}), (outcome {{0.125}, {-6, 6, 6}}));
        // By infinity, v is 0. 0 * infinity is NaN.
        EXPECT_EQ(by(infinity, least, {6, -1}), (outcome {{0.125}, {0, -0.0F}}));
        EXPECT_EQ(by(infinity, none, {6, -1}), (outcome {{0}, {6, 6}}));
        EXPECT_EQ(by(nan, least, {6, -1}), (outcome {{nan}, {6, 6}}));
        EXPECT_EQ(by(nan, none, {6, -1}, s8), (outcome {{nan}, {-128, -128}}));
        for (const float global : {-0.5F, -0.0F, 0.0F, infinity, -infinity, nan})
            EXPECT_EQ(by(global, {.of_zero = 0.5, .quotient = quotient}, {0, -0.0F}), (outcome {{0.5}, {0, -0.0F}}));
    }
}

// ---- NaN and infinities

TEST(computed_scales, nan_propagates) {
    EXPECT_EQ((computing {s8}({nan, 1, -2})), (outcome {{nan}, {-128, -128, -128}}));
    EXPECT_EQ((computing {s8, {.narrow = true}}({1, -nan, infinity})), (outcome {{nan}, {-127, -127, -127}}));
    EXPECT_EQ((computing {u8, {.range = minmax}}({1, 2, nan})), (outcome {{nan}, {0, 0, 0}, {255}}));
    EXPECT_EQ((computing {s8, {.range = minmax}}({nan, 0})), (outcome {{nan}, {-128, -128}, {127}}));
    EXPECT_EQ((computing {s8, {.range = minmax, .narrow = true}}({nan, 0})), (outcome {{nan}, {-127, -127}, {127}}));
    EXPECT_EQ((computing {f8_e4m3, {}, f8_e4m3}({1, nan})), (outcome {{nan}, {nan, nan}}));
    EXPECT_EQ((computing {f4_e2m1, presets::mx(), f8_e8m0}({-1, nan, 0})), (outcome {{nan}, {6, 6, 6}}));
    EXPECT_EQ((computing {f6_e2m3, {}, f16}({-1, nan})), (outcome {{nan}, {7.5, 7.5}}));
    EXPECT_EQ((computing {f6_e3m2, {}, bf16}({-1, nan})), (outcome {{nan}, {28, 28}}));
    EXPECT_EQ(
            (computing {s8, {.quotient = scale_quotient::multiply_range}}({nan, 3})), (outcome {{nan}, {-128, -128}}));
    // least and of_zero do not replace it.
    EXPECT_EQ((computing {s8, {.least = 2, .of_zero = 3}}({nan, 0})), (outcome {{nan}, {-128, -128}}));
}

TEST(computed_scales, infinities_propagate) {
    EXPECT_EQ((computing {f8_e5m2}({-infinity, 1, -1})), (outcome {{infinity}, {nan, 0, -0.0F}}));
    EXPECT_EQ((computing {f8_e4m3, presets::mx(), f8_e8m0}({infinity, 1})), (outcome {{nan}, {nan, nan}}));
    EXPECT_EQ((computing {u8, {.range = minmax}}({infinity, -1, 2})), (outcome {{infinity}, {0, 0, 0}, {0}}));
    EXPECT_EQ((computing {s8, {.range = minmax}}({3e38F, -3e38F})), (outcome {{infinity}, {-128, -128}, {-128}}));
    EXPECT_EQ((computing {s8, {.range = minmax}}({1, -infinity})), (outcome {{infinity}, {127, -128}, {127}}));
}

TEST(computed_scales, infinities_by_every_type_of_scale) {
    using enum scale_quotient;
    const reals x = {infinity, 1, -1};
    for (const auto quotient : {divide, multiply_reciprocal, multiply_range})
        for (const auto type : {f32, f16, bf16}) { // the infinity by itself is NaN
            const scale_rule rule = {.quotient = quotient};
            EXPECT_EQ((computing {s8, rule, type}(x)), (outcome {{infinity}, {-128, 0, 0}}));
            EXPECT_EQ((computing {f8_e4m3, rule, type, f32, true}(x)), (outcome {{infinity}, {nan, 0, -0.0F}}));
            EXPECT_EQ((computing {f8_e5m2, rule, type}(x)), (outcome {{infinity}, {nan, 0, -0.0F}}));
            EXPECT_EQ((computing {f4_e2m1, rule, type}(x)), (outcome {{infinity}, {6, 0, -0.0F}}));
            EXPECT_EQ((computing {f6_e3m2, rule, type}(x)), (outcome {{infinity}, {28, 0, -0.0F}}));
            if (quotient == multiply_range) continue;
            // Finite numbers give the zero point: 0 / infinity is 0, -infinity / infinity NaN, the highest code.
            EXPECT_EQ((computing {u8, {.range = minmax, .quotient = quotient}, type}({infinity, 1, -1})),
                    (outcome {{infinity}, {0, 0, 0}, {0}}));
            EXPECT_EQ((computing {u8, {.range = minmax, .quotient = quotient}, type}({-infinity, 1, -1})),
                    (outcome {{infinity}, {0, 255, 255}, {255}}));
        }
    const reals by_448 = {infinity, 448, -896, -infinity};
    for (const auto quotient : {divide, multiply_reciprocal}) { // f8_e4m3 saturates; 1 / 448 is not exact
        const auto codes = [&](data_type dst, bool saturate) {
            return computing {dst, {.quotient = quotient}, f8_e4m3, f32, saturate}(by_448);
        };
        EXPECT_EQ(codes(s8, false), (outcome {{448}, {127, 1, -2, -128}}));
        EXPECT_EQ(codes(f8_e4m3, true), (outcome {{448}, {448, 1, -2, -448}}));
        EXPECT_EQ(codes(f8_e4m3, false), (outcome {{448}, {nan, 1, -2, nan}}));
        EXPECT_EQ(codes(f8_e5m2, true), (outcome {{448}, {57344, 1, -2, -57344}}));
        EXPECT_EQ(codes(f8_e5m2, false), (outcome {{448}, {infinity, 1, -2, -infinity}}));
        EXPECT_EQ(codes(f4_e2m1, false), (outcome {{448}, {6, 1, -2, -6}}));
        EXPECT_EQ(codes(f6_e2m3, false), (outcome {{448}, {7.5, 1, -2, -7.5}}));
    }
    for (const auto rounding : {floor, ceil, even, rceil}) {
        const auto codes = [&](data_type dst) { return computing {dst, {.rounding = rounding}, f8_e8m0}(x); };
        EXPECT_EQ(codes(s8), (outcome {{nan}, {-128, -128, -128}}));
        EXPECT_EQ(codes(f8_e5m2), (outcome {{nan}, {nan, nan, nan}}));
        EXPECT_EQ(codes(f4_e2m1), (outcome {{nan}, {6, 6, 6}}));
    }
}

TEST(computed_scales, what_is_not_finite_may_be_skipped) {
    constexpr auto skip = nonfinite::skip;
    EXPECT_EQ((computing {s8, {.narrow = true, .special = skip}}({nan, 1, -127, infinity, -infinity})),
            (outcome {{1}, {0, 1, -127, 0, 0}}));
    EXPECT_EQ((computing {u8, {.range = minmax, .special = skip}}({infinity, -1, 254, nan})),
            (outcome {{1}, {1, 0, 255, 1}, {1}}));
    EXPECT_EQ((computing {s8, {.of_zero = 0.5, .special = skip}}({infinity, nan, 0})), (outcome {{0.5}, {0, 0, 0}}));
    EXPECT_EQ((computing {f8_e4m3, {.special = skip}, f8_e4m3}({-infinity, 448, -nan})), (outcome {{1}, {0, 448, 0}}));
    EXPECT_EQ((computing {f4_e2m1, {.rounding = floor, .special = skip}, f8_e8m0}({infinity, 4, nan})),
            (outcome {{1}, {0, 4, 0}}));
}

// ---- Blocks, types of src, layouts

TEST(computed_scales, the_last_block_may_be_short) {
    EXPECT_EQ((computing {.dst = s8, .rule = {.narrow = true}, .block = 3}({127, 1, 2, 254, 2, 3, 381})),
            (outcome {{1, 2, 3}, {127, 1, 2, 127, 1, 2, 127}})); // 1.5 is a tie
    EXPECT_EQ((computing {.dst = f4_e2m1, .rule = presets::mx(), .scales = f8_e8m0, .block = 2}({4, 1, 8, 2, 1})),
            (outcome {{1, 2, 0.25}, {4, 1, 4, 1, 4}}));
    EXPECT_EQ((computing {.dst = u4, .rule = {.range = minmax}, .block = 2}({-5, 10, 30, 0, -15})),
            (outcome {{1, 2, 1}, {0, 15, 15, 0, 0}, {5, 0, 15}}));
}

TEST(computed_scales, src_may_be_of_16_bits) {
    for (const auto type : {f16, bf16}) {
        EXPECT_EQ((computing {s8, {}, f32, type}({127.5, -63.75, 1.5})), (outcome {{1}, {127, -64, 2}}));
        EXPECT_EQ((computing {u8, {.range = minmax}, f32, type}({-1, 254})), (outcome {{1}, {0, 255}, {1}}));
        EXPECT_EQ((computing {f8_e4m3, presets::mx(), f8_e8m0, type, true}({480, -1})), (outcome {{1}, {448, -1}}));
        EXPECT_EQ((computing {s8, {.special = nonfinite::skip}, f32, type}({nan, 255, -infinity})),
                (outcome {{2}, {0, 127, 0}}));
    }
    EXPECT_EQ(
            (computing {s8, {.narrow = true}, f32, f16}({127 * 0x1p-24F, 0x1p-24F})), (outcome {{0x1p-24F}, {127, 1}}));
    // Arithmetic is f32: hi - lo = 257 is no number of bf16.
    EXPECT_EQ((computing {u8, {.range = minmax}, f32, bf16}({256, -1})), (outcome {{257.0F / 255}, {0 + 255, 0}, {1}}));
}

/// Bytes of `elements` elements that are `code`, in front of bits that are those of `before`.
std::vector<std::byte> packed(data_type type, std::int64_t elements, std::uint32_t code, std::byte before) {
    std::vector bytes(bytes_for(type, elements), before);
    for (std::int64_t i = 0; i < elements; ++i)
        set_bits(type, bytes.data(), i, code);
    return bytes;
}

TEST(computed_scales, bits_beyond_packed_elements_are_preserved) {
    for (const auto dst : {s4, u4, f4_e2m1, f6_e2m3, f6_e3m2})
        for (const std::int64_t count : {1, 2, 3, 5, 7, 33, 129, 1027})
            for (const std::int64_t block : {std::int64_t {1}, count})
                for (const auto before : {std::byte {0}, std::byte {0xff}}) {
                    sample s;
                    auto &q = s.q;
                    q.rule = numerics::onnx;
                    q.src = {f32, {count}, {}};
                    q.dst = {dst, {count}, {}};
                    q.scales = {f32, {block}, {}};
                    q.computed = scale_rule {.range = dst == u4 ? minmax : scale_range::absmax};
                    if (dst == s4) q.computed->range = minmax;
                    if (is_integer(dst)) q.zero_points = {dst, {block}, {}};
                    const auto parameters = (count + block - 1) / block;
                    // From 0 to 1: the code is the highest, the zero point the lowest.
                    const std::vector<float> src(static_cast<std::size_t>(count), 1);
                    const std::uint32_t highest = dst == s4 || dst == f4_e2m1 ? 7
                            : dst == u4                                       ? 15
                                                                              : 31,
                                        lowest = dst == s4 ? 8 : 0;
                    for (const auto &v : variants_for(s)) {
                        std::vector codes(bytes_for(dst, count), before), zps(bytes_for(dst, parameters), before);
                        std::vector<float> scales(static_cast<std::size_t>(parameters));
                        arguments args;
                        args.src = src.data();
                        args.dst = codes.data();
                        args.computed_scales = scales.data();
                        args.computed_zero_points = zps.data();
                        prepare(q, v.forced()).run(args);
                        EXPECT_EQ(codes, packed(dst, count, highest, before)) << v << ": " << describe(q);
                        if (!q.zero_points) continue;
                        EXPECT_EQ(zps, packed(dst, parameters, lowest, before)) << v << ": " << describe(q);
                    }
                }
}

quantization strided() {
    quantization q;
    q.rule = numerics::onnx;
    q.src = {f32, {2, 3}, {1, 2}}; // transposed
    q.dst = {s8, {2, 3}, {4, 1}};  // rows of 4
    q.scales = {f32, {1, 3}, {}};
    q.computed = scale_rule {.narrow = true};
    return q;
}

TEST(computed_scales, src_and_dst_may_have_strides) {
    // Rows 127, 5, -1 and 254, 4, -6, column by column.
    const reals x = {127, 254, 5, 4, -1, -6};
    EXPECT_EQ(by_all(strided(), x), (outcome {{1, 2}, {127, 5, -1, 0, 127, 2, -3}}));
    auto columns = strided();
    columns.scales.block = {2, 1};
    EXPECT_EQ(by_all(columns, x), (outcome {{2, 5.0F / 127, 6.0F / 127}, {64, 127, -21, 0, 127, 102, -127}}));
    auto broadcast = strided();
    broadcast.src.strides = {0, 1}; // both rows are the first three values
    EXPECT_EQ(by_all(broadcast, {127, 5, -1}), (outcome {{1, 1}, {127, 5, -1, 0, 127, 5, -1}}));
}

TEST(computed_scales, blocks_have_every_dimension) {
    quantization q;
    q.rule = numerics::onnx;
    q.src = {f32, {3, 5}, {}};
    q.dst = {s8, {3, 5}, {}};
    q.scales = {f32, {2, 2}, {}};
    q.computed = scale_rule {.narrow = true};
    // The blocks' largest magnitudes are 127 times 1, 2, 4 and 8, 16, 32.
    const reals x = {127, 1, 254, 2, 508, //
            2, -3, 4, -6, 4,              //
            1016, 8, -2032, 16, 4064};
    const reals codes = {127, 1, 127, 1, 127, //
            2, -3, 2, -3, 1,                  //
            127, 1, -127, 1, 127};
    EXPECT_EQ(by_all(q, x), (outcome {{1, 2, 4, 8, 16, 32}, codes}));
}

TEST(computed_scales, may_be_all_that_is_computed) {
    auto rule = presets::torchao_asymmetric();
    rule.scales_only = true;
    EXPECT_EQ((computing {s8, rule}({-1, 254})), (outcome {{1}, {}, {-127}}));
    EXPECT_EQ(
            (computing {.dst = f4_e2m1, .rule = {.rounding = even, .scales_only = true}, .scales = f8_e8m0, .block = 2}(
                    {7, 1, 1, 0})),
            (outcome {{2, 0.25}, {}}));
}

TEST(computed_scales, of_no_elements_are_none) {
    auto q = strided();
    q.src = {f32, {0, 3}, {}};
    q.dst = {s8, {0, 3}, {}};
    sample s;
    s.q = q;
    for (const auto &v : variants_for(s))
        EXPECT_NO_THROW(prepare(q, v.forced()).run({}));
}

// ---- Presets

TEST(computed_scales, preset_onnx) {
    // The example of ONNX's node test test_dynamicquantizelinear: 5 / 255.
    EXPECT_EQ((computing {u8, presets::onnx()}({0, 2, -3, -2.5, 1.34F, 0.5})),
            (outcome {{5.0F / 255}, {153, 255, 0, 26, 221, 179}, {153}}));
    EXPECT_EQ((computing {u8, presets::onnx()}({0, 0})), (outcome {{1}, {0, 0}, {0}}));
}

TEST(computed_scales, preset_onednn_dynamic_quantize) {
    EXPECT_EQ((computing {s8, presets::onednn_dynamic_quantize()}({127, -63.5, nan, infinity, 0.5})),
            (outcome {{1}, {127, -64, 0, 0, 0}}));
    // max(1e-40 / 127, 1e-30)
    EXPECT_EQ((computing {s8, presets::onednn_dynamic_quantize()}({1e-40F, 0})), (outcome {{1e-30F}, {0, 0}}));
    EXPECT_EQ((computing {s8, presets::onednn_dynamic_quantize()}({0, 0})), (outcome {{1e-30F}, {0, 0}}));
}

TEST(computed_scales, presets_of_floats) {
    EXPECT_EQ((computing {f4_e2m1, presets::nvfp4(), f8_e4m3, f32, false, 0.5F}({12, 5, -1})),
            (outcome {{4}, {6, 2, -0.5}}));
    EXPECT_EQ((computing {f4_e2m1, presets::nvfp4(), f8_e4m3}({0, 0})), (outcome {{0x1p-6F}, {0, 0}}));
    EXPECT_EQ(
            (computing {f4_e2m1, presets::nvfp4(), f8_e4m3}({0x1p-6F, -0x1p-10F})), (outcome {{0x1p-6F}, {1, -0.0F}}));
    EXPECT_EQ(
            (computing {f4_e2m1, presets::onednn_dynamic_fp(), f8_e4m3}({0.5, 0.0625})), (outcome {{0.125}, {4, 0.5}}));
    EXPECT_EQ((computing {f4_e2m1, presets::onednn_dynamic_fp(), f8_e4m3}({0})), (outcome {{0.125}, {0}}));
    EXPECT_EQ((computing {f4_e2m1, presets::onednn_dynamic_fp(), f8_e4m3}({infinity, 448})), (outcome {{448}, {6, 1}}));
}

TEST(computed_scales, presets_of_integers) {
    EXPECT_EQ((computing {s8, presets::torchao_symmetric()}({127.5, -127.5, 1.5})), (outcome {{1}, {127, -128, 2}}));
    EXPECT_EQ((computing {s8, presets::torchao_symmetric()}({0x1p-30F, 0})), (outcome {{0x1p-23F}, {0, 0}}));
    EXPECT_EQ((computing {s8, presets::torchao_asymmetric()}({-1, 254})), (outcome {{1}, {-128, 127}, {-127}}));
    EXPECT_EQ((computing {s8, presets::ggml_q8_0(), f16}({889, 45.5, -889})), (outcome {{7}, {127, 7, -127}}));
    EXPECT_EQ((computing {s8, presets::ggml_q8_0(), f16}({0, 0})), (outcome {{0}, {0, 0}}));
    EXPECT_EQ((computing {s8, presets::vllm()}({889, 45.5, -889})), (outcome {{7}, {127, 7, -127}}));
    EXPECT_EQ((computing {s8, presets::vllm()}({0, 0})), (outcome {{0}, {0, 0}}));
}

} // namespace
} // namespace dynquant::test
