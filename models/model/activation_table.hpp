// A chain of elementwise operators as a table.
#pragma once

#include <span>

#include "model/op_schema.hpp"

namespace dynquant::models {

/// Element i is the result of the nodes for the value of type `from` with bits i. `from` is uint8, int8 or float16.
/// Precondition: the nodes are a chain to an 8-bit result, and their other inputs are constants of one element. The
/// plain executor computes the table.
std::vector<std::uint8_t> table_of(
        const graph &g, std::span<const std::size_t> nodes, onnx::element_type from, const options &opts);

} // namespace dynquant::models
