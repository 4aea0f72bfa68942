// The executor on OpenMP's threads. If oneDNN uses OpenMP, a second thread pool would oversubscribe the processors. The
// runtime is the one that oneDNN loaded. It is called through GOMP_parallel, which GCC compiles `omp parallel` to and
// LLVM's and Intel's runtimes also have (libgomp manual, "Implementing PARALLEL construct").
#include <atomic>

#include <dlfcn.h>

#include "parallel/executor.hpp"
#include "parallel/fork.hpp"

namespace dynquant::parallel {
namespace {

template <typename Function>
Function *find(void *library, const char *name) {
    return reinterpret_cast<Function *>(dlsym(library, name));
}

struct openmp_runtime {
    using region = void(void (*function)(void *), void *data, unsigned threads, unsigned flags);

    region *parallel;
    int (*max_threads)();
    int (*in_parallel)();
    int (*thread_num)();
    int (*num_threads)();
    void (*set_num_threads)(int);

    /// Looks up the functions in a library and its dependencies.
    explicit openmp_runtime(void *library)
        : parallel(find<region>(library, "GOMP_parallel"))
        , max_threads(find<int()>(library, "omp_get_max_threads"))
        , in_parallel(find<int()>(library, "omp_in_parallel"))
        , thread_num(find<int()>(library, "omp_get_thread_num"))
        , num_threads(find<int()>(library, "omp_get_num_threads"))
        , set_num_threads(find<void(int)>(library, "omp_set_num_threads")) {}

    bool complete() const {
        return parallel != nullptr && max_threads != nullptr && in_parallel != nullptr && thread_num != nullptr
                && num_threads != nullptr && set_num_threads != nullptr;
    }
};

/// The runtime that the library at an address calls: the one with global visibility, else one that was loaded with the
/// library, possibly as RTLD_LOCAL.
openmp_runtime runtime_of(const void *address) {
    const openmp_runtime global(RTLD_DEFAULT);
    Dl_info info = {};
    if (global.complete() || dladdr(address, &info) == 0) return global;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return global; // the address is in the program itself
    const openmp_runtime local(library);
    if (!local.complete()) dlclose(library); // a complete one stays loaded, as its threads are used
    return local;
}

std::atomic<const openmp_runtime *> active_runtime = nullptr;

const openmp_runtime &openmp() {
    return *active_runtime.load(std::memory_order_acquire);
}

int concurrency() {
    if (!may_use_threads()) return 1;
    return openmp().in_parallel() ? 1 : openmp().max_threads(); // a nested region has one thread
}

struct job {
    int parts;
    void (*function)(const void *body, int index);
    const void *body;
};

/// Runs one thread's share of the parts. The team may have fewer or more threads than there are parts.
void run_share(void *data) {
    const auto &j = *static_cast<const job *>(data);
    const int step = openmp().num_threads();
    for (int index = openmp().thread_num(); index < j.parts; index += step)
        j.function(j.body, index);
}

void run(int parts, void (*function)(const void *, int), const void *body) {
    if (!may_use_threads()) return run_here(parts, function, body);
    job j = {parts, function, body};
    openmp().parallel(run_share, &j, 0, 0); // the whole team: resizing it takes 15 us, and restoring it as much again
}

constexpr executor omp_executor = {concurrency, run, 8 * 1024}; // its threads spin: handing over costs little

} // namespace

scoped_openmp_threads::scoped_openmp_threads(int count)
    : before_(active_runtime.load(std::memory_order_acquire) ? openmp().max_threads() : 0) {
    if (before_ > 0) openmp().set_num_threads(count);
}

scoped_openmp_threads::~scoped_openmp_threads() {
    if (before_ > 0) openmp().set_num_threads(before_);
}

const executor *openmp_executor(const void *user) {
    if (!active_runtime.load(std::memory_order_acquire)) {
        const auto runtime = runtime_of(user);
        if (!runtime.complete()) return nullptr; // a library that is loaded later may bring one
        static const openmp_runtime kept = runtime;
        active_runtime.store(&kept, std::memory_order_release);
    }
    return &omp_executor;
}

} // namespace dynquant::parallel
