// The types of 256 elements whose scales are codes themselves ("K"), those of a table of 16 values ("IQ4"), and TQ2_0:
// the formulas of ggml's Python package gguf (quants.py), in float32, each operation rounded. Loops over the elements
// that share a scale have constant counts, so that compilers make vectors of them.
#include <algorithm>
#include <array>
#include <cmath>

#include "ggml.hpp"
#include "ggml_loops.hpp"

namespace exactquant::ggml {
namespace {

constexpr std::size_t block = 256;

/// y = scale * q(i) - less, of `count` elements.
template <int count, typename F>
[[gnu::always_inline]] inline void dequantize_group(float scale, float less, F q, float *y) {
    for (std::size_t i = 0; i < count; ++i)
        y[i] = scale * static_cast<float>(q(i)) - less;
}
template <int count, typename F>
[[gnu::always_inline]] inline void dequantize_group(float scale, F q, float *y) {
    for (std::size_t i = 0; i < count; ++i)
        y[i] = scale * static_cast<float>(q(i));
}

/// Eight scales of six bits and as many minima, in twelve bytes: of the first four the low six bits of a byte each, of
/// the others four bits of the last bytes under the two that these leave.
struct scales_and_minima {
    std::array<std::uint8_t, 8> scales, minima;
};
[[gnu::always_inline]] inline scales_and_minima load_scales(const std::uint8_t *p) {
    scales_and_minima of;
    for (std::size_t i = 0; i < 4; ++i) {
        of.scales[i] = p[i] & 63;
        of.minima[i] = p[4 + i] & 63;
        of.scales[4 + i] = static_cast<std::uint8_t>((p[8 + i] & 15) | (p[i] >> 2 & 48));
        of.minima[4 + i] = static_cast<std::uint8_t>(p[8 + i] >> 4 | (p[4 + i] >> 2 & 48));
    }
    return of;
}

EXACTQUANT_LOOPS void dequantize_q2_k(const std::uint8_t *__restrict from, std::int64_t blocks, float *__restrict y) {
    for (; blocks > 0; --blocks, from += 84, y += block) {
        const auto d = load_half(from + 80), dmin = load_half(from + 82);
        for (std::size_t g = 0; g < 16; ++g) { // of 16 elements
            const auto *const q = from + 16 + g / 8 * 32 + g % 2 * 16;
            const auto shift = g % 8 / 2 * 2;
            dequantize_group<16>(
                    d * static_cast<float>(from[g] & 15), dmin * static_cast<float>(from[g] >> 4),
                    [&](std::size_t i) { return q[i] >> shift & 3; }, y + g * 16);
        }
    }
}

/// A set bit of the mask is one that subtracts nothing.
EXACTQUANT_LOOPS void dequantize_q3_k(const std::uint8_t *__restrict from, std::int64_t blocks, float *__restrict y) {
    for (; blocks > 0; --blocks, from += 110, y += block) {
        const auto d = load_half(from + 108);
        const auto *const packed = from + 96;
        for (std::size_t g = 0; g < 16; ++g) {
            const int low = g < 8 ? packed[g] & 15 : packed[g - 8] >> 4, high = packed[8 + g % 4] >> g / 4 * 2 & 3;
            const auto *const q = from + 32 + g / 8 * 32 + g % 2 * 16, *const mask = from + g % 2 * 16;
            const auto shift = g % 8 / 2 * 2, bit = g / 2;
            dequantize_group<16>(
                    d * static_cast<float>((low | high << 4) - 32),
                    [&](std::size_t i) { return (q[i] >> shift & 3) + (mask[i] >> bit & 1) * 4 - 4; }, y + g * 16);
        }
    }
}

EXACTQUANT_LOOPS void dequantize_q4_k(const std::uint8_t *__restrict from, std::int64_t blocks, float *__restrict y) {
    for (; blocks > 0; --blocks, from += 144, y += block) {
        const auto d = load_half(from), dmin = load_half(from + 2);
        const auto of = load_scales(from + 4);
        for (std::size_t g = 0; g < 8; ++g) { // of 32 elements
            const auto *const q = from + 16 + g / 2 * 32;
            const auto shift = g % 2 * 4;
            dequantize_group<32>(
                    d * static_cast<float>(of.scales[g]), dmin * static_cast<float>(of.minima[g]),
                    [&](std::size_t i) { return q[i] >> shift & 15; }, y + g * 32);
        }
    }
}

EXACTQUANT_LOOPS void dequantize_q5_k(const std::uint8_t *__restrict from, std::int64_t blocks, float *__restrict y) {
    for (; blocks > 0; --blocks, from += 176, y += block) {
        const auto d = load_half(from), dmin = load_half(from + 2);
        const auto of = load_scales(from + 4);
        const auto *const fifth = from + 16;
        for (std::size_t g = 0; g < 8; ++g) {
            const auto *const q = from + 48 + g / 2 * 32;
            const auto shift = g % 2 * 4;
            dequantize_group<32>(
                    d * static_cast<float>(of.scales[g]), dmin * static_cast<float>(of.minima[g]),
                    [&](std::size_t i) { return (q[i] >> shift & 15) | (fifth[i] >> g & 1) << 4; }, y + g * 32);
        }
    }
}

EXACTQUANT_LOOPS void dequantize_q6_k(const std::uint8_t *__restrict from, std::int64_t blocks, float *__restrict y) {
    for (; blocks > 0; --blocks, from += 210, y += block) {
        const auto d = load_half(from + 208);
        for (std::size_t g = 0; g < 16;
                ++g) { // of 16 elements; four times 32 take 64 bytes of low bits, 32 of high ones
            const auto part = g / 2 % 4;
            const auto *const low = from + g / 8 * 64 + part % 2 * 32 + g % 2 * 16;
            const auto *const high = from + 128 + g / 8 * 32 + g % 2 * 16;
            const auto shift = part / 2 * 4, high_shift = part * 2;
            const auto scale = static_cast<std::int8_t>(from[192 + g]);
            dequantize_group<16>(
                    d * static_cast<float>(scale),
                    [&](std::size_t i) { return ((low[i] >> shift & 15) | (high[i] >> high_shift & 3) << 4) - 32; },
                    y + g * 16);
        }
    }
}

/// Codes of -1, 0 and 1, one more, in two bits.
EXACTQUANT_LOOPS void dequantize_tq2_0(const std::uint8_t *__restrict from, std::int64_t blocks, float *__restrict y) {
    for (; blocks > 0; --blocks, from += 66, y += block) {
        const auto d = load_half(from + 64);
        for (std::size_t g = 0; g < 8; ++g) { // of 32 elements
            const auto *const q = from + g / 4 * 32;
            const auto shift = g % 4 * 2;
            dequantize_group<32>(
                    d, [&](std::size_t i) { return (q[i] >> shift & 3) - 1; }, y + g * 32);
        }
    }
}

constexpr std::array<std::int8_t, 16> values = {
        -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// 32 elements, of which i and i + 16 share a byte.
[[gnu::always_inline]] inline void dequantize_by_table(float scale, const std::uint8_t *q, float *y) {
    dequantize_group<16>(
            scale, [&](std::size_t i) { return values[q[i] & 15]; }, y);
    dequantize_group<16>(
            scale, [&](std::size_t i) { return values[q[i] >> 4]; }, y + 16);
}

EXACTQUANT_LOOPS void dequantize_iq4_nl(const std::uint8_t *__restrict from, std::int64_t blocks, float *__restrict y) {
    for (; blocks > 0; --blocks, from += 18, y += 32)
        dequantize_by_table(load_half(from), from + 2, y);
}

EXACTQUANT_LOOPS void dequantize_iq4_xs(const std::uint8_t *__restrict from, std::int64_t blocks, float *__restrict y) {
    for (; blocks > 0; --blocks, from += 136, y += block) {
        const auto d = load_half(from);
        const int high = from[2] | from[3] << 8;
        for (std::size_t g = 0; g < 8; ++g) { // of 32 elements
            const int scale = (from[4 + g / 2] >> g % 2 * 4 & 15) | (high >> 2 * g & 3) << 4;
            dequantize_by_table(d * static_cast<float>(scale - 32), from + 8 + g * 16, y + g * 32);
        }
    }
}

constexpr block_type all[] = {
        {"Q2_K", 256, 84, nullptr, dequantize_q2_k},
        {"Q3_K", 256, 110, nullptr, dequantize_q3_k},
        {"Q4_K", 256, 144, nullptr, dequantize_q4_k},
        {"Q5_K", 256, 176, nullptr, dequantize_q5_k},
        {"Q6_K", 256, 210, nullptr, dequantize_q6_k},
        {"TQ2_0", 256, 66, nullptr, dequantize_tq2_0},
        {"IQ4_NL", 32, 18, nullptr, dequantize_iq4_nl},
        {"IQ4_XS", 256, 136, nullptr, dequantize_iq4_xs},
};

} // namespace

std::span<const block_type> types_of_coded_scales() {
    return all;
}

} // namespace exactquant::ggml
