// src/targets: what the processor can do, the choice of code by it, and the vectors of each instruction set. No other
// folder asks the processor or has its vectors, and none compares instruction sets by an order: an instruction
// set is a set of features. May include: dynquant's public headers and elements. Start here, then simd.hpp, the
// vocabulary of the vectors.
#pragma once

#include <cstdint>

#include "dynquant/quantization.hpp"

namespace dynquant::targets {

/// A set of features, a bit each.
using features = std::uint32_t;

constexpr bool has(features available, features needed) {
    return (available & needed) == needed;
}

namespace feature {
inline constexpr features avx2 = 1U << 0, fma = 1U << 1, f16c = 1U << 2, bmi2 = 1U << 3, avx512f = 1U << 4,
                          avx512bw = 1U << 5, avx512dq = 1U << 6, avx512vl = 1U << 7, avx512vbmi = 1U << 8,
                          avx512vnni = 1U << 9, avx512fp16 = 1U << 10, amx_int8 = 1U << 11, avx_vnni = 1U << 12,
                          neon = 1U << 13, dotprod = 1U << 14, i8mm = 1U << 15,
                          // No code needs it: it is a class for costs. Vectors of 256 bits are computed in halves.
        ymm_in_halves = 1U << 16;
}

// Instruction sets: what code that is compiled for one needs.
inline constexpr features none = 0;
#define DYNQUANT_TARGET(name, extended, added, architecture, flags)                                                    \
    inline constexpr features name = (extended) | (added);
#include "targets/targets.inc"
#undef DYNQUANT_TARGET

struct instruction_set {
    const char *name;
    features needs;
};

/// All of the list, for tests and tools.
#define DYNQUANT_TARGET(name, extended, added, architecture, flags) {#name, name},
inline constexpr instruction_set instruction_sets[] = {
#include "targets/targets.inc"
};
#undef DYNQUANT_TARGET

/// Those of this processor whose registers the operating system saves.
features of_processor();

/// Those that isa states, which the public API names.
features of(isa value);

/// Those that a cap admits. isa::avx2 admits what extends it without AVX-512; isa::avx512 admits all of x86-64. What is
/// of another architecture is never there.
features up_to(isa cap);

/// The strongest isa whose features are there.
isa strongest(features available);

/// Code and what it needs.
template <typename Code>
struct candidate {
    features needs;
    Code code;
};

/// The one way to choose code for the processor: the first whose features are there. The last needs none, and
/// may be null. dynquant_add_loops() of cmake/DynquantIsa.cmake makes the tables of loops.
template <typename Code>
Code pick(features available, const candidate<Code> *table) {
    while (!has(available, table->needs))
        ++table;
    return table->code;
}

/// Whether Linux lets this process use AMX, which it must ask for before the first use. Precondition: the processor has
/// amx_int8.
bool request_amx();

enum class vendor { amd, intel, other };
vendor processor_vendor();

/// Whether there are stores of vectors that bypass the caches.
#if defined(__x86_64__)
inline constexpr bool has_streaming_stores = true;
#else
inline constexpr bool has_streaming_stores = false;
#endif

/// Bytes of the third-level cache of one core complex of an AMD processor; 0 if unknown or none.
std::int64_t level3_of_complex();

} // namespace dynquant::targets
