// All 2^32 floats are quantized right.
#include "floats.hpp"
#include "monotonic.hpp"

namespace dynquant::test {
namespace {

/// Floats with the same sign and exponent (or infinity and the NaNs). In the order of their bits their results are
/// monotonic, because quotient, sum, rounding and clamping are.
constexpr std::size_t chunk = std::size_t {1} << 23;

class floats_all : public testing::TestWithParam<float_case> {};

TEST_P(floats_all, are_quantized_right) {
    for (std::uint64_t first = 0; first < std::uint64_t {1} << 32; first += chunk) {
        const auto src = floats_from(static_cast<std::uint32_t>(first), 1, chunk);
        for (const auto type : {data_type::s8, data_type::u8}) {
            const auto expected = monotonic_results(
                    chunk, [&](std::size_t i) { return expected_bits(src[i], GetParam(), type, numerics::strict); });
            expect_quantized(GetParam(), type, src, expected, numerics::strict);
            if (HasFatalFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(parameters, floats_all, testing::ValuesIn(float_cases));

} // namespace
} // namespace dynquant::test
