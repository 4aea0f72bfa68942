// All 2^32 floats.
#include "floats.hpp"

namespace dynquant::test {
namespace {

class floats_all : public testing::TestWithParam<float_case> {};

TEST_P(floats_all, are_quantized_right) {
    constexpr std::size_t stretch = std::size_t {1} << 24;
    for (std::uint64_t first = 0; first < std::uint64_t {1} << 32; first += stretch) {
        const auto src = floats_from(static_cast<std::uint32_t>(first), 1, stretch);
        for (const auto type : {data_type::s8, data_type::u8}) {
            expect_floats_right(GetParam(), type, src);
            if (HasFatalFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(parameters, floats_all, testing::ValuesIn(float_cases));

} // namespace
} // namespace dynquant::test
