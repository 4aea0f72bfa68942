// The weights of weight-only layers: which nodes make them of constants, and whether weight_only_product.hpp knows
// them.
#pragma once

#include <string>
#include <vector>

#include "layers/match/graph.hpp"

namespace dynquant::layers::match {

/// What of the matrix shares a scale.
enum class scales_of { all, columns, rows, blocks };

/// The matrix that a product multiplies by, and the constant that it is made of: DequantizeLinear, then Cast, Transpose
/// and Reshape in any order and number; or MatMulNBits, which dequantizes what it multiplies by.
struct weights_view {
    std::size_t quantized = none, scale = none, zero_point = none; // values; quantized: none where weights are not so
    std::size_t dequantize = none;                                 // the DequantizeLinear; none: MatMulNBits
    std::vector<std::size_t> nodes = {};                           // from the last to the DequantizeLinear
    dims shape = {};                                               // as the product takes them
    std::int64_t inner = 0, columns = 0;
    bool is_transposed = false; // the constant's elements, in the order of memory, are [columns, inner]
    scales_of scales = scales_of::all;
    std::int64_t block = 0;        // rows of a block; without blocks 0
    std::int64_t column_group = 1; // columns of a block
    /// x becomes s8, with a scale for each so many of its columns: of `block` where that is not 0. 0: x stays float.
    std::int64_t x_block = 0;
    std::string reason = {}; // why they are no such matrix, or its scales are not known; "" where they are

    bool are_found() const { return quantized != none; }
    bool are_moved(const graph &g) const; // by a Transpose or Reshape
};

/// Whether products take x as s8 in blocks of so many columns.
constexpr bool is_block_of_x(std::int64_t block) {
    return block >= 16 && block <= 256 && (block & (block - 1)) == 0;
}

/// Returns one that is none for other products.
weights_view weights_of(const graph &g, const node &product);

/// MatMul, Gemm or Conv whose weights are so, or MatMulNBits.
bool is_weight_only_product(const graph &g, const node &n);

/// Whether they are integers with a scale for each block of columns of x, so that x may be s8 as well.
bool may_quantize_x(const graph &g, const node &product, const weights_view &weights);

/// Whether a convolution, of weights of that shape, is a product of each position's channels.
bool is_pointwise(const node &convolution, const dims &shape);

/// Why such a product is no weight-only layer, whatever its bias is; "" where it may be one. is_taken: for each node,
/// whether another layer has it.
std::string why_not_weight_only(
        const graph &g, const node &product, const weights_view &weights, const std::vector<bool> &is_taken);

} // namespace dynquant::layers::match
