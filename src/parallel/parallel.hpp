// One way to split work, and the seam behind which it runs: TBB's threads, OpenMP's, or a host's.
#pragma once

#include <cstdint>

#include "parallel/private_api.hpp"

namespace dynquant::parallel {

/// A half-open range of work items.
struct range {
    std::int64_t begin, end;
};

/// From now on parts run on the threads of the OpenMP runtime that a library uses, which `user` is an address in, if
/// there is one; before, and without one, on TBB's. For a process whose oneDNN uses OpenMP: `user` is dnnl_version.
DYNQUANT_PRIVATE_API void run_on_openmp(const void *user);

/// How many threads the calling thread's task arena, OpenMP or a host offers.
DYNQUANT_PRIVATE_API int concurrency();

/// How many elements a part should have at least: fewer cost more to hand to another thread than to compute here.
DYNQUANT_PRIVATE_API std::int64_t elements_per_part();

/// How many parts that many elements are worth: no more than `threads`, or where that is 0 than concurrency().
DYNQUANT_PRIVATE_API int parts_for(std::int64_t elements, int threads);

/// parts_for() of items that stay whole and have that many elements together.
DYNQUANT_PRIVATE_API int parts_for_items(std::int64_t items, std::int64_t elements);

/// Part `index` of [0, count) split into `parts` whose sizes differ by at most one. It depends on
/// nothing else, so the same call is always split the same way.
DYNQUANT_PRIVATE_API range part_of(std::int64_t count, int parts, int index);

namespace detail {
using part_function = void (*)(const void *body, range part);
DYNQUANT_PRIVATE_API void run_parts(std::int64_t count, int parts, part_function function, const void *body);
} // namespace detail

/// Calls body(range) for each of `parts` parts of [0, count), under float_control, on the threads of the
/// caller's arena, of OpenMP or of a host; returns when all are done. One part runs right here. While it waits, the
/// calling thread takes no work but these parts, so it may hold locks. body must not throw.
template <typename Body>
void for_each_part(std::int64_t count, int parts, const Body &body) {
    // The call through a pointer also keeps body's arithmetic behind the change of the control word.
    detail::run_parts(
            count, parts, [](const void *b, range part) { (*static_cast<const Body *>(b))(part); }, &body);
}

} // namespace dynquant::parallel
