// OpenMP: beside a oneDNN that uses it, a second pool of threads would fight with the first. The runtime is the one
// that oneDNN has brought into the process, through the entry point that GCC compiles `omp parallel` to and that
// LLVM's and Intel's runtimes have as well (libgomp manual, "Implementing PARALLEL construct").
#include <dlfcn.h>

#include "parallel/executor.hpp"

namespace dynquant::parallel {
namespace {

template <typename Function>
Function *loaded(const char *name) {
    return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

struct openmp_runtime {
    using region = void(void (*function)(void *), void *data, unsigned threads, unsigned flags);

    region *parallel = loaded<region>("GOMP_parallel");
    int (*max_threads)() = loaded<int()>("omp_get_max_threads");
    int (*in_parallel)() = loaded<int()>("omp_in_parallel");
    int (*thread_num)() = loaded<int()>("omp_get_thread_num");
    int (*num_threads)() = loaded<int()>("omp_get_num_threads");
    void (*set_num_threads)(int) = loaded<void(int)>("omp_set_num_threads");

    bool complete() const {
        return parallel != nullptr && max_threads != nullptr && in_parallel != nullptr && thread_num != nullptr
                && num_threads != nullptr;
    }
};

const openmp_runtime &openmp() {
    static const openmp_runtime runtime;
    return runtime;
}

int concurrency() {
    return openmp().in_parallel() ? 1 : openmp().max_threads(); // a region in a region has one thread
}

struct job {
    int parts;
    void (*function)(const void *body, int index);
    const void *body;
};

/// The share of one thread: a team may be smaller or larger than the parts are many.
void run_share(void *data) {
    const auto &j = *static_cast<const job *>(data);
    const int step = openmp().num_threads();
    for (int index = openmp().thread_num(); index < j.parts; index += step)
        j.function(j.body, index);
}

void run(int parts, void (*function)(const void *, int), const void *body) {
    job j = {parts, function, body};
    openmp().parallel(run_share, &j, 0, 0); // by the whole team: to change its size takes 15 us, and again back
}

constexpr executor threads_of_openmp = {concurrency, run, 8 * 1024}; // they spin: handing over costs little

void set_threads(int count) {
    if (openmp().set_num_threads) openmp().set_num_threads(count);
}

} // namespace

openmp_threads::openmp_threads(int count)
    : before_(openmp().max_threads ? openmp().max_threads() : 0) {
    set_threads(count);
}

openmp_threads::~openmp_threads() {
    set_threads(before_);
}

const executor *openmp_executor() {
    return openmp().complete() ? &threads_of_openmp : nullptr;
}

} // namespace dynquant::parallel
