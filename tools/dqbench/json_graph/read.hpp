#pragma once

#include <string>

#include "json_graph/model.hpp"

namespace dqbench::json_graph {

/// Reads a graph as oneDNN dumps it and benchdnn's graph driver takes it. Throws usage_error with the place in the
/// file.
graph read_graph(const std::string &file);

} // namespace dqbench::json_graph
