// Random statements: every kernel and instruction set agrees with the oracle bit for bit.
#include <gtest/gtest.h>

#include "support/random.hpp"

namespace dynquant::test {
namespace {

class random_statements : public testing::TestWithParam<int> {};

// Ten tests, so that ctest's shards run them in parallel.
TEST_P(random_statements, are_computed_alike_by_all_kernels) {
    constexpr int statements = 200;
    for (int i = 0; i < statements; ++i) {
        random_source random(static_cast<std::uint64_t>(GetParam() * statements + i));
        const auto s = random_statement(random);
        ASSERT_TRUE(computed_right(s, variants_for(s))) << "statement " << i << " of seed " << seed();
    }
}

INSTANTIATE_TEST_SUITE_P(streams, random_statements, testing::Range(0, 10));

} // namespace
} // namespace dynquant::test
