// Element types. ONNX Runtime numbers the newest ones differently from ONNX.
#pragma once

#include <onnxruntime_c_api.h>

#include <vector>

#include "onnx/element_type.hpp"

namespace dynquant::onnxruntime {

/// ONNX Runtime's number of a type, or 0 when it has none.
ONNXTensorElementDataType ort_type(onnx::element_type type);
/// The inverse of ort_type().
onnx::element_type onnx_type(ONNXTensorElementDataType type);

/// The types of a set that the running ONNX Runtime knows, in ONNX's order. An unknown one would fail every session.
/// Each is tried by creating a tensor, as versions differ in what they know.
std::vector<onnx::element_type> known_types(const OrtApi &api, onnx::type_set types);

} // namespace dynquant::onnxruntime
