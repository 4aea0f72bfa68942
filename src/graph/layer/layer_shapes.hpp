// A chain with final ports: what the logical tensors given to compile say of it.
#pragma once

#include "graph/layer/chain.hpp"

namespace dynquant::graph::core {

/// How a matrix, or a stack of them, lies in the tensor of a side of MatMul.
struct matrices {
    dims batch, strides_of_batch; // outermost first
    std::int64_t rows, columns;   // as they are multiplied, whatever `transpose` says
    std::int64_t row_stride, column_stride;
    std::int64_t count() const;

    /// Of matrix i in the order of the batch, in elements.
    std::int64_t offset(std::int64_t i) const;
    /// Whether all matrices lie one behind the other, row-major.
    bool are_dense() const;
};

struct layer_shapes {
    chain ops; // copies, with final ports
    matrices x, w;
    dims y, y_strides;
    /// For each matrix of y, the one of x and of w.
    std::vector<std::int64_t> x_of, w_of;
    quantization of_x, of_w; // the statements of both Dequantize
    std::optional<quantization> quantize_x;
    std::vector<c_logical_tensor> ports;        // final ones of the partition, inputs first
    std::vector<size_t> positions;              // of each of them in the lists of compile
    size_t inputs = 0;                          // the first ports
    size_t lists_inputs = 0, lists_outputs = 0; // the lengths of the lists

    size_t port_of(size_t id) const; // among the inputs; -1 where there is none
};

/// What messages call an input of an op.
std::string input_name(const op_record &op, size_t i);

/// Throws for logical tensors that do not fit each other.
layer_shapes make_shapes(const chain &c, logical_tensors inputs, logical_tensors outputs, dnnl_fpmath_mode_t mode);

} // namespace dynquant::graph::core
