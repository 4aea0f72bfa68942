// Erf, Tanh and Sigmoid of all 2^32 floats: the same bits on every instruction set, and the errors that
// docs/onnx_operators.md states.
#include "curves.hpp"

#include <bit>
#include <cstring>
#include <iostream>

#include <gtest/gtest.h>

#include "support/tested_sets.hpp"

namespace dynquant::layers {
namespace {

constexpr std::uint32_t chunk = 1U << 16, infinity = 0x7f800000, of_negative = 0x80000000;

/// The floats whose bits are first, first + 1, ...
std::vector<float> floats_from(std::uint32_t first) {
    std::vector<float> x(chunk);
    for (std::uint32_t i = 0; i < chunk; ++i)
        x[i] = std::bit_cast<float>(first + i);
    return x;
}

class curves_all : public testing::TestWithParam<curve> {};

TEST_P(curves_all, have_the_same_bits_and_the_stated_error) {
    const auto &of = GetParam();
    const auto sets = test::runnable(epilogue_table);
    double worst = 0;
    for (const auto sign : {0U, of_negative}) {
        auto before = static_cast<float>(of.right(0));
        // By growing magnitudes, infinity last.
        for (std::uint32_t first = 0; first < infinity + chunk; first += chunk) {
            auto x = floats_from(first | sign);
            if (first == infinity) x.resize(1);
            const auto y = curve_of(of.what, x, *sets.front().code);
            for (const auto &by : sets) {
                const auto given = curve_of(of.what, x, *by.code);
                if (std::memcmp(given.data(), y.data(), y.size() * sizeof(float)) == 0) continue;
                for (std::size_t i = 0; i < x.size(); ++i)
                    ASSERT_EQ(std::bit_cast<std::uint32_t>(given[i]), std::bit_cast<std::uint32_t>(y[i]))
                            << std::hexfloat << "at " << x[i] << ": " << by.name << " gives " << given[i] << ", "
                            << sets.front().name << ' ' << y[i];
            }
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double error = error_of(y[i], of.right(static_cast<double>(x[i])));
                // Written so that NaN fails.
                if (!(error < of.bound))
                    FAIL() << "at " << std::hexfloat << x[i] << ": expected " << of.right(static_cast<double>(x[i]))
                           << std::defaultfloat << " with an error below " << of.bound << " units, given "
                           << std::hexfloat << y[i];
                worst = std::max(worst, error);
                // Tanh and Sigmoid take no step back, from one float to any larger one.
                if (of.what != post_op_kind::erf && !(sign == 0 ? before <= y[i] : y[i] <= before))
                    FAIL() << std::hexfloat << "at " << x[i] << ": a step back, from " << before << " to " << y[i];
                before = y[i];
            }
        }
        for (std::uint64_t first = infinity; first < of_negative; first += chunk) {
            auto x = floats_from(static_cast<std::uint32_t>(first) | sign);
            if (first == infinity) x.erase(x.begin());
            for (const auto &by : sets)
                for (const auto y : curve_of(of.what, x, *by.code))
                    ASSERT_TRUE(std::isnan(y)) << by.name << " gives " << y << " for a NaN";
        }
    }
    EXPECT_GT(worst, of.bound - 1e-4);
    std::cout << "largest error: " << worst << " units in the last place\n";
}

INSTANTIATE_TEST_SUITE_P(of_floats, curves_all, testing::ValuesIn(curves), [](const auto &each) {
    return each.param.what == post_op_kind::erf ? "erf" : each.param.what == post_op_kind::tanh ? "tanh" : "sigmoid";
});

} // namespace
} // namespace dynquant::layers
