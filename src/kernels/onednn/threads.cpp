#include "kernels/onednn/threads.hpp"

#include <dlfcn.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include "oneapi/dnnl/dnnl.h"
#include "parallel/float_control.hpp"

namespace dynquant::kernels::onednn {
namespace {

/// TBB runs a task under the control word of its context, and a loop started within it, such as oneDNN's,
/// inherits that. So: a loop of one task, which stays on this thread, whose context captures ours.
void run_as_task(detail::function call, const void *body) {
    tbb::task_group_context context(tbb::task_group_context::isolated,
            tbb::task_group_context::default_traits | tbb::task_group_context::fp_settings);
    tbb::parallel_for(
            0, 1, [=](int) { call(body); }, tbb::simple_partitioner(), context);
}

/// While it lives, OpenMP regions that this thread starts have one thread. An OpenMP worker keeps the control
/// word that it was born with, and there is no way to change it from outside; one thread has ours.
/// Looked up by name, as only oneDNN knows which OpenMP library it was built with.
class one_openmp_thread {
  public:
    one_openmp_thread() {
        if (!functions().usable()) return;
        saved_ = functions().get();
        functions().set(1);
    }
    ~one_openmp_thread() {
        if (functions().usable()) functions().set(saved_);
    }
    one_openmp_thread(const one_openmp_thread &) = delete;
    one_openmp_thread &operator=(const one_openmp_thread &) = delete;

  private:
    struct api {
        int (*get)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
        void (*set)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
        bool usable() const { return get && set; }
    };
    static const api &functions() {
        static const api instance;
        return instance;
    }

    int saved_ = 1;
};

} // namespace

void detail::run_controlled(function call, const void *body) {
    static const unsigned runtime = dnnl_version()->cpu_runtime;
    const parallel::float_control control;
    if (runtime == DNNL_RUNTIME_TBB) return run_as_task(call, body);
    if (runtime == DNNL_RUNTIME_OMP) {
        const one_openmp_thread alone;
        return call(body);
    }
    call(body);
}

} // namespace dynquant::kernels::onednn
