// All 2^32 floats are quantized right.
#include "floats.hpp"

namespace dynquant::test {
namespace {

/// Floats with the same sign and exponent (or infinity and the NaNs). In the order of their bits their results are
/// monotonic, because quotient, sum, rounding and clamping are.
constexpr std::size_t chunk = std::size_t {1} << 23;

/// The expected results of a monotonic range. All floats between two with equal results have that result, so the
/// oracle, which takes five times the kernels' time, runs only around the steps.
class monotonic_oracle {
  public:
    monotonic_oracle(const float_case &c, data_type integer, const std::vector<float> &src)
        : expected(src.size())
        , c_(c)
        , integer_(integer)
        , src_(src) {
        fill(0, bits_at(0), src.size() - 1, bits_at(src.size() - 1));
    }

    std::vector<std::uint8_t> expected;

  private:
    std::uint8_t bits_at(std::size_t i) const { return expected_bits(src_[i], c_, integer_, numerics::strict); }

    void fill(std::size_t first, std::uint8_t first_bits, std::size_t last, std::uint8_t last_bits) {
        if (first_bits == last_bits || last - first == 1) {
            std::fill(expected.begin() + static_cast<std::ptrdiff_t>(first),
                    expected.begin() + static_cast<std::ptrdiff_t>(last), first_bits);
            expected[last] = last_bits;
            return;
        }
        const auto middle = std::midpoint(first, last);
        const auto middle_bits = bits_at(middle);
        fill(first, first_bits, middle, middle_bits);
        fill(middle, middle_bits, last, last_bits);
    }

    float_case c_;
    data_type integer_;
    const std::vector<float> &src_;
};

class floats_all : public testing::TestWithParam<float_case> {};

TEST_P(floats_all, are_quantized_right) {
    for (std::uint64_t first = 0; first < std::uint64_t {1} << 32; first += chunk) {
        const auto src = floats_from(static_cast<std::uint32_t>(first), 1, chunk);
        for (const auto type : {data_type::s8, data_type::u8}) {
            const monotonic_oracle oracle(GetParam(), type, src);
            expect_quantized(GetParam(), type, src, oracle.expected, numerics::strict);
            if (HasFatalFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(parameters, floats_all, testing::ValuesIn(float_cases));

} // namespace
} // namespace dynquant::test
