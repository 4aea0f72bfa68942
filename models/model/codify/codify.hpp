// From a float model to a pre-quantized one, in standard ONNX: "Pre-Quantized Deep Learning Models Codified in ONNX"
// (Hanebutte et al.), whose equations and figures the comments here count.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/graph.hpp"

namespace dynquant::models {

/// What a value was seen to hold, over all calibration data.
struct value_range {
    float lowest = 0, highest = 0;

    float magnitude() const { return highest > -lowest ? highest : -lowest; }
};

using value_ranges = std::map<std::string, value_range>;

struct codify_options {
    /// The rescaling as one Mul, or as Quant_scale and Quant_shift (3.1).
    enum class rescaling { one_mul, two_mul } rescale = rescaling::two_mul;
    /// Tanh and Sigmoid as functions of 8 bits (figure 4), or of float16 (figures 5 and 6).
    enum class precision { int8, fp16 } activation = precision::int8;
    /// A scale of the weights for each output channel, rather than one.
    bool per_channel = false;
};

struct codified {
    graph model;
    std::vector<std::string> notes; // what a person should know: coarser scales, values that are all 0
};

/// The values whose ranges codify() needs, in the order of the nodes: the graph's inputs, and of each layer the output
/// and what goes into its activation. Throws error for a node that cannot be codified, naming it.
std::vector<std::string> values_to_calibrate(const graph &g);

/// The pre-quantized model of a float model of Gemm, MatMul with or without Add, and Conv, each with or without Relu,
/// Tanh or Sigmoid, between Flatten, Reshape, Transpose and MaxPool. Symmetric scales: the
/// largest magnitude by 127, as int8; by 255, as uint8, of inputs that were never negative and of what Relu and Sigmoid
/// give; 1 for what is always 0. Weights go to -127 to 127, or less far where sums and biases would go beyond int32
/// otherwise: they never wrap. Inputs and outputs keep their names; what is new has names of its own. The graph's
/// value_types must be known (infer()). The same arguments give the same model. Throws error: values_to_calibrate(g)'s;
/// a range that is missing or not finite; weights that are not; a rescaling beyond what 24 bits and a shift can state.
codified codify(const graph &g, const value_ranges &ranges, const codify_options &opts);

} // namespace dynquant::models
