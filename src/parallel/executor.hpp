// Executors: the threads that parts run on, TBB's, OpenMP's or a host's.
#pragma once

#include <cstdint>

#include "parallel/private_api.hpp"

namespace dynquant::parallel {

struct executor {
    int (*concurrency)();
    /// Calls function(body, index) for each index below `parts`, on several threads, and returns when all are done.
    void (*run)(int parts, void (*function)(const void *body, int index), const void *body);
    /// The minimum size of a part: handing a smaller one to another thread costs more than computing it here.
    std::int64_t elements_per_part;
};

extern const executor tbb_executor;

/// What runs parts where neither run_on_openmp() nor scoped_executor says otherwise: tbb_executor. A library that links
/// another definition than default_executor.cpp's has no part of TBB.
const executor &default_executor();

/// Calls function(body, index) for each index below `parts`, in order, on the calling thread.
inline void run_here(int parts, void (*function)(const void *body, int index), const void *body) {
    for (int index = 0; index < parts; ++index)
        function(body, index);
}

/// The number of processors that this process may use.
DYNQUANT_PRIVATE_API int machine_threads();

namespace detail {
DYNQUANT_PRIVATE_API void run_controlled(void (*function)(const void *body), const void *body, int threads);
} // namespace detail

/// Calls body(), for instance a call of oneDNN, under float_control. TBB tasks that body() starts also run under it, on
/// any thread; by default they would have the control word of the thread that made their arena. Meanwhile this thread
/// executes no other TBB tasks, so it may hold locks. body() sees at most `threads` threads of TBB, unless that is 0.
template <typename Body>
void run_controlled(const Body &body, int threads = 0) {
    detail::run_controlled([](const void *b) { (*static_cast<const Body *>(b))(); }, &body, threads);
}

/// The threads of the OpenMP runtime that a library uses, or nullptr if it uses none. `user` is an address in that
/// library. The first runtime that is found is kept for the life of the process.
const executor *openmp_executor(const void *user);

/// During its lifetime, OpenMP regions that this thread starts have `count` threads. Does nothing unless
/// openmp_executor() has found a runtime.
class DYNQUANT_PRIVATE_API scoped_openmp_threads {
  public:
    explicit scoped_openmp_threads(int count);
    ~scoped_openmp_threads();
    scoped_openmp_threads(const scoped_openmp_threads &) = delete;
    scoped_openmp_threads &operator=(const scoped_openmp_threads &) = delete;

  private:
    int before_;
};

/// Overrides the process's executor on this thread during its lifetime: for a host that lends threads to each call.
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
