// The words of oneDNN Graph's JSON, those that dqbench does not know included: a word that is none of
// them is a mistake in the file, one that is may come to be supported.
#pragma once

#include <string>
#include <vector>

namespace dqbench::json_graph {

const std::vector<std::string> &op_kinds();
const std::vector<std::string> &data_types();
const std::vector<std::string> &layout_types();
const std::vector<std::string> &qtypes();

/// oneDNN's name for the type of an attribute of the four ops; null when they have no such attribute.
const char *type_of_attribute(const std::string &name);

} // namespace dqbench::json_graph
