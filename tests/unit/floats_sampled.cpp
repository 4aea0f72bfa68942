// One of every 1024 floats (and with it every exponent and both signs), quantized with telling parameters.
#include "floats.hpp"

namespace dynquant::test {
namespace {

class floats_sampled : public testing::TestWithParam<float_case> {};

TEST_P(floats_sampled, are_quantized_right) {
    constexpr std::uint32_t step = 1024 + 1; // odd, so that the low bits vary
    expect_floats_right(GetParam(), data_type::s8, 0, step, (std::size_t {1} << 32) / step);
    expect_floats_right(GetParam(), data_type::u8, 512, step, (std::size_t {1} << 32) / step);
}

// Around each tie and each end of the range: the floats where a quotient off by one in its last bit shows.
TEST_P(floats_sampled, next_to_ties_are_quantized_right) {
    const auto [scale, zero_point] = GetParam();
    for (int integer = -130; integer <= 258; ++integer) {
        const double tie = (integer + 0.5 - zero_point) * static_cast<double>(scale);
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(tie));
        for (const auto type : {data_type::s8, data_type::u8})
            for (const auto rule : {numerics::strict, numerics::any})
                expect_floats_right(GetParam(), type, bits - 16, 1, 32, rule);
    }
}

TEST_P(floats_sampled, are_quantized_by_the_rule_of_fpmath_mode_any) {
    constexpr std::uint32_t step = 4096 + 1;
    for (const auto type : {data_type::s8, data_type::u8})
        expect_floats_right(GetParam(), type, 0, step, (std::size_t {1} << 32) / step, numerics::any);
}

INSTANTIATE_TEST_SUITE_P(parameters, floats_sampled, testing::ValuesIn(float_cases));

} // namespace
} // namespace dynquant::test
