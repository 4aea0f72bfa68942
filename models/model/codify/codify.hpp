// models/model/codify: makes a pre-quantized model, in standard ONNX operators, of a float model. The equations,
// figures and sections in comments are those of Hanebutte et al., "Pre-Quantized Deep Learning Models Codified in
// ONNX". May include: what models/model may. Only tools link it, not libdynquant_model. layers.hpp splits the graph
// into layers, integers.hpp quantizes their weights, codify.cpp writes the nodes. Start here. models/dqmodel/codify.cpp
// is the caller.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/graph.hpp"

namespace dynquant::models {

/// The range of a value over all calibration data.
struct value_range {
    float lowest = 0, highest = 0;

    float magnitude() const { return highest > -lowest ? highest : -lowest; }
};

using value_ranges = std::map<std::string, value_range>;

struct codify_options {
    /// One Mul, or Mul by Quant_scale and Mul by Quant_shift (section 3.1).
    enum class rescaling { one_mul, two_mul } rescale = rescaling::two_mul;
    /// Tanh and Sigmoid from int8 (figure 4), or in float16 (figures 5 and 6).
    enum class precision { int8, fp16 } activation = precision::int8;
    /// Weights have a scale per output channel instead of one.
    bool per_channel = false;
};

struct codified {
    graph model;
    std::vector<std::string> notes; // for the user: coarser scales, values that are all 0
};

/// The values whose ranges codify() needs, in the order of the nodes: the graph's inputs, and each layer's output and
/// input of its activation. Throws error, naming the node, for a node that cannot be codified.
std::vector<std::string> values_to_calibrate(const graph &g);

/// The pre-quantized model of a float model of Gemm, MatMul with or without Add, and Conv, each with or without Relu,
/// Tanh or Sigmoid, between Flatten, Reshape, Transpose and MaxPool. Deterministic. Inputs and outputs keep their
/// names. Precondition: infer(g). Scales are symmetric. uint8, for inputs without negative samples and for results of
/// Relu and Sigmoid: the largest magnitude / 255. int8, for all others: / 127. A value that is always 0 has scale 1.
/// Tanh and Sigmoid have fixed scales, 1 / 127 and 1 / 255. Weights are within -127 to 127, and smaller where sums and
/// bias could exceed int32. Throws error as values_to_calibrate() does; for a range that is missing or not finite; for
/// weights that are not finite; for a rescaling that 24 bits and a shift cannot state.
codified codify(const graph &g, const value_ranges &ranges, const codify_options &opts);

} // namespace dynquant::models
