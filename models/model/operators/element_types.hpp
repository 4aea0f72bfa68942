// Dispatch from a tensor's element type to a C++ type, for operators of several types.
#pragma once

#include "elements/small_float.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

constexpr onnx::element_type element_type_of(float) {
    return onnx::type::float32;
}
constexpr onnx::element_type element_type_of(float16) {
    return onnx::type::float16;
}
constexpr onnx::element_type element_type_of(std::uint8_t) {
    return onnx::type::uint8;
}
constexpr onnx::element_type element_type_of(std::int8_t) {
    return onnx::type::int8;
}
constexpr onnx::element_type element_type_of(std::int32_t) {
    return onnx::type::int32;
}

/// Calls prepare(T {}) with the C++ type of the first input, one of `Types`. Throws error for any other type.
template <typename... Types, typename Prepare>
prepared_node dispatch_type(const op_node &n, const Prepare &prepare) {
    const auto given = n.at(0).type;
    prepared_node result;
    const bool is_known = ((given == element_type_of(Types {}) && (result = prepare(Types {}), true)) || ...);
    if (!is_known)
        n.refuse(status::invalid_data_type, n.name(0), ": expected type ",
                names_of(onnx::type_set {element_type_of(Types {})...}), ", given ", onnx::name_of(given));
    return result;
}

} // namespace dynquant::models
