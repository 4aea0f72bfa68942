#include "parallel/parallel.hpp"

#include <algorithm>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "parallel/float_control.hpp"

namespace dynquant::parallel {

int concurrency() {
    return tbb::this_task_arena::max_concurrency();
}

range part_of(std::int64_t count, int parts, int index) {
    const auto size = count / parts, longer = count % parts;
    const auto begin = index * size + std::min<std::int64_t>(index, longer);
    return {begin, begin + size + (index < longer ? 1 : 0)};
}

namespace detail {

void run_parts(std::int64_t count, int parts, part_function function, const void *body) {
    const float_control control;
    if (parts == 1) return function(body, {0, count});
    // TBB rounds too when it divides the range, and would trap or leave flags under the caller's control
    // word: the context hands this thread's present one to the workers.
    using context = tbb::task_group_context;
    context under_control(context::bound, context::default_traits | context::fp_settings);
    const auto run = [=](int index) { function(body, part_of(count, parts, index)); };
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, parts, run, tbb::static_partitioner(), under_control); });
}

} // namespace detail
} // namespace dynquant::parallel
