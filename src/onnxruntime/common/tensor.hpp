// The tensors of a call, read through the C API.
#pragma once

#include <onnxruntime_c_api.h>

#include "onnxruntime/common/small_shape.hpp"

namespace dynquant::onnxruntime {

/// An input of a node by its number, or nullptr where it is left out.
const OrtValue *input_of(const OrtApi &api, const OrtKernelContext &context, std::size_t index);

const void *data_of(const OrtApi &api, const OrtValue &tensor);
small_shape shape_of(const OrtApi &api, const OrtValue &tensor);

/// An element of int8 or uint8.
inline std::int32_t byte_at(const void *data, bool is_signed) {
    return is_signed ? *static_cast<const std::int8_t *>(data) : *static_cast<const std::uint8_t *>(data);
}

/// Makes an output of a node, by its number, and returns its data.
void *make_output(const OrtApi &api, OrtKernelContext &context, std::size_t index, const dims &shape);

} // namespace dynquant::onnxruntime
