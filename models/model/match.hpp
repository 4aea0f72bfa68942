// The layers of pre-quantized networks: which nodes of a graph are one, and what keeps others from it. The patterns are
// those of "Pre-Quantized Deep Learning Models Codified in ONNX" (figures 1 to 6).
#pragma once

#include <map>
#include <set>

#include "model/graph.hpp"

namespace dynquant::models {

/// A product of integers, its rescaling to 8 bits and perhaps an activation: a chain of nodes, each of which takes what
/// the one before it gives, and constants.
struct layer {
    std::string pattern; // "fully connected", "convolution with ReLU", "fully connected with fp16 Tanh"
    std::vector<std::size_t> nodes;
    /// How many of them, at the end, are a function from rescaled values to 8-bit results.
    std::size_t activation = 0;
    const tensor *bias = nullptr;
    std::vector<const tensor *> multipliers; // one or two
    bool relu = false;
    /// uint8 or int8 where rescaled values are quantized, float16 where they are cast to it.
    onnx::element_type rescaled = 0;
    std::string result; // the value that the last node gives
};

/// Which nodes take each value, as often as they do, and which values are outputs.
class users {
  public:
    explicit users(const graph &g);

    const std::vector<std::size_t> &of(const std::string &value) const;
    bool is_output(const std::string &value) const { return outputs_.contains(value); }

  private:
    std::map<std::string, std::vector<std::size_t>> of_;
    std::set<std::string> outputs_;
};

struct match {
    std::optional<layer> found;
    std::string reason = {}; // of what is not found, a sentence's end: "value 'h' is also an output of the graph"
};

/// Whether a node multiplies integers: MatMulInteger and ConvInteger.
bool is_product(const node &n);

/// The layer that begins with a product. The types of all values have been inferred.
match match_layer(const graph &g, const users &u, std::size_t product);

/// The dimension of a product's output whose elements have a column of weights, or a filter, each. The rank where the
/// weights are one vector.
std::size_t channel_axis(const graph &g, const node &product);

} // namespace dynquant::models
