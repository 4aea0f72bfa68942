// What ConvInteger or MatMulInteger without steps costs here and in ONNX Runtime: it is left to ONNX Runtime where it
// costs less there.
#pragma once

#include <array>

#include "layers/conv/integer_convolution.hpp"

namespace dynquant::onnxruntime {

/// The counts have the order of the constants in integer_cost.cpp, which says what they are.
using integer_counts = std::array<double, 8>;

/// p: of one shape. Channels first; else it is a product, whose rows are positions of a window of one tap.
integer_counts counts_in_ort(const layers::integer_convolution &p);

bool costs_less_in_ort(const layers::integer_convolution &p, bool w_is_signed);

} // namespace dynquant::onnxruntime
