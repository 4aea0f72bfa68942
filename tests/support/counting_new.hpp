// A program that links counting_new.cpp counts its allocations, and can make one fail.
#pragma once

#include <algorithm>
#include <limits>

namespace dynquant::test {

/// The number of calls of operator new so far, on all threads.
long allocations();

/// The allocations in ten calls, after warm-up. They are the least of several tens, as a thread that joins late
/// allocates its own buffers.
template <typename Run>
long allocations_of_ten(const Run &run, long (*so_far)() = allocations) {
    auto least = std::numeric_limits<long>::max();
    for (int ten = 0; ten < 6; ++ten) {
        const auto before = so_far();
        for (int i = 0; i < 10; ++i)
            run();
        least = std::min(least, so_far() - before);
    }
    return least;
}

/// The bytes that they asked for so far.
long allocated_bytes();

/// The number of allocations that live now.
long live_allocations();

/// Makes the allocation after `count` further ones throw bad_alloc, on any thread, and the later ones succeed.
void fail_allocation_after(long count);

} // namespace dynquant::test
