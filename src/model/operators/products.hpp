// What MatMulInteger and ConvInteger have in common, for those who fuse them too.
#pragma once

#include "model/integer_convolution.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// A node of MatMulInteger as products of matrices: x's matrices one after another, each times the weights that it
/// meets.
struct matmul_plan {
    dims y;                               // the node's output
    integer_product::problem problem;     // of one of them; rows are those of all that share one matrix of weights, but
                                          // zero points may be those of all columns of all matrices
    std::vector<std::int64_t> x_at, w_at; // which matrices of A and of B, for each of y's
};

/// Throws error for shapes and zero points that do not fit together, and for weights that are no constant.
matmul_plan plan_matmul(const op_node &n);

/// That of one of B's matrices.
integer_product::problem problem_of(const matmul_plan &plan, std::int64_t matrix);

/// A node of ConvInteger. Throws error alike.
integer_convolution::problem plan_convolution(const op_node &n);

/// The weights of either node.
const std::int8_t *weights_of(const op_node &n);

} // namespace dynquant::models
