// Whose threads run the parts.
#pragma once

#include <cstdint>

#include "parallel/private_api.hpp"

namespace dynquant::parallel {

/// Calls function(body, index) for each of `parts`, on several threads, and returns when all are done.
struct executor {
    int (*concurrency)();
    void (*run)(int parts, void (*function)(const void *body, int index), const void *body);
    /// A part of fewer elements costs more to hand to another thread than to compute here.
    std::int64_t elements_per_part;
};

extern const executor tbb_executor;

/// How many threads the machine runs at once, those of its processors that this process may use.
DYNQUANT_PRIVATE_API int machine_threads();

namespace detail {
DYNQUANT_PRIVATE_API void run_controlled(void (*function)(const void *body), const void *body);
} // namespace detail

/// Calls body() here, under float_control, and so that the tasks that TBB's algorithms start in it are under it, too,
/// whoever calls them: for oneDNN. Tasks have the control word of the arena otherwise, which it took from the thread
/// that made it.
template <typename Body>
void run_controlled(const Body &body) {
    detail::run_controlled([](const void *b) { (*static_cast<const Body *>(b))(); }, &body);
}

/// The threads of the OpenMP runtime that a library uses, which `user` is an address in, or nullptr when there is none.
/// The first that is found is taken for good.
const executor *openmp_executor(const void *user);

/// While it lives, OpenMP regions that this thread starts have `count` threads, if openmp_executor() has found a
/// runtime.
class DYNQUANT_PRIVATE_API openmp_threads {
  public:
    explicit openmp_threads(int count);
    ~openmp_threads();
    openmp_threads(const openmp_threads &) = delete;
    openmp_threads &operator=(const openmp_threads &) = delete;

  private:
    int before_;
};

/// While it lives, what this thread splits runs on those threads, whatever the process has chosen: for a host that
/// brings threads of its own to each call.
class scoped_executor {
  public:
    explicit scoped_executor(const executor &threads);
    ~scoped_executor();
    scoped_executor(const scoped_executor &) = delete;
    scoped_executor &operator=(const scoped_executor &) = delete;

  private:
    const executor *before_;
};

} // namespace dynquant::parallel
