// An OpenMP runtime that a plug-in loads with RTLD_LOCAL, after the first search, is found through the plug-in.
#include <atomic>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "parallel/executor.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::parallel {
namespace {

TEST(openmp_local, is_found_by_its_user_when_it_has_come) {
    EXPECT_EQ(openmp_executor(nullptr), nullptr);
    EXPECT_EQ(openmp_executor(reinterpret_cast<const void *>(&machine_threads)), nullptr); // in this program
    EXPECT_EQ(openmp_executor(reinterpret_cast<const void *>(&dlopen)), nullptr);          // in a library without one

    void *plug_in = dlopen(PLUG_IN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plug_in, nullptr) << dlerror();
    ASSERT_EQ(dlsym(RTLD_DEFAULT, "GOMP_parallel"), nullptr);
    void *const user = dlsym(plug_in, "plug_in_is_in_parallel");
    ASSERT_NE(user, nullptr);
    ASSERT_NE(openmp_executor(user), nullptr);
    EXPECT_EQ(dlclose(plug_in), 0); // the runtime in use stays loaded

    run_on_openmp(user);
    const scoped_openmp_threads five(5);
    EXPECT_EQ(concurrency(), 5);
    static std::atomic<int> in_its_region = 0;
    static const auto is_in_parallel = reinterpret_cast<int (*)()>(user);
    for_each_part(7, 7, [](range) { in_its_region += is_in_parallel(); });
    EXPECT_EQ(in_its_region, 7);
}

} // namespace
} // namespace dynquant::parallel
