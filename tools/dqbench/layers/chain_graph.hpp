// A oneDNN Graph from JSON that is a chain of Dequantize of both sides -> MatMul -> post-ops -> Quantize: its ops in an
// order in which they can run, with shapes and parameters of all, and data for its inputs.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "json_graph/model.hpp"
#include "oracle/chains.hpp"

namespace dqbench::layers {

namespace oracle = dynquant::test::oracle;

/// Why a graph is not run; a sentence's end.
struct not_supported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The bytes of tensors, by id.
using buffers = std::map<std::uint64_t, std::vector<std::byte>>;

/// The scales and zero points of Quantize and Dequantize that are inputs are those of `data`.
struct chain_graph {
    json_graph::graph g; // producers before consumers
    std::vector<json_graph::tensor> inputs, outputs;
    std::uint64_t product;    // the id of the MatMul or Convolution
    bool has_float_x = false; // only the weights of the product are dequantized: results are within a bound

    /// Infers shapes from those of the inputs; scales and zps along a channel become as many as it has, as in benchdnn.
    /// Throws not_supported.
    explicit chain_graph(json_graph::graph from);

    /// Sets the property of the product's weights.
    void set_weights(const std::string &property);

    /// Draws inputs. Integers are at most `amplitude` away from their zero points.
    buffers draw(std::int64_t amplitude) const;

    /// What the ops give.
    struct value {
        oracle::reals reals; // or
        oracle::codes codes;
    };
    std::map<std::uint64_t, value> expected(const buffers &data) const;

    /// The same with Quantize and Dequantize in place of the dynamic ops, with scales and zps of `data` as attributes.
    /// Throws not_supported where there is no dynamic op, or where oneDNN would take the first of several zps for all.
    chain_graph with_static_ops(const buffers &data) const;

    /// 128x768*768x768
    std::string extents() const;
};

bool is_quantize(const json_graph::op &o);
bool is_dequantize(const json_graph::op &o);

} // namespace dqbench::layers
