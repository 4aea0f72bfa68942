// limit/ is the limit kernel: the native kernel's loads, stores, task split and choice of non-temporal stores, without
// arithmetic. Its time is a lower bound for the native kernel's. Its results mean nothing.
#pragma once

#include <memory>

#include "kernels/native/implementation.hpp"

namespace dqbench::limit {

/// Reads src and writes dst sequentially, the fastest way. Omits ends that are shorter than a vector.
using traffic_function = void (*)(
        const char *src, std::int64_t src_bytes, char *dst, std::int64_t dst_bytes, bool stream);

struct instruction_set {
    dynquant::kernels::native::instruction_set microkernels; // without arithmetic
    traffic_function traffic;                                // for types that the native kernel stages
};

extern const instruction_set scalar_set;
#if defined(__x86_64__)
extern const instruction_set avx2_set, avx512_set;
#endif

/// Precondition: scales and zero points are arguments of each run, none is a constant of the statement.
std::unique_ptr<dynquant::kernels::implementation> prepare(const dynquant::quantization &q, dynquant::isa isa);

} // namespace dqbench::limit
