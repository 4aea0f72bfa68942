// The limit kernel: the native kernel's loads, stores, task split and streaming decision, and no arithmetic. How
// near the native kernel comes to it is what the arithmetic costs; its results mean nothing.
#pragma once

#include <memory>

#include "kernels/native/implementation.hpp"

namespace dqbench::limit {

extern const dynquant::kernels::native::row_functions scalar_rows;
#if defined(__x86_64__)
extern const dynquant::kernels::native::row_functions avx2_rows, avx512_rows;
#endif

/// For a statement whose parameters are all given at each run.
std::unique_ptr<dynquant::kernels::implementation> prepare(const dynquant::quantization &q, dynquant::isa isa);

} // namespace dqbench::limit
