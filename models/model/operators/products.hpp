// Shapes of matrix products and of convolutions.
#pragma once

#include "model/window.hpp"

namespace dynquant::models {

/// MatMul or MatMulInteger as a batch of products of matrices. A vector is a matrix of one row, or in B of one column.
struct matrices {
    dims y;                                         // the node's output
    std::int64_t rows = 0, inner = 0, columns = 0;  // of one product; A's matrices are stacked where B has only one
    std::vector<std::int64_t> x_at = {}, w_at = {}; // indices of the matrices of A and B, for each of y
};

/// Throws error for shapes that do not fit together.
matrices plan_matrices(const op_node &n);

/// What a convolution's inputs (batch, channels, spatial dimensions) and weights (filters, channels of a group, kernel)
/// tell of it.
struct convolution_shapes {
    std::int64_t batch, channels, filters, groups;
    layers::window window;

    dims y() const;
};

/// Throws error for shapes that do not fit together.
convolution_shapes plan_convolution(const op_node &n);

} // namespace dynquant::models
