#include "parallel/parallel.hpp"

#include <algorithm>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

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
    const auto run = [=](int index) {
        const float_control control;
        function(body, part_of(count, parts, index));
    };
    if (parts == 1) return run(0);
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, parts, run, tbb::static_partitioner()); });
}

} // namespace detail
} // namespace dynquant::parallel
