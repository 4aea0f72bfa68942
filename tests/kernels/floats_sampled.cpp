// One of every 1024 floats, and floats next to ties, are quantized right under the parameters of floats.hpp. The sample
// has every exponent and both signs.
#include "floats.hpp"

#include <oneapi/tbb/parallel_for.h>

namespace dynquant::test {
namespace {

/// Quantizes src by each variant. numerics::onnx takes only zero points in the range of the integer's type.
void expect_floats_right(
        const float_case &c, data_type integer, const std::vector<float> &src, numerics rule = numerics::strict) {
    const int lowest = integer == data_type::s8 ? -128 : 0, highest = lowest + 255;
    if (rule == numerics::onnx && std::clamp(c.zero_point, lowest, highest) != c.zero_point) return;
    std::vector<std::uint8_t> expected(src.size());
    tbb::parallel_for(
            std::size_t {0}, src.size(), [&](std::size_t i) { expected[i] = expected_bits(src[i], c, integer, rule); });
    expect_quantized(c, integer, src, expected, rule);
}

class floats_sampled : public testing::TestWithParam<float_case> {};

/// One of `step` floats. The step is odd, so the low bits vary.
std::vector<float> one_of(std::uint32_t step) {
    return floats_from(0, step, (std::size_t {1} << 32) / step);
}

TEST_P(floats_sampled, are_quantized_right) {
    const auto src = one_of(1025);
    for (const auto type : {data_type::s8, data_type::u8})
        expect_floats_right(GetParam(), type, src);
}

TEST_P(floats_sampled, are_quantized_by_the_rule_of_fpmath_mode_any) {
    const auto src = one_of(4097);
    for (const auto type : {data_type::s8, data_type::u8})
        expect_floats_right(GetParam(), type, src, numerics::any);
}

TEST_P(floats_sampled, are_quantized_by_the_rule_of_onnx) {
    const auto src = one_of(4097);
    for (const auto type : {data_type::s8, data_type::u8})
        expect_floats_right(GetParam(), type, src, numerics::onnx);
}

// A quotient that is wrong in its last bit shows next to ties and to the ends of the range. Short runs and a long run
// may use different divisions.
TEST_P(floats_sampled, next_to_ties_are_quantized_right) {
    const auto [scale, zero_point] = GetParam();
    std::vector<float> all;
    for (int integer = -130; integer <= 258; ++integer) {
        const double tie = (integer + 0.5 - zero_point) * static_cast<double>(scale);
        const auto some = floats_from(std::bit_cast<std::uint32_t>(static_cast<float>(tie)) - 64, 1, 128);
        for (const auto type : {data_type::s8, data_type::u8})
            for (const auto rule : {numerics::strict, numerics::any, numerics::onnx})
                expect_floats_right(GetParam(), type, some, rule);
        all.insert(all.end(), some.begin(), some.end());
    }
    for (const auto type : {data_type::s8, data_type::u8})
        for (const auto rule : {numerics::strict, numerics::any, numerics::onnx})
            expect_floats_right(GetParam(), type, all, rule);
}

INSTANTIATE_TEST_SUITE_P(parameters, floats_sampled, testing::ValuesIn(float_cases));

} // namespace
} // namespace dynquant::test
