// limit/ is the limit kernel: the native kernel's loads, stores, task split and choice of non-temporal stores, without
// arithmetic. Its time is a lower bound for the native kernel's. Its results mean nothing.
//
// Computed scales: a block must be read to its end before its first element is written. The limit reads src
// - once, if a block fits in registers, or if it fits in the second-level cache and src is in memory, which then
// limits;
// - else twice: each block and then the same block again, or all of src and then all of it again.
// It writes dst, and no scales.
#pragma once

#include <memory>

#include "kernels/native/implementation.hpp"

namespace dqbench::limit {

/// Reads src and writes dst sequentially, the fastest way. Omits ends that are shorter than a vector.
using traffic_function = void (*)(
        const char *src, std::int64_t src_bytes, char *dst, std::int64_t dst_bytes, bool stream);

/// Reads src sequentially and returns a sum that depends on all of it. Omits an end that is shorter than eight vectors.
using read_function = float (*)(const char *src, std::int64_t bytes);

/// As traffic_function, for a block in the caches: without prefetching.
using copy_function = void (*)(const char *src, std::int64_t src_bytes, char *dst, std::int64_t dst_bytes, bool stream);

struct instruction_set {
    dynquant::kernels::native::instruction_set microkernels; // without arithmetic
    traffic_function traffic;                                // for types that the native kernel stages
    read_function read, read_ahead;                          // for computed scales; read_ahead prefetches
    copy_function copy;
};

extern const instruction_set scalar_set;
#if defined(__x86_64__)
extern const instruction_set avx2_set, avx512_set;
#endif

/// Precondition: scales and zero points are arguments of each run, none is a constant of the statement.
std::unique_ptr<dynquant::kernels::implementation> prepare(
        const dynquant::quantization &q, dynquant::targets::features available);

} // namespace dqbench::limit
