// Random statements under numerics::onnx, of every combination of types: every kernel that computes one agrees with the
// oracle bit for bit.
#include <gtest/gtest.h>

#include "support/random_onnx.hpp"

namespace dynquant::test {
namespace {

class random_onnx_statements : public testing::TestWithParam<data_type> {};

TEST_P(random_onnx_statements, are_computed_as_the_oracle_does) {
    std::uint64_t i = 0;
    for (const auto &types : onnx_types_with(GetParam())) {
        random_source random(static_cast<std::uint64_t>(GetParam()) << 32 | i++);
        const auto s = random_onnx_statement(random, types);
        ASSERT_TRUE(computed_right(s, variants_for(s))) << "statement " << i << " of seed " << seed();
    }
}

INSTANTIATE_TEST_SUITE_P(types, random_onnx_statements,
        testing::Values(data_type::s32, data_type::u32, data_type::s16, data_type::u16, data_type::s8, data_type::u8,
                data_type::s4, data_type::u4, data_type::s2, data_type::u2, data_type::f16, data_type::bf16,
                data_type::f8_e4m3, data_type::f8_e5m2, data_type::f8_e4m3fnuz, data_type::f8_e5m2fnuz,
                data_type::f6_e2m3, data_type::f6_e3m2, data_type::f4_e2m1),
        [](const auto &value) { return std::string(to_string(value.param)); });

} // namespace
} // namespace dynquant::test
