// Writes ops as the graph of plain values that src/layers/match reads.
#pragma once

#include <deque>
#include <map>
#include <span>

#include "graph/layer/chain.hpp"
#include "layers/match/graph.hpp"

namespace dynquant::graph::core {

/// The elements of what a layer has as constants: inputs of ops, by their positions, or attributes in their place.
class constant_source {
  public:
    constant_source() = default;
    constant_source(const constant_source &) = delete;
    constant_source &operator=(const constant_source &) = delete;
    virtual ~constant_source() = default;

    virtual std::vector<float> floats(const op_record &op, size_t input, std::int64_t count) const = 0;
    virtual std::vector<std::int32_t> integers(const op_record &op, size_t input, std::int64_t count) const = 0;
};

/// Elements of no run, for finding layers before any data is there. None is the neutral one of its operator, which the
/// matcher would leave out.
class no_constants : public constant_source {
  public:
    std::vector<float> floats(const op_record &, size_t, std::int64_t count) const override {
        return std::vector<float>(static_cast<size_t>(count), 2.0F);
    }
    std::vector<std::int32_t> integers(const op_record &, size_t, std::int64_t count) const override {
        return std::vector<std::int32_t>(static_cast<size_t>(count), 1);
    }
};

/// The matcher's graph. A MatMul between two Dequantize becomes MatMulInteger of what these read, Cast, Mul by x's
/// scale times the scales of w, and Add of a bias; Quantize becomes Div, Add and a QuantizeLinear with scale 1, as
/// oneDNN adds zps before it rounds and ONNX behind. Weights have no data.
struct layer_graph {
    layers::match::graph g;
    std::vector<size_t> op_of;                  // for each node, the position of its op
    std::map<size_t, size_t> ids;               // of values that are logical tensors
    std::map<size_t, size_t> products;          // by the position of a MatMul: its node
    std::map<size_t, std::string> why_no_layer; // of other MatMuls of a Dequantize, by position
    std::deque<std::vector<std::byte>> data;    // of the constants
};

/// ops: producers before consumers.
layer_graph read_graph(std::span<const op_pointer> ops, const constant_source &constants);

} // namespace dynquant::graph::core
