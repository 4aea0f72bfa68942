// Shapes and parameters of matrix products and convolutions, for plain stages and fused layers.
#pragma once

#include "layers/integer_convolution.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// MatMul or MatMulInteger as a batch of products of matrices. A vector is a matrix of one row, or in B of one column.
struct matrices {
    dims y;                                         // the node's output
    std::int64_t rows = 0, inner = 0, columns = 0;  // of one product; A's matrices are stacked where B has only one
    std::vector<std::int64_t> x_at = {}, w_at = {}; // indices of the matrices of A and B, for each of y
};

/// Throws error for shapes that do not fit together.
matrices plan_matrices(const op_node &n);

/// The parameters of MatMulInteger.
struct matmul_plan : matrices {
    bool x_is_signed = false;
    std::vector<std::int32_t> w_zero_points = {}; // of all columns of one matrix, or of all matrices
};

/// Throws error for shapes and zero points that do not fit together, and for weights that are not constant.
matmul_plan plan_matmul(const op_node &n);

/// The parameters of ConvInteger. Throws error as plan_matmul() does.
layers::integer_convolution plan_convolution(const op_node &n);

/// The constant zero point of x of MatMulInteger or ConvInteger; 0 where it is left out.
std::int32_t x_zero_point_of(const op_node &n);

/// The constant weights of MatMulInteger or ConvInteger.
const std::int8_t *weights_of(const op_node &n);

} // namespace dynquant::models
