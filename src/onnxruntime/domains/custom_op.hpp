// src/onnxruntime/domains: the operators of domains of their own, which ONNX Runtime calls custom operators. Start with
// register.cpp, the entry point, then this file and common/kernel.cpp.
//
// The callbacks of OrtCustomOp, which describe an operator to ONNX Runtime from the tables.
#pragma once

#include <onnxruntime_c_api.h>

#include "onnxruntime/common/kernel.hpp"
#include "onnxruntime/domains/operators.hpp"

namespace dynquant::onnxruntime {

/// The API that this folder and common ask for, so that they serve ONNX Runtime 1.17 and newer.
inline constexpr std::uint32_t domains_api_version = 17;

/// One kernel of one operator. ONNX Runtime keeps its address, so it must not move.
struct custom_op : OrtCustomOp {
    custom_op(const OrtApi &runtime, const registration &o, const kernel_types &t);

    const OrtApi &api;
    registration operation;
    std::vector<onnx::element_type> inputs, outputs;
};

/// Sets types and shapes of a node's outputs before there is a kernel. `op` need not have the types of the node: ONNX
/// Runtime asks the first operator with the name.
void infer_outputs(const custom_op &op, OrtShapeInferContext &context);

/// The node that a kernel is made for, without shapes.
onnx::node read_node(const custom_op &op, const OrtKernelInfo &info);
/// The places of that node's tensors, with its constants.
node_ports read_ports(const custom_op &op, const OrtKernelInfo &info, const onnx::node &n);

} // namespace dynquant::onnxruntime
