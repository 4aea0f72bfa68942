// The weights of weight-only layers: which nodes make them of constants, and whether weight_only_product.hpp knows
// them.
#pragma once

#include <string>
#include <vector>

#include "layers/match/graph.hpp"

namespace dynquant::layers::match {

/// The DequantizeLinear that makes a product's weights of constants, perhaps with a Cast behind it; or none.
std::size_t dequantize_of(const graph &g, const node &product);

/// MatMul, Gemm or Conv whose weights one makes.
bool is_weight_only_product(const graph &g, const node &n);

/// Whether the weights of one have a row for each column of y: those of Conv, and of Gemm with transB.
bool has_transposed_weights(const node &weight_only_product);

/// Whether a convolution, of weights of that shape, is a product of each position's channels.
bool is_pointwise(const node &convolution, const dims &shape);

/// Why such a product is no weight-only layer, whatever its bias is; "" where it may be one. is_taken: for each node,
/// whether another layer has it.
std::string why_not_weight_only(const graph &g, const node &product, const std::vector<bool> &is_taken);

} // namespace dynquant::layers::match
