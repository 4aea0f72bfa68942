// One of every 1024 floats, and floats next to ties, are quantized right under the parameters of floats.hpp. The sample
// has every exponent and both signs.
#include "floats.hpp"

#include <oneapi/tbb/parallel_for.h>

namespace dynquant::test {
namespace {

/// Quantizes src by each variant. numerics::onnx takes only zero points in the range of the integer's type.
void expect_floats_right(const float_case &c, data_type integer, const std::vector<float> &src, numerics rule) {
    const auto [lowest, highest] = range_of(integer);
    if (rule == numerics::onnx && (c.zero_point < lowest || c.zero_point > highest)) return;
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
    for (const auto &[rule, step] :
            {std::pair {numerics::strict, 1025U}, {numerics::any, 4097U}, {numerics::onnx, 4097U}}) {
        const auto src = one_of(step);
        for (const auto type : {data_type::s8, data_type::u8})
            expect_floats_right(GetParam(), type, src, rule);
    }
}

// A quotient that is wrong in its last bit shows next to ties and to the ends of the range. Short runs and a long run
// may use different divisions.
TEST_P(floats_sampled, next_to_ties_are_quantized_right) {
    const auto [scale, zero_point] = GetParam();
    const auto expect_right = [](const std::vector<float> &src) {
        for (const auto type : {data_type::s8, data_type::u8})
            for (const auto rule : {numerics::strict, numerics::any, numerics::onnx})
                expect_floats_right(GetParam(), type, src, rule);
    };
    std::vector<float> all;
    for (int integer = -130; integer <= 258; ++integer) {
        const double tie = (integer + 0.5 - zero_point) * static_cast<double>(scale);
        const auto some = floats_from(std::bit_cast<std::uint32_t>(static_cast<float>(tie)) - 64, 1, 128);
        expect_right(some);
        all.insert(all.end(), some.begin(), some.end());
    }
    expect_right(all);
}

INSTANTIATE_TEST_SUITE_P(parameters, floats_sampled, testing::ValuesIn(float_cases));

} // namespace
} // namespace dynquant::test
