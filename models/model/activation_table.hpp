// A chain of operators on single elements as a table of all its values.
#pragma once

#include <span>

#include "model/op_schema.hpp"

namespace dynquant::models {

/// What the nodes give for every value of `from`, uint8, int8 or float16: for the one whose bits are i at i. They are a
/// chain, from a value of that type to one of 8 bits, and take constants of one element besides. The plain executor
/// computes it.
std::vector<std::uint8_t> table_of(
        const graph &g, std::span<const std::size_t> nodes, onnx::element_type from, const settings &s);

} // namespace dynquant::models
