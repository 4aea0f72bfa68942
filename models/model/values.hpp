// Typed access to the elements of a tensor.
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

} // namespace dynquant::models
