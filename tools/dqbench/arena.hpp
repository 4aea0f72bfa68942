// The threads of a run.
#pragma once

#include <algorithm>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace dqbench {

/// Runs f in a TBB arena of this many threads, even if the machine has fewer; 0: in the default arena.
template <typename F>
auto in_arena(int threads, F &&f) {
    if (threads == 0) return f();
    using tbb::global_control;
    const auto usual = global_control::active_value(global_control::max_allowed_parallelism);
    const global_control allow(
            global_control::max_allowed_parallelism, std::max(usual, static_cast<std::size_t>(threads)));
    return tbb::task_arena(threads).execute(f);
}

} // namespace dqbench
