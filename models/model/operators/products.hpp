// What products of matrices and convolutions have in common, of integers for those who fuse them too.
#pragma once

#include "layers/integer_convolution.hpp"
#include "layers/integer_product.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// A node of MatMul or MatMulInteger as products of matrices: A's matrices one after another, each times the one of B
/// that it meets. A vector is a matrix of one row, or in B of one column.
struct matrices {
    dims y;                                         // the node's output
    std::int64_t rows = 0, inner = 0, columns = 0;  // of one product; the rows of all that share one matrix of B
    std::vector<std::int64_t> x_at = {}, w_at = {}; // which matrices of A and of B, for each of y's
};

/// Throws error for shapes that do not fit together.
matrices plan_matrices(const op_node &n);

/// A node of MatMulInteger.
struct matmul_plan : matrices {
    layers::integer_product::problem
            problem; // of one product, but zero points may be those of all columns of all matrices
};

/// Throws error for shapes and zero points that do not fit together, and for weights that are no constant.
matmul_plan plan_matmul(const op_node &n);

/// That of one of B's matrices.
layers::integer_product::problem problem_of(const matmul_plan &plan, std::int64_t matrix);

/// A node of ConvInteger. Throws error alike.
layers::integer_convolution plan_convolution(const op_node &n);

/// The weights of either node.
const std::int8_t *weights_of(const op_node &n);

} // namespace dynquant::models
