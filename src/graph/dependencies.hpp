// The order in which the ops of a graph run.
#pragma once

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// Producers before consumers, otherwise in the given order. Throws on a cycle.
std::vector<std::shared_ptr<const op_record>> sort_topologically(
        const std::vector<std::shared_ptr<const op_record>> &ops);

} // namespace dynquant::graph::core
