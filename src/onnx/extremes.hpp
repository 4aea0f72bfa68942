// The minimum and maximum of an array and 0, the first pass of DynamicQuantizeLinear, and its parameters.
#pragma once

#include <cstdint>

#include "dynquant/quantization.hpp"

namespace dynquant::onnx {

/// low <= 0 <= high, and neither is -0. Both ignore NaN; `nan` tells whether there was one.
struct extremes {
    float low = 0, high = 0;
    bool nan = false;
};

using extremes_function = extremes (*)(const float *x, std::int64_t count);

/// One for each instruction set. Precondition: runs under parallel::float_control, as DAZ would lose subnormal values.
extern const extremes_function scalar_extremes, avx2_extremes, avx512_extremes;

extremes_function extremes_function_for(isa value);

/// Applies the function on up to `threads` threads; 0 is the concurrency of the caller's arena. The result has the same
/// bits for any number of threads.
extremes find_extremes(extremes_function function, const float *x, std::int64_t count, int threads);

/// What DynamicQuantizeLinear computes before it quantizes.
struct dynamic_parameters {
    float scale;
    std::uint8_t zero_point;
};

/// Its function body from X_Range on, under parallel::float_control.
dynamic_parameters compute_parameters(const extremes &found);

} // namespace dynquant::onnx
