// A multiplier becomes an integer and a right shift, exactly or rounded down.
#include "model/rescale.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace dynquant::models {
namespace {

void expect(double multiplier, std::int64_t quant_scale, int shift) {
    const auto r = rescale_of(multiplier);
    EXPECT_EQ(r.quant_scale, quant_scale) << multiplier;
    EXPECT_EQ(r.shift, shift) << multiplier;
}

TEST(rescale, gives_the_examples_of_the_paper) {
    expect(0.25, 1, 2);
    expect(1.0 / 3, 11184810, 25); // 2^25 / 3 = 11184810.67
}

TEST(rescale, gives_the_smallest_integer_when_it_is_exact) {
    expect(1, 1, 0);
    expect(3, 3, 0);
    expect(0.75, 3, 2);
    expect(1 - 0x1p-24, 16777215, 24);
    expect(0x1p24, 16777216, 0);
    expect(0x1p24 - 2, 16777214, 0);
    expect(0x1p-126, 1, 126);
}

TEST(rescale, rounds_down_by_less_than_one_part_in_2_to_23) {
    expect(0.1, 13421772, 27);        // 0.1 * 2^27 = 13421772.8
    expect(1 + 0x1p-24, 8388608, 23); // the 25th bit goes
    expect(0x1.8p-126, 1, 126);       // the largest shift limits the bits
    for (const double multiplier : {0.1, 1.0 / 3, 2.0 / 3, 1e-5, 12345.678, 1e-30}) {
        const double value = rescale_of(multiplier).value();
        EXPECT_LE(value, multiplier);
        EXPECT_LT(multiplier - value, std::ldexp(multiplier, -23));
    }
}

TEST(rescale, exists_for_no_other_multipliers) {
    for (const double multiplier : {0x1p-126, 1.0, 0x1p24})
        EXPECT_TRUE(has_rescale(multiplier)) << multiplier;
    for (const double multiplier : {0.0, -1.0, 0x1.fffffp-127, 0x1.000001p24, HUGE_VAL, std::nan("")})
        EXPECT_FALSE(has_rescale(multiplier)) << multiplier;
}

} // namespace
} // namespace dynquant::models
