// A program that links counting_new.cpp counts its allocations, and can make one fail.
#pragma once

namespace dynquant::test {

/// The number of calls of operator new so far, on all threads.
long allocations();

/// The bytes that they asked for so far.
long allocated_bytes();

/// The number of allocations that live now.
long live_allocations();

/// Makes the allocation after `count` further ones throw bad_alloc, on any thread, and the later ones succeed.
void fail_allocation_after(long count);

} // namespace dynquant::test
