// Random statements: every kernel and instruction set agrees with the oracle bit for bit; by computed scales for any
// number of threads.
#include <gtest/gtest.h>

#include "support/random.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

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

/// Under numerics::onnx, of every combination of types.
class random_onnx_statements : public testing::TestWithParam<data_type> {};

TEST_P(random_onnx_statements, are_computed_as_the_oracle_does) {
    std::uint64_t i = 0;
    for (const auto &types : onnx_types_with(GetParam())) {
        random_source random(static_cast<std::uint64_t>(GetParam()) << 32 | i++);
        const auto s = random_onnx_statement(random, types);
        ASSERT_TRUE(computed_right(s, variants_for(s))) << "statement " << i << " of seed " << seed();
    }
}

INSTANTIATE_TEST_SUITE_P(types, random_onnx_statements, testing::ValuesIn(quantized_types), name_of_type);

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
        testing::Values(s8, u8, s4, u4, f8_e4m3, f8_e5m2, f6_e2m3, f6_e3m2, f4_e2m1), name_of_type);

} // namespace
} // namespace dynquant::test
