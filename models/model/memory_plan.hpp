// Where values lie in a workspace: those that are not needed at the same time share their bytes.
#pragma once

#include <cstddef>
#include <vector>

namespace dynquant::models {

/// Bytes that are needed from one step of the run to another, both included.
struct lifetime {
    std::size_t first, last, bytes;
};

struct memory_plan {
    std::vector<std::size_t> offsets; // of each lifetime, multiples of a cache line
    std::size_t bytes = 0;            // of the workspace
};

/// One after another in time, of those that begin together the largest first, each in the smallest hole that is large
/// enough (best fit). Takes n log n. Placing the largest of all first takes n^2 and a few percent fewer bytes.
memory_plan plan_memory(const std::vector<lifetime> &lifetimes);

} // namespace dynquant::models
