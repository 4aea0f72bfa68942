// A program that is linked with counting_new.cpp counts its allocations.
#pragma once

namespace dynquant::test {

/// How often operator new was called so far, on any thread.
long allocations();

} // namespace dynquant::test
