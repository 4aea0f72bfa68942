#include "quantization/isa.hpp"

#include <algorithm>

#include "quantization/environment.hpp"

namespace dynquant {

isa processor_isa() {
#if defined(__x86_64__)
    // The builtin also asks the operating system whether it saves the registers (XCR0).
    static const isa detected = [] {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
                && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
            return isa::avx512;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return isa::avx2;
        return isa::scalar;
    }();
    return detected;
#else
    return isa::scalar;
#endif
}

isa best_isa() {
    return std::min(processor_isa(), environment::max_isa().value_or(isa::avx512));
}

} // namespace dynquant
