// A program that links counting_new.cpp counts its allocations.
#pragma once

namespace dynquant::test {

/// The number of calls of operator new so far, on all threads.
long allocations();

} // namespace dynquant::test
