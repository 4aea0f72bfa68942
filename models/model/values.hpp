// Tensors of C++ types and back.
#pragma once

#include <cstring>
#include <vector>

#include "model/graph.hpp"

namespace dynquant::models {

/// Precondition: T is the C++ type of the tensor's elements.
template <typename T>
std::vector<T> values_of(const tensor &t) {
    std::vector<T> values(t.data.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), t.data.data(), t.data.size());
    return values;
}

template <typename T>
tensor tensor_of(onnx::element_type type, const dims &shape, const std::vector<T> &values) {
    tensor t {{type, shape}, std::vector<std::byte>(values.size() * sizeof(T))};
    if (!values.empty()) std::memcpy(t.data.data(), values.data(), t.data.size());
    return t;
}

} // namespace dynquant::models
