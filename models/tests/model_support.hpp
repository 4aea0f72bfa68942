// Models for tests, made in memory.
#pragma once

#include "dynquant/model.hpp"
#include "model/file.hpp"
#include "model/values.hpp"

namespace dynquant::models {

inline constexpr onnx::element_type float_ = 1, uint8 = 2, int8 = 3, int32 = 6, int64 = 7, float16 = 10;

inline std::size_t bytes_of(const model_port &port) {
    return static_cast<std::size_t>(*size_in_bytes({port.type, port.shape}));
}

/// y = MatMulInteger(x, w), where x is u8 2x3 and w is s8 3x2.
inline graph product_graph() {
    graph g;
    g.opsets = {{"", 13}};
    g.inputs = {{"x", uint8, dims {2, 3}}};
    g.outputs = {{"y", int32, dims {2, 2}}};
    g.initializers = {{"w", tensor_of<std::int8_t>(int8, {3, 2}, {1, -2, 3, 4, -128, 127})}};
    g.nodes = {{"MatMulInteger", "", "fc", {"x", "w"}, {"y"}}};
    return g;
}

/// One node that reads x. The type and shape of its output are left open.
inline graph one_node(node n, onnx::element_type type, const dims &shape) {
    graph g;
    g.opsets = {{"", 13}};
    g.inputs = {{"x", type, shape}};
    g.outputs = {{"y"}};
    n.name = "n";
    n.outputs = {"y"};
    g.nodes = {std::move(n)};
    return g;
}

} // namespace dynquant::models
