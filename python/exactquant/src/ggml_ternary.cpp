// Types of codes -1, 0 and 1 times the largest magnitude of 256 elements: the formulas of ggml (ggml-quants.c,
// quantize_row_tq*_ref and dequantize_row_tq*) and of its Python package gguf. A code is stored as one more.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "ggml.hpp"
#include "ggml_loops.hpp"

namespace exactquant::ggml {
namespace {

constexpr std::size_t block = 256;

using floats [[gnu::vector_size(64)]] = float;
using integers [[gnu::vector_size(64)]] = std::int32_t;
using words [[gnu::vector_size(32)]] = std::uint16_t;

[[gnu::always_inline]] inline float largest_magnitude(const float *x) {
    std::int32_t most = 0; // magnitudes are ordered as their bits are
    for (std::size_t i = 0; i < block; ++i)
        most = std::max(most, std::bit_cast<std::int32_t>(x[i]) & 0x7fffffff);
    return std::bit_cast<float>(most);
}

/// Sixteen codes: x * by, halves away from zero. NaN, of 0 times an infinite inverse, is 0, as where gguf converts it;
/// by infinity it is all of them.
[[gnu::always_inline]] inline bytes codes_of(const float *x, float by) {
    floats v;
    std::memcpy(&v, x, sizeof v);
    v *= by;
    const integers q = 1 - (v >= 0.5F) + (v <= -0.5F);                        // true is -1
    return __builtin_convertvector(__builtin_convertvector(q, words), bytes); // as widen() does
}

/// 1 / d; 0 if d is 0 or so small that this overflows.
[[gnu::always_inline]] inline float inverse(float d) {
    const auto by = d == 0 ? 0 : 1 / d;
    return by <= std::numeric_limits<float>::max() ? by : 0;
}

/// TQ1_0 keeps five codes in a byte: digits of base 3 make a number below 243, and the byte is its 256 / 243 fold,
/// rounded up. Read back, the integral part of 3 / 256 of the byte is the first digit, and the rest has the others.
[[gnu::always_inline]] inline bytes scaled(const bytes &number) {
    return __builtin_convertvector((__builtin_convertvector(number, words) * 256 + 242) / 243, bytes);
}

// Where element `digit` of the codes in byte 16 * part lies: 32 apart in the first 32 bytes, then 16.
constexpr std::size_t place(std::size_t part, std::size_t digit) {
    return part < 2 ? part * 16 + digit * 32 : 160 + digit * 16;
}

/// What a digit of the last four bytes counts; these have four, of elements four apart.
constexpr bytes worth = {81, 81, 81, 81, 27, 27, 27, 27, 9, 9, 9, 9, 3, 3, 3, 3};
constexpr bytes power = {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27};

EXACTQUANT_LOOPS void quantize_tq1_0(const float *x, std::int64_t blocks, std::uint8_t *to) {
    for (; blocks > 0; --blocks, to += 54, x += block) {
        const auto d = largest_magnitude(x), by = inverse(d);
        bytes number;
        for (std::size_t part = 0; part < 3; ++part) {
            number = codes_of(x + place(part, 0), by);
            for (std::size_t i = 1; i < 5; ++i)
                number = number * 3 + codes_of(x + place(part, i), by);
            number = scaled(number);
            std::memcpy(to + part * 16, &number, sizeof number);
        }
        number = codes_of(x + 240, by) * worth;
        std::uint32_t parts[4], sum = 0; // four bytes each, whose sums are below 243
        std::memcpy(parts, &number, sizeof number);
        for (const auto part : parts)
            sum += part;
        std::memcpy(&number, &sum, sizeof sum);
        number = scaled(number);
        std::memcpy(to + 48, &number, 4);
        store_half(to + 52, d);
    }
}

/// The first digit, less one: three times a byte is 256 or more from 86 on, and 512 or more from 171 on.
[[gnu::always_inline]] inline bytes first_code(const bytes &number) {
    const auto less = (number >= 86) + (number >= 171); // true is -1
    return 0 - reinterpret_cast<const bytes &>(less) - 1;
}

EXACTQUANT_LOOPS void dequantize_tq1_0(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 54, y += block) {
        const auto d = load_half(from + 52);
        bytes number;
        for (std::size_t part = 0; part < 3; ++part) {
            std::memcpy(&number, from + part * 16, sizeof number);
            for (std::size_t i = 0; i < 5; ++i, number *= 3)
                write_scaled(d, first_code(number), y + place(part, i));
        }
        for (std::size_t i = 0; i < 16; i += 4)
            std::memcpy(reinterpret_cast<std::uint8_t *>(&number) + i, from + 48, 4);
        write_scaled(d, first_code(number * power), y + 240);
    }
}

EXACTQUANT_LOOPS void quantize_tq2_0(const float *x, std::int64_t blocks, std::uint8_t *to) {
    for (; blocks > 0; --blocks, to += 66, x += block) {
        const auto d = largest_magnitude(x), by = inverse(d);
        for (std::size_t part = 0; part < 4; ++part) { // four elements 32 apart share a byte
            const auto *const first = x + part / 2 * 128 + part % 2 * 16;
            bytes q = codes_of(first, by);
            for (int i = 1; i < 4; ++i)
                q += codes_of(first + i * 32, by) << 2 * i;
            std::memcpy(to + part * 16, &q, sizeof q);
        }
        store_half(to + 64, d);
    }
}

EXACTQUANT_LOOPS void dequantize_tq2_0(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 66, y += block) {
        const auto d = load_half(from + 64);
        for (std::size_t g = 0; g < 16; ++g)
            write_scaled(d, bits_of(from + g / 8 * 32 + g % 2 * 16, g % 8 / 2 * 2, 3) - 1, y + g * 16);
    }
}

constexpr block_type all[] = {
        {"TQ1_0", 256, 54, quantize_tq1_0, dequantize_tq1_0},
        {"TQ2_0", 256, 66, quantize_tq2_0, dequantize_tq2_0},
};

} // namespace

std::span<const block_type> ternary_types() {
    return all;
}

} // namespace exactquant::ggml
