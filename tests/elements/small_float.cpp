// Floats of 16 bits and fewer are converted as the oracle converts every number and its neighbours. tests/conformance
// has numbers of each type by hand.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "elements/load_store.hpp"
#include "elements/small_float.hpp"
#include "oracle/elements.hpp"

namespace dynquant::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(small_float, f8_e8m0_by_hand) {
    EXPECT_EQ(float8_e8m0 {127}.value(), 1);
    EXPECT_EQ(float8_e8m0 {0}.value(), 0x1p-127f);
    EXPECT_EQ(float8_e8m0 {254}.value(), 0x1p127f);
    EXPECT_TRUE(std::isnan(float8_e8m0 {255}.value()));
    for (int bits = 0; bits < 256; ++bits) {
        const auto element = static_cast<std::uint8_t>(bits);
        EXPECT_EQ(float8_e8m0::from(float8_e8m0 {element}.value()).bits, element);
    }
}

TEST(small_float, from_a_negative_nan_by_hand) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(float_of<data_type::f8_e4m3fnuz>::from(-nan).bits, 0x80);
    EXPECT_EQ(float_of<data_type::f4_e2m1>::from(-nan).bits, 7); // it has none: the largest, and positive
}

TEST(small_float, by_hand_beside_those_of_conformance) {
    EXPECT_EQ(float16::from(0x1.ffcp-15F).bits, 0x0400); // a tie, to the least normal number
    EXPECT_EQ(float16::from(0x1p-25F).bits, 0);          // a tie
    EXPECT_EQ(float16::from(-0x1.8p-24F).bits, 0x8002);
    EXPECT_EQ(bfloat16::from(0x1.fefffep127F).bits, 0x7f7f);
    EXPECT_EQ(bfloat16::from(0x1.ffp127F).bits, 0x7f80); // a tie
    EXPECT_EQ(bfloat16::from(0x1p-134F).bits, 0);
    EXPECT_EQ(float8_e4m3::from(0x1p-10F).bits, 0);
    EXPECT_EQ(float8_e4m3::from(0x1.8p-9F).bits, 2);
    EXPECT_EQ(float_of<data_type::f8_e5m2>::from(1.375F).bits, 0x3e);
    EXPECT_TRUE(std::isnan(float_of<data_type::f8_e4m3fnuz> {0x80}.value()));
    EXPECT_EQ(float_of<data_type::f6_e2m3>::from(0.0625F).bits, 0);
    EXPECT_EQ(float_of<data_type::f6_e3m2>::from(1.375F).bits, 0x0e);
}

/// A number and the midpoint to the next number, each with its neighbouring floats.
std::vector<float> floats_around(float value, float next) {
    std::vector<float> result;
    for (const float centre : {value, static_cast<float>((double {value} + next) / 2)})
        for (const float x : {std::nextafter(centre, -infinity), centre, std::nextafter(centre, infinity)})
            result.push_back(x);
    return result;
}

class every_small_float : public testing::TestWithParam<data_type> {
  protected:
    static float loaded(std::uint32_t bits) {
        std::byte buffer[4] = {};
        set_bits(GetParam(), buffer, 0, bits);
        return static_cast<float>(load(GetParam(), buffer, 0));
    }
    static std::uint32_t stored(float value, bool saturate = false) {
        std::byte buffer[4] = {};
        store(GetParam(), buffer, 0, value, saturate);
        return get_bits(GetParam(), buffer, 0);
    }
    static bool rounded_right(float x, bool saturate) {
        return same(loaded(stored(x, saturate)), real_from(GetParam(), bits_of_real(GetParam(), x, saturate)));
    }
    static bool same(float a, float b) {
        return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    }
};

TEST_P(every_small_float, is_read_as_the_oracle_reads_it_and_written_back) {
    for (std::uint32_t bits = 0; bits < 1U << bits_in(GetParam()); ++bits) {
        const float value = loaded(bits);
        ASSERT_TRUE(same(value, real_from(GetParam(), bits))) << std::hex << bits;
        if (std::isfinite(value)) {
            ASSERT_EQ(stored(value), bits) << std::hex << bits;
        }
    }
}

TEST_P(every_small_float, is_rounded_to_as_the_oracle_rounds) {
    for (std::uint32_t bits = 0; bits + 1 < 1U << bits_in(GetParam()); ++bits)
        for (const float x : floats_around(loaded(bits), loaded(bits + 1)))
            ASSERT_TRUE(rounded_right(x, false) && rounded_right(x, true)) << std::hexfloat << x;
    for (std::uint64_t bits = 0; bits < 1ULL << 32; bits += 65521) { // a sample of all floats
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        ASSERT_TRUE(rounded_right(x, false) && rounded_right(x, true)) << std::hexfloat << x;
    }
}

INSTANTIATE_TEST_SUITE_P(types, every_small_float,
        testing::Values(data_type::f16, data_type::bf16, data_type::f8_e4m3, data_type::f8_e5m2, data_type::f8_e4m3fnuz,
                data_type::f8_e5m2fnuz, data_type::f6_e2m3, data_type::f6_e3m2, data_type::f4_e2m1),
        [](const auto &value) { return std::string(to_string(value.param)); });

TEST(nibbles, lie_the_low_one_first_and_leave_the_other_as_it_is) {
    unsigned char buffer[2] = {0xa5, 0xff};
    EXPECT_EQ(load(data_type::u4, buffer, 0), 5);
    EXPECT_EQ(load(data_type::u4, buffer, 1), 10);
    EXPECT_EQ(load(data_type::s4, buffer, 0), 5);
    EXPECT_EQ(load(data_type::s4, buffer, 1), -6);
    EXPECT_EQ(load(data_type::s4, buffer, 3), -1);
    store(data_type::s4, buffer, 1, -8);
    EXPECT_EQ(buffer[0], 0x85);
    store(data_type::u4, buffer, 2, 3);
    EXPECT_EQ(buffer[1], 0xf3);
}

TEST(pairs_of_bits, lie_four_to_a_byte) {
    unsigned char buffer[2] = {0b11100100, 0xff};
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(load(data_type::u2, buffer, i), i);
    EXPECT_EQ(load(data_type::s2, buffer, 1), 1);
    EXPECT_EQ(load(data_type::s2, buffer, 2), -2);
    EXPECT_EQ(load(data_type::s2, buffer, 3), -1);
    store(data_type::u2, buffer, 5, 2);
    EXPECT_EQ(buffer[1], 0b11111011);
    store(data_type::s2, buffer, 2, -1);
    EXPECT_EQ(buffer[0], 0b11110100);
}

// Four in three bytes: x0 | (x1 & 3) << 6, x1 >> 2 | (x2 & 15) << 4, x2 >> 4 | x3 << 2.
TEST(six_bits, lie_one_after_another) {
    const unsigned codes[] = {0x01, 0x1f, 0x2a, 0x3f, 0x15}; // 0.125, 7.5, -1.25, -7.5, 3.25 in e2m3
    const double values[] = {0.125, 7.5, -1.25, -7.5, 3.25};
    const unsigned char bytes[] = {0x01 | 0x03 << 6, 0x1f >> 2 | 0x0a << 4, 0x2a >> 4 | 0x3f << 2, 0x15};
    unsigned char buffer[5] = {0, 0, 0, 0x80, 0x99};
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(load(data_type::f6_e2m3, bytes, i), values[i]);
        EXPECT_EQ(real_from(data_type::f6_e2m3, codes[i]), values[i]);
        store(data_type::f6_e2m3, buffer, i, values[i]);
    }
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(buffer[i], bytes[i]);
    EXPECT_EQ(buffer[3], 0x80 | 0x15); // the bits beyond are preserved
    EXPECT_EQ(buffer[4], 0x99);
    store(data_type::f6_e3m2, buffer, 1, 0);
    EXPECT_EQ(buffer[0], 0x01);
    EXPECT_EQ(buffer[1], 0xa0);
}

} // namespace
} // namespace dynquant::test
