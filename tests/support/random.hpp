// Random statements and data, biased towards hard cases: ties and their neighbours, saturation, special values, strides
// with gaps, permutations and broadcasts.
#pragma once

#include <iterator>
#include <utility>

#include "direct.hpp"
#include "number_source.hpp"

namespace dynquant::test {

/// DYNQUANT_TEST_SEED, or a fixed number without it. Printed at first use.
std::uint64_t seed();

class random_source : public number_source {
  public:
    /// Different streams, such as those of tests or iterations, give different numbers.
    explicit random_source(std::uint64_t stream)
        : number_source(seed() * 0x9e3779b97f4a7c15u + stream) {}
    explicit random_source(std::span<const std::uint8_t> tape)
        : number_source(tape) {}

    float any_float();                          // any bits
    float exponent_within(int least, int most); // 2^least <= |result| < 2^(most + 1), of either sign
    std::vector<std::byte> bytes(std::int64_t count);

    template <typename T>
    void shuffle(std::vector<T> &values) {
        for (auto left = std::ssize(values); left > 1; --left)
            std::swap(
                    values[static_cast<std::size_t>(left - 1)], values[static_cast<std::size_t>(within(0, left - 1))]);
    }
};

/// NaNs, quiet and signalling, of both signs. Truncation to 16 bits can make infinity of NaNs whose set bits are all
/// low, and rounding by an addition can wrap 0x7fffffff.
std::vector<float> various_nans();

/// The range of random parameters.
enum class parameters {
    tame,  // as calibration gives them: positive scales, zero points of 8 bits
    fast,  // within the fast division's guard, its ends included
    mixed, // within the guard and beyond
};

std::vector<float> random_scales(random_source &random, parameters kind, std::int64_t count);

/// Draws the values that the statement does not know.
sample random_sample(random_source &random, quantization q, parameters kind);

/// The number of scales of a statement.
std::int64_t parameter_count(const quantization &q);

/// Draws dims, strides and the block of a statement.
quantization random_layout(random_source &random);

/// Draws a statement under oneDNN's rules that check() accepts, of up to a few thousand elements.
sample random_statement(random_source &random);

// ---- Under numerics::onnx: random_onnx.cpp -----------------------------------------------------------------

struct onnx_types {
    direction dir;
    data_type real, quantized, scales;
    std::optional<data_type> zero_points;
};

/// All combinations of types that check() accepts for a quantized type.
std::vector<onnx_types> onnx_types_with(data_type quantized);

/// Layout, parameters, data and the type of the division are drawn. The data are biased towards the hard cases of each
/// type.
sample random_onnx_statement(random_source &random, const onnx_types &types);

/// Draws the values of a statement. known: of a hundred, how many parameters have their values known beforehand.
sample random_onnx_sample(random_source &random, quantization q, int known = 0);

// ---- With computed scales: random_computed.cpp -------------------------------------------------------------

/// Draws a statement that quantizes to `dst` by computed scales, and src.
sample random_computed_statement(random_source &random, data_type dst);

/// The same with groups of consecutive elements in dense tensors: short and long ones, few and many.
sample random_computed_groups(random_source &random, data_type dst);

} // namespace dynquant::test
