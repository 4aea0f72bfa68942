// Whose threads run the parts.
#pragma once

namespace dynquant::parallel {

/// Calls function(body, index) for each of `parts`, on several threads, and returns when all are done.
struct executor {
    int (*concurrency)();
    void (*run)(int parts, void (*function)(const void *body, int index), const void *body);
};

extern const executor tbb_executor;

/// The threads of the OpenMP runtime that this process has loaded, or nullptr when it has none.
const executor *openmp_executor();

} // namespace dynquant::parallel
