#include "quantization/isa.hpp"

#include <algorithm>

#include "quantization/environment.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dynquant {

#if defined(__x86_64__)
namespace {

/// Reads CPUID, as not all compilers' builtins know F16C. So far every processor with AVX2 has it.
bool has_f16c() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

} // namespace
#endif

isa processor_isa() {
#if defined(__x86_64__)
    // The builtin also checks that the operating system saves the registers (XCR0).
    static const isa detected = [] {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512bw")
                && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
            return isa::avx512;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")
                && has_f16c())
            return isa::avx2;
        return isa::scalar;
    }();
    return detected;
#else
    return isa::scalar;
#endif
}

bool processor_has_fp16() {
#if defined(__x86_64__)
    constexpr unsigned bit_avx512fp16 = 1U << 23; // not all compilers' headers and builtins have it
    static const bool detected = [] {
        unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
        return processor_isa() == isa::avx512 && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0
                && (edx & bit_avx512fp16) != 0;
    }();
    return detected;
#else
    return false;
#endif
}

isa best_isa() {
    return std::min(processor_isa(), environment::max_isa().value_or(isa::avx512));
}

} // namespace dynquant
