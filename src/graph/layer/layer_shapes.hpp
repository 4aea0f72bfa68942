// A chain with final ports: what the logical tensors given to compile say of it.
#pragma once

#include "graph/layer/chain.hpp"
#include "layers/conv/window.hpp"
#include "layers/gemm/weights.hpp"
#include "quantization/shape.hpp"

namespace dynquant::graph::core {

/// How a matrix, or a stack of them, lies in the tensor of a side of MatMul.
struct matrices {
    dims batch, strides_of_batch; // outermost first
    std::int64_t rows, columns;   // as they are multiplied, whatever `transpose` says
    std::int64_t row_stride, column_stride;
    std::int64_t count() const { return volume(batch).value_or(0); }

    /// Where matrix i begins, counted in the row-major order of the batch; in elements.
    std::int64_t offset(std::int64_t i) const;
    /// Whether all matrices lie one behind the other, row-major.
    bool are_dense() const;
};

/// Whether elements lie one behind the other, the last dim's adjacent.
bool are_row_major(const dims &extents, const dims &strides);

/// A Convolution. Dims are in ONNX's order.
struct convolution_shapes {
    dims x, w, y;
    std::int64_t groups;
    layers::window window;
    bool x_is_channels_last, y_is_channels_last; // as the layer takes x and gives y
    layers::constant_weights weights;            // their strides
    /// None where the taps of a filter have one stride. Else the strides of w by filter, channel and taps: it is
    /// copied.
    std::optional<dims> scattered_weights = {};
};

/// The buffers of a run, as layer_shapes::ports orders them.
using port_buffers = std::span<std::byte *const>;

inline constexpr size_t no_port = static_cast<size_t>(-1);

/// The buffer of a port; null where there is none.
inline std::byte *at(port_buffers buffers, size_t port) {
    return port == no_port ? nullptr : buffers[port];
}

struct layer_shapes {
    chain ops; // copies, with final ports
    /// A Convolution's x is the matrices of the last two dims in the order in which the layer takes it, and its w
    /// stands for one matrix with a column for each filter, whose strides are not read.
    matrices x, w;
    std::optional<convolution_shapes> convolution;
    /// y has the order in which the layer gives it; order_of_y says which dims of the op these are.
    dims y, y_strides;
    std::vector<size_t> order_of_y;
    /// For each matrix of y, the one of x and of w.
    std::vector<std::int64_t> x_of, w_of;
    quantization of_x, of_w; // the statements of both Dequantize
    std::optional<quantization> quantize_x;
    std::vector<c_logical_tensor> ports;        // final ones of the partition, inputs first
    std::vector<size_t> positions;              // of each of them in the lists of compile
    size_t inputs = 0;                          // the first ports
    size_t tensor = no_port;                    // of the chain
    size_t lists_inputs = 0, lists_outputs = 0; // the lengths of the lists

    /// The positions of inputs among the ports; no_port where what is asked for is no input of the layer.
    size_t port_of(size_t id) const;
    size_t port_of(const op_record &op, size_t input) const {
        return input < op.inputs.size() ? port_of(op.inputs[input].id) : no_port;
    }
};

/// The dims of a batch, and then those behind.
std::vector<size_t> with_batch(size_t rank, const std::vector<size_t> &behind);

/// What messages call an input of an op.
std::string input_name(const op_record &op, size_t i);

/// Throws for logical tensors that do not fit each other.
layer_shapes make_shapes(const chain &c, logical_tensors inputs, logical_tensors outputs, dnnl_fpmath_mode_t mode);

} // namespace dynquant::graph::core
