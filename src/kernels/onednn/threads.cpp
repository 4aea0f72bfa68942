#include "kernels/onednn/threads.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "oneapi/dnnl/dnnl.h"
#include "parallel/executor.hpp"
#include "parallel/float_control.hpp"
#include "parallel/fork.hpp"

namespace dynquant::kernels::onednn {
namespace {

/// Runs body as a loop of one task, which stays on this thread. Its context captures this thread's control word, and
/// loops started in the task, such as oneDNN's, inherit that. Outside a task, oneDNN's loops would run under the
/// control word that the thread had when it first used TBB.
void run_as_task(detail::function call, const void *body) {
    using context = tbb::task_group_context;
    context under_control(context::isolated, context::default_traits | context::fp_settings);
    tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(
                0, 1, [=](int) { call(body); }, tbb::simple_partitioner(), under_control);
    });
}

} // namespace

void detail::run_controlled(function call, const void *body, int threads) {
    static const unsigned runtime = [] {
        const auto of_cpu = dnnl_version()->cpu_runtime;
        if (of_cpu == DNNL_RUNTIME_OMP) parallel::openmp_executor(reinterpret_cast<const void *>(dnnl_version));
        return of_cpu;
    }();
    const parallel::float_control control;
    if (runtime == DNNL_RUNTIME_TBB && parallel::may_use_threads()) {
        if (threads == 0 || threads >= tbb::this_task_arena::max_concurrency()) return run_as_task(call, body);
        return tbb::task_arena(threads).execute([&] { run_as_task(call, body); });
    }
    if (runtime == DNNL_RUNTIME_OMP) {
        // An OpenMP worker keeps the control word that it started with; no call changes it. A team of one thread
        // has the word that is set here.
        const parallel::scoped_openmp_threads alone(1);
        return call(body);
    }
    call(body); // no other threads, or those of a forked parent
}

} // namespace dynquant::kernels::onednn
