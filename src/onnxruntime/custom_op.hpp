// OrtCustomOp: what ONNX Runtime asks of an operator, answered from the tables.
#pragma once

#include <onnxruntime_c_api.h>

#include "onnxruntime/operators.hpp"

namespace dynquant::onnxruntime {

/// One kernel of one operator. ONNX Runtime keeps its address, which must stay what it is.
struct custom_op : OrtCustomOp {
    custom_op(const OrtApi &runtime, const registration &o, const kernel_types &t);

    const OrtApi &api;
    registration operation;
    kernel_types types;
    std::vector<onnx::element_type> inputs, outputs;
};

} // namespace dynquant::onnxruntime
