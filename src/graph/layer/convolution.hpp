// A Convolution as layers take it. Its tensors have ONNX's order of dims: images, channels, space; filters, channels of
// a group, taps. data_format and weights_format say which order the op has.
#pragma once

#include "graph/layer/chain.hpp"
#include "layers/conv/window.hpp"

namespace dynquant::graph::core {

bool is_convolution(const op_record &product);

/// Where ONNX's dims lie among those of src and dst, and among those of weights: 0, 3, 1, 2 for NXC of rank 4. MatMul's
/// tensors stay as they are.
std::vector<size_t> order_of_data(const op_record &product, int rank);
std::vector<size_t> order_of_weights(const op_record &product, int rank);

/// Dims or strides in another order: element i is values[order[i]].
dims permuted(const dims &values, const std::vector<size_t> &order);
/// Element order[i] is values[i].
dims permuted_back(const dims &values, const std::vector<size_t> &order);

/// The dim of w that the scales of columns or filters vary along.
int column_dim(const op_record &product, int rank);
/// The dim of the result that columns or filters lie along.
int channel_dim(const op_record &product, int rank);

std::int64_t groups_of(const op_record &convolution);
layers::window_attributes window_of(const op_record &convolution);
/// The window over x, or the error of one that does not fit. x, w: of ONNX's dims.
layers::window window_over(const op_record &convolution, const dims &x, const dims &w);
/// ONNX's dims of the result.
dims dims_of_result(const layers::window &over, const dims &x, const dims &w);

/// What of a Convolution's attributes no layer has, or "". rank: of its tensors.
std::string why_no_window(const op_record &convolution, int rank);

} // namespace dynquant::graph::core
