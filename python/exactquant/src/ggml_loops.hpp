// What the loops over ggml's blocks share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "elements/small_float.hpp"

// A copy of a function for each set of instructions, of which the loader takes the best. Rounding is the same: no copy
// contracts products and sums.
#if defined(__x86_64__) && !defined(__clang__)
#define EXACTQUANT_LOOPS [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), gnu::flatten]]
#else
#define EXACTQUANT_LOOPS [[gnu::flatten]]
#endif

namespace exactquant::ggml {

[[gnu::always_inline]] inline float load_half(const std::uint8_t *from) {
    dynquant::float16 value;
    std::memcpy(&value.bits, from, sizeof value.bits);
    return value.value();
}

[[gnu::always_inline]] inline void store_half(std::uint8_t *to, float value) {
    const auto bits = dynquant::float16::from(value).bits;
    std::memcpy(to, &bits, sizeof bits);
}

// Vectors of the compiler's: sixteen codes stay in a register until they become floats.
using bytes [[gnu::vector_size(16)]] = std::uint8_t;
using signed_bytes [[gnu::vector_size(16)]] = std::int8_t;

/// Bits of each byte: (p >> shift & mask) << left. There are no shifts of bytes, and those of words move no bits of
/// others that the mask keeps.
[[gnu::always_inline]] inline bytes bits_of(const std::uint8_t *p, std::size_t shift, std::uint8_t mask, int left = 0) {
    using words [[gnu::vector_size(16)]] = std::uint16_t;
    words w;
    std::memcpy(&w, p, sizeof w);
    w = (w >> static_cast<std::uint16_t>(shift) & static_cast<std::uint16_t>(mask * 0x101)) << left;
    return reinterpret_cast<const bytes &>(w);
}

/// It goes by way of 16 bits: g++ 12 converts a vector to elements of twice their size by an instruction or two, and to
/// others one by one.
[[gnu::always_inline]] inline std::array<std::int32_t, 16> widen(const bytes &q) {
    using halves [[gnu::vector_size(32)]] = std::int16_t;
    using integers [[gnu::vector_size(64)]] = std::int32_t;
    const auto wide = __builtin_convertvector(
            __builtin_convertvector(reinterpret_cast<const signed_bytes &>(q), halves), integers);
    std::array<std::int32_t, 16> result;
    std::memcpy(result.data(), &wide, sizeof wide);
    return result;
}

/// y = scale * q, for sixteen elements.
[[gnu::always_inline]] inline void write_scaled(float scale, const bytes &q, float *y) {
    const auto wide = widen(q);
    for (std::size_t i = 0; i < wide.size(); ++i)
        y[i] = scale * static_cast<float>(wide[i]);
}

/// y = scale * q - less
[[gnu::always_inline]] inline void write_scaled(float scale, float less, const bytes &q, float *y) {
    const auto wide = widen(q);
    for (std::size_t i = 0; i < wide.size(); ++i)
        y[i] = scale * static_cast<float>(wide[i]) - less;
}

} // namespace exactquant::ggml
