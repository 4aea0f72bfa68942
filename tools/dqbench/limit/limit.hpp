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

/// Reads all of src and writes all of dst once, in order. prefetch_distance: in bytes; 0: none.
using flat_function = void (*)(const char *src, std::int64_t src_bytes, char *dst, std::int64_t dst_bytes, bool stream,
        std::int64_t prefetch_distance);

/// Reads src sequentially and returns a sum that depends on all of it. Omits an end that is shorter than eight vectors.
using read_function = float (*)(const char *src, std::int64_t bytes);

struct instruction_set {
    dynquant::kernels::native::instruction_set microkernels; // without arithmetic
    flat_function flat;
    read_function read, read_ahead; // for computed scales; read_ahead prefetches
};

extern const instruction_set scalar_set;
#if defined(__x86_64__)
extern const instruction_set avx2_set, avx512_set;
#endif

/// Precondition: scales and zero points are arguments of each run, none is a constant of the statement.
std::unique_ptr<dynquant::kernels::implementation> prepare(
        const dynquant::quantization &q, dynquant::targets::features available);

/// The flat loop over the bytes of two tensors, without the gaps that strides leave, split and streamed as the native
/// kernel's work is. A block of computed scales that does not fit in registers is read twice, the second time from a
/// cache: the limit counts that, the flat loop does not.
std::unique_ptr<dynquant::kernels::implementation> prepare_flat(
        const dynquant::tensor &src, const dynquant::tensor &dst, dynquant::targets::features available);

} // namespace dqbench::limit
