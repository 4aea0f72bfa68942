// The executor on oneTBB's threads, those of the caller's task arena.
#include <dlfcn.h>
#include <link.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "parallel/executor.hpp"
#include "parallel/float_control.hpp"
#include "parallel/fork.hpp"

namespace dynquant::parallel {
namespace {

/// Keeps what contains this code loaded after dlclose, and with it oneTBB's library: TBB's threads outlive the calls
/// that started them, and return through code of this library after they have reported that their part is done. It is
/// done here, not by the linker's -z nodelete, because plug-ins may contain this code, from libdynquant.a.
[[gnu::constructor]] void stay_loaded() {
    Dl_info info;
    void *map = nullptr;
    if (dladdr1(reinterpret_cast<const void *>(stay_loaded), &info, &map, RTLD_DL_LINKMAP) == 0) return;
    const char *path = static_cast<const link_map *>(map)->l_name;
    if (*path != '\0') dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); // empty: the program itself
}

using context = tbb::task_group_context;

int concurrency() {
    return !may_use_threads() ? 1 : tbb::this_task_arena::max_concurrency();
}

void run(int parts, void (*function)(const void *, int), const void *body) {
    if (!may_use_threads()) return run_here(parts, function, body);
    // TBB splits the range with floating-point arithmetic, which could trap or raise flags under the caller's control
    // word. The context passes this thread's current word to the workers. It is isolated: a bound one would be
    // cancelled with the caller's task group, and leave parts out without a word.
    context under_control(context::isolated, context::default_traits | context::fp_settings);
    const auto run_one = [=](int index) { function(body, index); };
    tbb::this_task_arena::isolate(
            [&] { tbb::parallel_for(0, parts, run_one, tbb::static_partitioner(), under_control); });
}

/// Calls function(body) as a loop of one task, which stays on this thread. Its context captures this thread's control
/// word, and loops started in the task, such as oneDNN's, inherit that. Outside a task they would run under the control
/// word that the thread had when it first used TBB.
void run_as_task(void (*function)(const void *), const void *body) {
    context under_control(context::isolated, context::default_traits | context::fp_settings);
    tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(
                0, 1, [=](int) { function(body); }, tbb::simple_partitioner(), under_control);
    });
}

} // namespace

// Waking a thread takes the caller 0.5 to 1 us, even if no processor is free to run it. Beside a busy process two
// threads were 4 to 13 % slower than one with parts of 32 Ki elements, and are at most 5 % slower with 96 Ki.
const executor tbb_executor = {concurrency, run, 96 * 1024};

int machine_threads() {
    return tbb::info::default_concurrency();
}

void detail::run_controlled(void (*function)(const void *), const void *body, int threads) {
    const float_control control;
    if (!may_use_threads()) return function(body);
    if (threads == 0 || threads >= tbb::this_task_arena::max_concurrency()) return run_as_task(function, body);
    tbb::task_arena(threads).execute([=] { run_as_task(function, body); });
}

} // namespace dynquant::parallel
