// Turns the ops of a graph into options and problems of dqbench.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "json_graph/model.hpp"

namespace dqbench::json_graph {

/// The options and the problem that run one of the four ops.
struct plan {
    std::string subject;                                      // the op, as messages name it
    std::vector<std::pair<std::string, std::string>> options; // names without dashes, and values
    std::string problem;
    std::string unsupported; // why it cannot be run; empty when it can
};

/// The plans in the order of the file. Throws usage_error for contradictions in the file.
std::vector<plan> plan_cases(const graph &g);

/// "FILE: not of this family: Add, MatMul (2)"; empty if there are none.
std::string describe_other_ops(const graph &g);

} // namespace dqbench::json_graph
