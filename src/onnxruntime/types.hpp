// Types of elements: ONNX Runtime numbers the newest otherwise than ONNX.
#pragma once

#include <onnxruntime_c_api.h>

#include <vector>

#include "onnx/element_type.hpp"

namespace dynquant::onnxruntime {

/// ONNX Runtime's number of a type, or 0 when it has none.
ONNXTensorElementDataType ort_type(onnx::element_type type);
/// And back.
onnx::element_type onnx_type(ONNXTensorElementDataType type);

/// The types of a set that the running ONNX Runtime knows, in ONNX's order. One that it does not know would fail every
/// session; so it is asked, and not its version looked up.
std::vector<onnx::element_type> known_types(const OrtApi &api, onnx::type_set types);

} // namespace dynquant::onnxruntime
