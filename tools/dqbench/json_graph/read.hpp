#pragma once

#include <string>

#include "json_graph/model.hpp"

namespace dqbench::json_graph {

/// Reads what oneDNN dumps and benchdnn's graph driver takes. Throws usage_error, whose text says where.
graph read_graph(const std::string &file);

} // namespace dqbench::json_graph
