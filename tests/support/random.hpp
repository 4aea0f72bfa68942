// Random statements and data that look for trouble: ties and their neighbours, saturation, special values,
// strides with gaps, permutations and broadcasts.
#pragma once

#include <random>

#include "direct.hpp"

namespace dynquant::test {

/// DYNQUANT_TEST_SEED, or always the same number. Printed at first use.
std::uint64_t seed();

class random_source {
  public:
    /// `stream` keeps apart the numbers of different tests and iterations.
    explicit random_source(std::uint64_t stream)
        : engine_(seed() * 0x9e3779b97f4a7c15u + stream) {}

    std::int64_t within(std::int64_t lowest, std::int64_t highest);
    bool chance(int percent) { return within(1, 100) <= percent; }
    float any_float();                          // any bits
    float exponent_within(int least, int most); // 2^least <= |result| < 2^(most + 1), of either sign

    template <typename T>
    T one_of(const std::vector<T> &values) {
        return values[static_cast<std::size_t>(within(0, static_cast<std::int64_t>(values.size()) - 1))];
    }

  private:
    std::mt19937_64 engine_;
};

/// NaNs, quiet and signalling, of both signs: those with bits that a float of 16 bits has no room for are easily made
/// infinite, and 0x7fffffff is easily made to wrap around.
std::vector<float> various_nans();

/// How wild the parameters are.
enum class parameters {
    tame,  // what a calibration gives: positive scales, zero points of 8 bits
    fast,  // within the fast division's guard, and at its edges
    mixed, // within it and beyond
};

std::vector<float> random_scales(random_source &random, parameters kind, std::int64_t count);
std::vector<std::int64_t> random_zero_points(
        random_source &random, parameters kind, data_type type, std::int64_t count);

/// Values around the ties and the ends of the range that these parameters give, and special values.
float random_real(random_source &random, const std::vector<float> &scales, std::int64_t zp);

/// Data for a statement; known values are left as they are, others are drawn.
sample random_sample(random_source &random, quantization q, parameters kind);

/// dims, strides and the block of a statement.
quantization random_layout(random_source &random);

/// Any statement of oneDNN's rules that check() accepts, of up to some thousand elements.
sample random_statement(random_source &random);

/// How many parameters a statement has.
std::int64_t parameter_count(const quantization &q);

} // namespace dynquant::test
