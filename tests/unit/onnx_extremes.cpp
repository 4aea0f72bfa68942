// The minimum and maximum of values and 0 are right on each instruction set.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "onnx/extremes.hpp"
#include "support/guarded_buffer.hpp"
#include "support/variants.hpp"

namespace dynquant::onnx {
namespace {

using test::guarded_buffer;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
// Larger than the step of every instruction set, and no multiple of it.
constexpr std::int64_t sizes[] = {1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 200};

class extremes_by : public testing::TestWithParam<test::variant> {
  protected:
    /// The values end before an inaccessible page.
    extremes find(const std::vector<float> &values, int threads = 1) const {
        guarded_buffer buffer(values.size() * sizeof(float), guarded_buffer::place::at_back);
        std::ranges::copy(values, reinterpret_cast<float *>(buffer.data()));
        return find_extremes(extremes_function_for(GetParam().max_isa), reinterpret_cast<const float *>(buffer.data()),
                static_cast<std::int64_t>(values.size()), threads);
    }
};

testing::AssertionResult are(const extremes &given, float low, float high, bool nan_found) {
    if (given.low == low && given.high == high && given.nan == nan_found && !std::signbit(given.high)
            && std::signbit(given.low) == (low < 0))
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << given.low << " to " << given.high << (given.nan ? " and NaN" : "");
}

TEST_P(extremes_by, are_found_at_every_place) {
    for (const auto size : sizes)
        for (std::int64_t at = 0; at < size; ++at) {
            std::vector<float> values(static_cast<std::size_t>(size), 0.5F);
            auto &value = values[static_cast<std::size_t>(at)];
            value = -3;
            EXPECT_TRUE(are(find(values), -3, size == 1 ? 0 : 0.5F, false)) << size << " at " << at;
            value = 7;
            EXPECT_TRUE(are(find(values), 0, 7, false)) << size << " at " << at;
            value = nan;
            EXPECT_TRUE(are(find(values), 0, size == 1 ? 0 : 0.5F, true)) << size << " at " << at;
        }
}

TEST_P(extremes_by, of_nothing_are_0) {
    EXPECT_TRUE(are(find({}), 0, 0, false));
    EXPECT_TRUE(are(find_extremes(extremes_function_for(GetParam().max_isa), nullptr, 0, 4), 0, 0, false));
}

TEST_P(extremes_by, of_zeros_have_no_sign) {
    for (const auto size : sizes)
        EXPECT_TRUE(are(find(std::vector<float>(static_cast<std::size_t>(size), -0.0F)), 0, 0, false)) << size;
}

TEST_P(extremes_by, may_be_infinite_or_subnormal) {
    const float least = std::numeric_limits<float>::denorm_min();
    std::vector<float> values(100, 0);
    values[3] = -least;
    values[98] = least;
    EXPECT_TRUE(are(find(values), -least, least, false));
    values[50] = infinity;
    values[51] = -infinity;
    EXPECT_TRUE(are(find(values), -infinity, infinity, false));
}

TEST_P(extremes_by, are_the_same_for_every_number_of_threads) {
    std::vector<float> values(100'003);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i % 1009) - 500;
    values[77'777] = -1e6F;
    values[99'999] = 1e6F;
    for (const int threads : {1, 2, 3, 8, 0})
        EXPECT_TRUE(are(find(values, threads), -1e6F, 1e6F, false)) << threads;
    values[50'000] = nan;
    for (const int threads : {1, 2, 3, 8, 0})
        EXPECT_TRUE(are(find(values, threads), -1e6F, 1e6F, true)) << threads;
}

std::vector<test::variant> instruction_sets() {
    auto variants = test::universal_variants();
    variants.pop_back(); // the reference kernel
    return variants;
}

INSTANTIATE_TEST_SUITE_P(isa, extremes_by, testing::ValuesIn(instruction_sets()),
        [](const auto &tested) { return tested.param.name(); });

} // namespace
} // namespace dynquant::onnx
