// Memory planning for a workspace: values with disjoint lifetimes share bytes.
#pragma once

#include <cstddef>
#include <vector>

namespace dynquant::models {

/// Bytes that are live from step `first` to step `last`, inclusive.
struct lifetime {
    std::size_t first, last, bytes;
};

struct memory_plan {
    std::vector<std::size_t> offsets; // of each lifetime; multiples of a cache line
    std::size_t bytes = 0;            // of the workspace
};

/// Best fit: places lifetimes in the order of their first step, larger ones first, each in the smallest free block that
/// fits. O(n log n). Placing the largest of all first would be O(n^2) and save a few percent of the bytes.
memory_plan plan_memory(const std::vector<lifetime> &lifetimes);

} // namespace dynquant::models
