// src/graph/layer: ops of a oneDNN graph that are one layer of src/layers: (Dynamic)Dequantize of both sides of a
// MatMul or a Convolution, and what is around it. It includes graph, layers, kernels/kernels.hpp and what graph may.
// Start here, then find_chains.hpp, claims.hpp, claimed_layer.hpp and compiled_layer.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

using op_pointer = std::shared_ptr<const op_record>;

/// The inputs of MatMul and of Convolution.
namespace matmul {
enum input : size_t { src, weights, bias };
}

/// [Quantize of x ->] Dequantize of x and of w -> MatMul or Convolution [-> post-ops] [-> Quantize or TypeCast]; or of
/// w alone [-> TypeCast], and floats x, -> MatMul, which end before Quantize. Each Quantize and Dequantize may be a
/// dynamic one.
struct chain {
    std::vector<op_pointer> ops; // all of them, producers before consumers
    op_pointer quantize_x;       // or null
    op_pointer dequantize_x;     // null: x is floats
    op_pointer dequantize_w, product;
    op_pointer cast_w;              // of what dequantize_w gives, or null
    std::vector<op_pointer> behind; // from the product on
    std::optional<size_t> tensor;   // the id of what an Add takes beside the sums, unless constants by column
    std::string end;                // why the layer goes no further

    /// The ids of the ops that no other partition computes: a Dequantize may have other consumers.
    std::vector<size_t> owned;

    bool is_weight_only() const { return !dequantize_x; }
    const c_logical_tensor &x() const { return (dequantize_x ? dequantize_x : product)->inputs.front(); }
    const c_logical_tensor &w() const { return dequantize_w->inputs.front(); }
    const op_record &last() const { return behind.empty() ? *product : *behind.back(); }
};

/// f32, f16 or bf16.
bool is_float(const c_logical_tensor &t);

/// "op 3 'fc1' (MatMul)", and the ops around it.
std::string label(const chain &c);

bool transposes(const op_record &product, dnnl_graph_op_attr_t attr);

/// For each dim of an op's src, whether scales differ along it. Empty: there is one scale, whatever the rank is. None:
/// what is known of the src does not tell.
std::optional<std::vector<bool>> varying_dims(const op_record &op, const c_logical_tensor &src);

/// The scales and zps of one matrix of w, whose dims are known, as DequantizeLinear has them: {} for one, {columns},
/// {rows}, or blocks of rows: {blocks, columns}. Where groups of columns share one: {blocks, groups}.
struct matrix_parameters {
    dims counts;
    std::vector<size_t> along; // the dim of w's src that each count is of
    std::int64_t block;        // rows of w, as they are multiplied, that share a parameter; 0: all
    bool by_column;
    std::int64_t column_group; // columns that share a parameter which others have not; 1: none or all do

    matrix_parameters(const op_record &product, const op_record &dequantize_w);
};

/// Whether an op has more than one zero point; oneDNN's fused ops take the first for all.
bool has_several_zps(const op_record &op);

} // namespace dynquant::graph::core
