// Names the instruction sets that this processor lacks, with which no test computes. ctest runs each case as a separate
// test and lists it as skipped.
#include <gtest/gtest.h>

#include "quantization/isa.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

namespace dynquant::test {
namespace {

bool has_amx_int8() {
    constexpr unsigned tiles_and_int8 = 3U << 24; // Intel SDM volume 2, CPUID, leaf 7
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & tiles_and_int8) == tiles_and_int8;
}

void skip_unless(bool is_there, const char *what) {
    if (!is_there) GTEST_SKIP() << "this processor lacks it: " << what;
}

TEST(instruction_sets, avx2) {
    skip_unless(processor_isa() >= isa::avx2,
            "the native kernel's rows, tables of bytes, ranges of blocks, products of integers");
}
TEST(instruction_sets, avx512) {
    skip_unless(processor_isa() >= isa::avx512, "the native kernel's rows, tables of bytes, ranges of blocks");
}
TEST(instruction_sets, avx512_vbmi) {
    skip_unless(__builtin_cpu_supports("avx512vbmi"), "tables of bytes");
}
TEST(instruction_sets, avx512_vnni) {
    skip_unless(__builtin_cpu_supports("avx512vnni"), "products of integers");
}
TEST(instruction_sets, avx512_fp16) {
    skip_unless(processor_has_fp16(), "division in float16");
}
TEST(instruction_sets, amx_int8) {
    skip_unless(has_amx_int8(), "products of integers");
}

} // namespace
} // namespace dynquant::test
#endif
