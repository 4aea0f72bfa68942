// From the ops of a graph to options and problems of dqbench, which say all that is run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "json_graph/model.hpp"

namespace dqbench::json_graph {

/// What an op of the four is to dqbench.
struct plan {
    std::string subject;                                      // the op, as messages name it
    std::vector<std::pair<std::string, std::string>> options; // names without dashes, and values
    std::string problem;
    std::string unsupported; // why it cannot be run; empty when it can
};

/// In the order of the file. Throws usage_error for what contradicts itself.
std::vector<plan> plan_cases(const graph &g);

/// "FILE: not of this family: Add, MatMul (2)"; empty when all ops are.
std::string describe_other_ops(const graph &g);

} // namespace dqbench::json_graph
