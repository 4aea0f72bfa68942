// Random statements that requantize: every kernel that computes one agrees with the oracle bit for bit.
#include <gtest/gtest.h>

#include "support/random_requantize.hpp"

namespace dynquant::test {
namespace {

class random_requantizations : public testing::TestWithParam<int> {};

TEST_P(random_requantizations, are_computed_as_the_oracle_does) {
    constexpr int statements = 150;
    for (int i = 0; i < statements; ++i) {
        random_source random(std::uint64_t {1} << 40 | static_cast<std::uint64_t>(GetParam() * statements + i));
        const auto s = random_requantization(random);
        ASSERT_TRUE(computed_right(s, variants_for(s))) << "statement " << i << " of seed " << seed();
    }
}

INSTANTIATE_TEST_SUITE_P(streams, random_requantizations, testing::Range(0, 8));

} // namespace
} // namespace dynquant::test
