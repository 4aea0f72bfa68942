// Vectors of any processor: SSE2 and NEON interleave them by one instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "targets/simd.hpp"

namespace dynquant::simd {
namespace {

using sixteen_bytes = std::uint8_t __attribute__((vector_size(16)));

/// At most sixteen bytes; beyond `size` they are 0.
inline sixteen_bytes load_bytes(const std::byte *from, std::int64_t size) {
    sixteen_bytes result = {};
    if (size >= 16) {
        std::memcpy(&result, from, sizeof result); // of known size: one load
    } else if (size > 0) {
        const auto load = [&](auto value, std::int64_t at) -> std::uint64_t {
            std::memcpy(&value, from + at, sizeof value);
            return value;
        };
        std::uint64_t halves[2] = {}; // each of loads that overlap
        if (size >= 8) {
            halves[0] = load(std::uint64_t {}, 0);
            if (size > 8) halves[1] = load(std::uint64_t {}, size - 8) >> 8 * (16 - size);
        } else if (size >= 4) {
            halves[0] = load(std::uint32_t {}, 0) | load(std::uint32_t {}, size - 4) << 8 * (size - 4);
        } else {
            halves[0] = load(std::uint8_t {}, 0) | load(std::uint8_t {}, size / 2) << 8 * (size / 2)
                    | load(std::uint8_t {}, size - 1) << 8 * (size - 1);
        }
        using two_halves = std::uint64_t __attribute__((vector_size(16)));
        result = reinterpret_cast<sixteen_bytes>(two_halves {halves[0], halves[1]}); // not by way of memory
    }
    return result;
}
inline void store_bytes(void *to, sixteen_bytes x, std::int64_t size) {
    if (size >= 16)
        std::memcpy(to, &x, sizeof x);
    else if (size > 0)
        std::memcpy(to, &x, static_cast<std::size_t>(size));
}

/// The first halves of both, by turns.
inline sixteen_bytes low_bytes(sixteen_bytes a, sixteen_bytes b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
/// The second halves.
inline sixteen_bytes high_bytes(sixteen_bytes a, sixteen_bytes b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Transposes sixteen rows, by four rounds of interleaving row i with row i + 8.
[[maybe_unused, gnu::always_inline]] inline void transpose(sixteen_bytes (&x)[16]) {
    sixteen_bytes y[16];
    const auto interleave_halves =
            [](const sixteen_bytes(&from)[16], sixteen_bytes(&to)[16]) __attribute__((always_inline)) {
        unroll<8>([&](int i) __attribute__((always_inline)) {
            to[2 * i] = low_bytes(from[i], from[i + 8]);
            to[2 * i + 1] = high_bytes(from[i], from[i + 8]);
        });
    };
    interleave_halves(x, y);
    interleave_halves(y, x);
    interleave_halves(x, y);
    interleave_halves(y, x);
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

/// The bytes of all eight, by turns: three rounds of interleaving vector i with vector i + 4.
inline void interleave(sixteen_bytes (&x)[8]) {
    for (int round = 0; round < 3; ++round) {
        sixteen_bytes y[8];
        for (int i = 0; i < 4; ++i) {
            y[2 * i] = low_bytes(x[i], x[i + 4]);
            y[2 * i + 1] = high_bytes(x[i], x[i + 4]);
        }
        std::memcpy(x, y, sizeof x);
    }
}

} // namespace
} // namespace dynquant::simd
