// Vectors of any processor: SSE2 and NEON interleave them by one instruction.
#pragma once

#include <cstdint>

namespace dynquant::simd {
namespace {

using sixteen_bytes = std::uint8_t __attribute__((vector_size(16)));

/// The first halves of both, byte by byte in turn.
inline sixteen_bytes low_bytes(sixteen_bytes a, sixteen_bytes b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
/// The second halves.
inline sixteen_bytes high_bytes(sixteen_bytes a, sixteen_bytes b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

} // namespace
} // namespace dynquant::simd
