// Vectors of any processor: SSE2 and NEON interleave them by one instruction.
#pragma once

#include <cstdint>

namespace dynquant::simd {
namespace {

using sixteen_bytes = std::uint8_t __attribute__((vector_size(16)));

/// The first halves of both, by turns.
inline sixteen_bytes low_bytes(sixteen_bytes a, sixteen_bytes b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
/// The second halves.
inline sixteen_bytes high_bytes(sixteen_bytes a, sixteen_bytes b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// The bytes of all four, by turns.
inline void interleave(sixteen_bytes (&x)[4]) {
    const auto low_even = low_bytes(x[0], x[2]), low_odd = low_bytes(x[1], x[3]);
    const auto high_even = high_bytes(x[0], x[2]), high_odd = high_bytes(x[1], x[3]);
    x[0] = low_bytes(low_even, low_odd);
    x[1] = high_bytes(low_even, low_odd);
    x[2] = low_bytes(high_even, high_odd);
    x[3] = high_bytes(high_even, high_odd);
}

} // namespace
} // namespace dynquant::simd
