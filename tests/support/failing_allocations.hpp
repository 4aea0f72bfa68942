// What makes something is left as it was by each of its allocations that fails. For programs with counting_new.cpp.
#pragma once

#include <gtest/gtest.h>

#include <new>

#include "counting_new.hpp"
#include "dynquant/error.hpp"

namespace dynquant::test {

/// Whether an exception says that memory is short, as the standard library or dynquant tells it.
inline bool says_out_of_memory(const error &e) {
    return e.status == status::out_of_memory;
}

/// Calls make() until no allocation fails, the first time at the first one, then at the second and so on. Each time it
/// must throw std::bad_alloc, or an exception of which is_shortage holds, and leave nothing behind: no further
/// allocation lives after a second call that fails alike. What a library makes once may stay. Returns how many failed.
/// make() destroys what it makes.
template <typename Exception = error, typename Make>
long failed_allocations(const Make &make, bool (*is_shortage)(const Exception &) = says_out_of_memory) {
    const auto fails_at = [&](long count) {
        bool thrown = true;
        fail_allocation_after(count);
        try {
            make();
            thrown = false;
        } catch (const std::bad_alloc &) {
        } catch (const Exception &e) {
            EXPECT_TRUE(is_shortage(e)) << "after allocation " << count << " failed: " << e.what();
        }
        fail_allocation_after(-1);
        return thrown;
    };
    make();
    long live = live_allocations(), count = 0;
    for (; fails_at(count) && !testing::Test::HasFailure(); ++count)
        if (const auto after = live_allocations(); after != live) {
            fails_at(count);
            EXPECT_EQ(live_allocations(), after) << "after allocation " << count << " failed twice";
            live = after;
        }
    EXPECT_EQ(live_allocations(), live);
    return count;
}

} // namespace dynquant::test
