// src/onnxruntime: the library of custom operators that ONNX Runtime loads. It includes public headers, parallel,
// quantization, onnx, kernels/kernels.hpp and onnxruntime_c_api.h. Start with register.cpp, the entry point, then this
// file and kernel.cpp.
//
// The callbacks of OrtCustomOp, which describe an operator to ONNX Runtime from the tables.
#pragma once

#include <onnxruntime_c_api.h>

#include "onnxruntime/operators.hpp"

namespace dynquant::onnxruntime {

/// One kernel of one operator. ONNX Runtime keeps its address, so it must not move.
struct custom_op : OrtCustomOp {
    custom_op(const OrtApi &runtime, const registration &o, const kernel_types &t);

    const OrtApi &api;
    registration operation;
    std::vector<onnx::element_type> inputs, outputs;
};

} // namespace dynquant::onnxruntime
