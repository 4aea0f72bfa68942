// src/parallel: splits work into parts and runs them on TBB's threads, OpenMP's or a host's (executor.hpp), under a
// defined floating-point environment (float_control.hpp). It includes no other folder, nor public headers. Start with
// for_each_part() below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "parallel/private_api.hpp"

namespace dynquant::parallel {

/// A half-open range of work items.
struct range {
    std::int64_t begin, end;
};

/// Makes the process run parts on the OpenMP runtime that a library uses, if there is one. The default is TBB. `user`
/// is an address in that library: dnnl_version, where oneDNN uses OpenMP.
DYNQUANT_PRIVATE_API void run_on_openmp(const void *user);

/// The number of threads of the caller's task arena, of OpenMP or of a host.
DYNQUANT_PRIVATE_API int concurrency();

/// The minimum number of elements of a part: handing fewer to another thread costs more than computing them here.
DYNQUANT_PRIVATE_API std::int64_t elements_per_part();

/// The number of parts to split `elements` elements into: at most `threads`, or concurrency() if `threads` is 0.
DYNQUANT_PRIVATE_API int parts_for(std::int64_t elements, int threads);

/// parts_for() for `items` indivisible items that have `elements` elements in total.
DYNQUANT_PRIVATE_API int parts_for_items(std::int64_t items, std::int64_t elements);

/// Part `index` of [0, count) split into `parts` whose sizes differ by at most one. Deterministic.
DYNQUANT_PRIVATE_API range part_of(std::int64_t count, int parts, int index);

namespace detail {
using part_function = void (*)(const void *body, range part, std::size_t index);
DYNQUANT_PRIVATE_API void run_parts(std::int64_t count, int parts, part_function function, const void *body);
} // namespace detail

/// Calls body(range), or body(range, index) where it takes the index of the part, for each of `parts` parts of
/// [0, count), under float_control, on the threads of the caller's arena, of OpenMP or of a host; returns when all are
/// done. The calling thread runs a part, and while it waits takes no other work, so it may hold locks. body must not
/// throw.
template <typename Body>
void for_each_part(std::int64_t count, int parts, const Body &body) {
    // The call through a pointer also keeps body's arithmetic behind the change of the control word.
    detail::run_parts(
            count, parts,
            [](const void *b, range part, [[maybe_unused]] std::size_t index) {
                const auto &call = *static_cast<const Body *>(b);
                if constexpr (std::is_invocable_v<const Body &, range, std::size_t>)
                    call(part, index);
                else
                    call(part);
            },
            &body);
}

} // namespace dynquant::parallel
