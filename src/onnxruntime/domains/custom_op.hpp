// src/onnxruntime/domains: the operators of domains of their own, which ONNX Runtime calls custom operators. Start with
// register.cpp, the entry point, then this file and common/kernel.cpp.
//
// The callbacks of OrtCustomOp, which describe an operator to ONNX Runtime from the tables.
#pragma once

#include <onnxruntime_c_api.h>

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

} // namespace dynquant::onnxruntime
