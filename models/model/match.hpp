// Pattern matching: which nodes form a layer of a pre-quantized network, and why others do not. The patterns are those
// of Hanebutte et al., "Pre-Quantized Deep Learning Models Codified in ONNX", figures 1 to 6.
#pragma once

#include <map>
#include <set>

#include "model/graph.hpp"

namespace dynquant::models {

/// An integer product, its rescaling to 8 bits, and perhaps an activation. The nodes are a chain: each takes the output
/// of the one before it, and constants.
struct layer {
    std::string pattern; // "fully connected", "convolution with ReLU", "fully connected with fp16 Tanh"
    std::vector<std::size_t> nodes;
    /// The number of nodes at the end that map rescaled values to 8-bit results.
    std::size_t activation = 0;
    const tensor *bias = nullptr;
    std::vector<const tensor *> multipliers; // one or two
    bool relu = false;
    /// uint8 or int8 where rescaled values are quantized, float16 where they are cast to it.
    onnx::element_type rescaled = 0;
    std::string result; // the output of the last node
};

/// The users of each value, and which values are outputs of the graph. A node is listed once per use.
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
    std::string reason = {}; // why no layer was found: "value 'h' is also an output of the graph"
};

/// Whether a node is MatMulInteger or ConvInteger.
bool is_product(const node &n);

/// Matches the layer that begins with `product`, an index of a node. Precondition: infer(g).
match match_layer(const graph &g, const users &u, std::size_t product);

/// The channel dimension of a product's output: that of the columns of the weights, or of the filters. Equals the rank
/// where the weights are one vector.
std::size_t channel_axis(const graph &g, const node &product);

} // namespace dynquant::models
