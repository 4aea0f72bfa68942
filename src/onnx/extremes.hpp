// The least and the greatest of many values and 0: the first pass of DynamicQuantizeLinear.
#pragma once

#include <cstdint>

#include "dynquant/quantization.hpp"

namespace dynquant::onnx {

/// low is 0 or less, high 0 or more, and neither is -0. Where nan tells that there was one, they are those of the
/// others.
struct extremes {
    float low = 0, high = 0;
    bool nan = false;
};

using extremes_function = extremes (*)(const float *x, std::int64_t count);

/// One for each instruction set. Under parallel::float_control only: DAZ would lose subnormal values.
extern const extremes_function scalar_extremes, avx2_extremes, avx512_extremes;

extremes_function extremes_function_for(isa value);

/// All of them on several threads, the same bits for any number. threads: 0 is the concurrency of the caller's arena.
extremes find_extremes(extremes_function function, const float *x, std::int64_t count, int threads);

} // namespace dynquant::onnx
