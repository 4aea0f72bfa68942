// Random statements with computed scales: every kernel that computes one agrees with the oracle bit for bit, for any
// number of threads.
#include <gtest/gtest.h>

#include "support/random_computed.hpp"

namespace dynquant::test {
namespace {

class random_computed_statements : public testing::TestWithParam<data_type> {};

void expect_computed_right(
        sample (*draw)(random_source &, data_type), data_type dst, std::uint64_t number, std::uint64_t statements) {
    for (std::uint64_t i = 0; i < statements; ++i) {
        random_source random(number << 40 | static_cast<std::uint64_t>(dst) << 20 | i);
        const auto s = draw(random, dst);
        const auto variants = variants_for(s);
        ASSERT_TRUE(computed_right(s, variants)) << "statement " << i << " of seed " << seed();
        guarded_sample guarded(s);
        for (const auto &v : variants)
            for (const int threads : {1, 2, 5}) {
                auto options = v.forced();
                options.threads = threads;
                ASSERT_TRUE(guarded.computed_right_by(prepare(s.q, options)))
                        << "statement " << i << " of seed " << seed() << " by " << v << " on " << threads << " threads";
            }
    }
}

TEST_P(random_computed_statements, are_computed_as_the_oracle_does) {
    expect_computed_right(random_computed_statement, GetParam(), 3, 120);
}

TEST_P(random_computed_statements, of_groups_are_computed_as_the_oracle_does) {
    expect_computed_right(random_computed_groups, GetParam(), 5, 80);
}

INSTANTIATE_TEST_SUITE_P(types, random_computed_statements,
        testing::Values(data_type::s8, data_type::u8, data_type::s4, data_type::u4, data_type::f8_e4m3,
                data_type::f8_e5m2, data_type::f6_e2m3, data_type::f6_e3m2, data_type::f4_e2m1),
        [](const auto &value) { return std::string(to_string(value.param)); });

} // namespace
} // namespace dynquant::test
