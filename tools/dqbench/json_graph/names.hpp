// All names in oneDNN Graph's JSON, including those that dqbench does not support. Any other name is a mistake in the
// file.
#pragma once

#include <string>
#include <vector>

namespace dqbench::json_graph {

const std::vector<std::string> &op_kinds();
const std::vector<std::string> &data_types();
const std::vector<std::string> &layout_types();
const std::vector<std::string> &property_types();

/// oneDNN's name for the type of an attribute of the four ops; null if they have no such attribute.
const char *type_of_attribute(const std::string &name);

} // namespace dqbench::json_graph
