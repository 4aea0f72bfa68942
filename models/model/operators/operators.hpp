// What the rows of the operator table point to.
#pragma once

#include "model/op_node.hpp"

namespace dynquant::models {

tensor_type infer_matmul_integer(const op_node &n);
prepared_node prepare_matmul_integer(const op_node &n, const settings &s);

tensor_type infer_conv_integer(const op_node &n);
prepared_node prepare_conv_integer(const op_node &n, const settings &s);

/// Of float32.
tensor_type infer_matmul(const op_node &n);
prepared_node prepare_matmul(const op_node &n, const settings &s);
tensor_type infer_gemm(const op_node &n);
prepared_node prepare_gemm(const op_node &n, const settings &s);
tensor_type infer_conv(const op_node &n);
prepared_node prepare_conv(const op_node &n, const settings &s);

/// Add and Mul.
tensor_type infer_broadcast(const op_node &n);
prepared_node prepare_add(const op_node &n, const settings &s);
prepared_node prepare_mul(const op_node &n, const settings &s);

tensor_type infer_cast(const op_node &n);
prepared_node prepare_cast(const op_node &n, const settings &s);

/// Of the first input's type and shape.
tensor_type infer_alike(const op_node &n);
prepared_node prepare_relu(const op_node &n, const settings &s);
prepared_node prepare_tanh(const op_node &n, const settings &s);
prepared_node prepare_sigmoid(const op_node &n, const settings &s);
prepared_node prepare_copy(const op_node &n, const settings &s);

tensor_type infer_quantize(const op_node &n);
prepared_node prepare_quantize(const op_node &n, const settings &s);

tensor_type infer_flatten(const op_node &n);
tensor_type infer_reshape(const op_node &n);
tensor_type infer_transpose(const op_node &n);
prepared_node prepare_transpose(const op_node &n, const settings &s);

tensor_type infer_max_pool(const op_node &n);
prepared_node prepare_max_pool(const op_node &n, const settings &s);

} // namespace dynquant::models
