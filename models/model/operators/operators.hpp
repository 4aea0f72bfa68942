// models/model/operators: type inference and plain stages of ONNX's operators, for the rows of model/op_schema.cpp.
// May include: what models/model may.
// infer_X checks shapes and returns the type of the output. prepare_X makes the stage; infer_X has succeeded before.
// Both throw error. Start here, then elementwise.cpp for a short example. products.hpp has what integer and float
// products share.
#pragma once

#include "model/op_node.hpp"

namespace dynquant::models {

/// Products of integers, each a layer of one node: layer_stage.cpp.
tensor_type infer_matmul_integer(const op_node &n);
tensor_type infer_conv_integer(const op_node &n);
prepared_node prepare_integer_product(const op_node &n, const options &opts);

/// MatMul, Gemm and Conv of float32.
tensor_type infer_matmul(const op_node &n);
prepared_node prepare_matmul(const op_node &n, const options &opts);
tensor_type infer_gemm(const op_node &n);
prepared_node prepare_gemm(const op_node &n, const options &opts);
tensor_type infer_conv(const op_node &n);
prepared_node prepare_conv(const op_node &n, const options &opts);

/// Add and Mul.
tensor_type infer_broadcast(const op_node &n);
prepared_node prepare_add(const op_node &n, const options &opts);
prepared_node prepare_mul(const op_node &n, const options &opts);

tensor_type infer_cast(const op_node &n);
prepared_node prepare_cast(const op_node &n, const options &opts);

/// Returns the first input's type and shape.
tensor_type infer_alike(const op_node &n);
prepared_node prepare_relu(const op_node &n, const options &opts);
prepared_node prepare_tanh(const op_node &n, const options &opts);
prepared_node prepare_sigmoid(const op_node &n, const options &opts);
prepared_node prepare_copy(const op_node &n, const options &opts);

tensor_type infer_quantize(const op_node &n);
prepared_node prepare_quantize(const op_node &n, const options &opts);

tensor_type infer_flatten(const op_node &n);
tensor_type infer_reshape(const op_node &n);
tensor_type infer_transpose(const op_node &n);
prepared_node prepare_transpose(const op_node &n, const options &opts);

tensor_type infer_max_pool(const op_node &n);
prepared_node prepare_max_pool(const op_node &n, const options &opts);

} // namespace dynquant::models
