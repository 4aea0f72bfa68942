// Whose threads run the parts.
#pragma once

#include <cstdint>

namespace dynquant::parallel {

/// Calls function(body, index) for each of `parts`, on several threads, and returns when all are done.
struct executor {
    int (*concurrency)();
    void (*run)(int parts, void (*function)(const void *body, int index), const void *body);
    /// A part of fewer elements costs more to hand to another thread than to compute here.
    std::int64_t elements_per_part;
};

extern const executor tbb_executor;

/// The threads of the OpenMP runtime that this process has loaded, or nullptr when it has none.
const executor *openmp_executor();

} // namespace dynquant::parallel
