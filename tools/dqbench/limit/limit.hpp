// The limit kernel: the native kernel's loads, stores, task split and streaming decision, and no arithmetic. How
// near the native kernel comes to it is what the arithmetic costs; its results mean nothing.
#pragma once

#include <memory>

#include "kernels/native/implementation.hpp"

namespace dqbench::limit {

/// Reads src and writes dst from the first byte to the last, as nothing can be faster; ends shorter than a vector are
/// left out.
using traffic_function = void (*)(
        const char *src, std::int64_t src_bytes, char *dst, std::int64_t dst_bytes, bool stream);

struct instruction_set {
    dynquant::kernels::native::instruction_set microkernels; // without arithmetic
    traffic_function traffic;                                // in place of what is staged
};

extern const instruction_set scalar_set;
#if defined(__x86_64__)
extern const instruction_set avx2_set, avx512_set;
#endif

/// For a statement whose parameters are all given at each run.
std::unique_ptr<dynquant::kernels::implementation> prepare(const dynquant::quantization &q, dynquant::isa isa);

} // namespace dqbench::limit
