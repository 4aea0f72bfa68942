// The types of 256 elements whose scales are codes themselves ("K"), and those of a table of 16 values ("IQ4"): the
// formulas of ggml's Python package gguf (quants.py), in float32, each operation rounded.
#include <cstring>

#include "ggml.hpp"
#include "ggml_loops.hpp"

namespace exactquant::ggml {
namespace {

constexpr std::size_t block = 256;

/// Eight scales of six bits and as many minima, in twelve bytes: of the first four the low six bits of a byte each, of
/// the others four bits of the last bytes under the two that these leave.
class scales_and_minima {
  public:
    [[gnu::always_inline]] explicit scales_and_minima(const std::uint8_t *p) {
        std::uint32_t words[3];
        std::memcpy(words, p, sizeof words);
        const auto join = [&](std::uint32_t low, std::uint32_t high) __attribute__((always_inline)) {
            return (low & 0x3f3f3f3f) | std::uint64_t {(high & 0x0f0f0f0f) | (low >> 2 & 0x30303030)} << 32;
        };
        scales_ = join(words[0], words[2]);
        minima_ = join(words[1], words[2] >> 4);
    }
    [[gnu::always_inline]] float scale(std::size_t i) const {
        return static_cast<float>(static_cast<int>(scales_ >> 8 * i & 63));
    }
    [[gnu::always_inline]] float minimum(std::size_t i) const {
        return static_cast<float>(static_cast<int>(minima_ >> 8 * i & 63));
    }

  private:
    std::uint64_t scales_, minima_; // of eight bytes, in registers
};

EXACTQUANT_LOOPS void dequantize_q2_k(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 84, y += block) {
        const auto d = load_half(from + 80), dmin = load_half(from + 82);
        for (std::size_t g = 0; g < 16; ++g) // of 16 elements
            write_scaled(d * static_cast<float>(from[g] & 15), dmin * static_cast<float>(from[g] >> 4),
                    bits_of(from + 16 + g / 8 * 32 + g % 2 * 16, g % 8 / 2 * 2, 3), y + g * 16);
    }
}

/// A set bit of the mask is one that subtracts nothing.
EXACTQUANT_LOOPS void dequantize_q3_k(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 110, y += block) {
        const auto d = load_half(from + 108);
        const auto *const packed = from + 96;
        for (std::size_t g = 0; g < 16; ++g) {
            const int low = g < 8 ? packed[g] & 15 : packed[g - 8] >> 4, high = packed[8 + g % 4] >> g / 4 * 2 & 3;
            const auto q = bits_of(from + 32 + g / 8 * 32 + g % 2 * 16, g % 8 / 2 * 2, 3);
            const auto mask = bits_of(from + g % 2 * 16, g / 2, 1, 2);
            write_scaled(d * static_cast<float>((low | high << 4) - 32), q + mask - 4, y + g * 16);
        }
    }
}

EXACTQUANT_LOOPS void dequantize_q4_k(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 144, y += block) {
        const auto d = load_half(from), dmin = load_half(from + 2);
        const scales_and_minima of(from + 4);
        for (std::size_t g = 0; g < 8; ++g) // of 32 elements
            for (std::size_t part = 0; part < 2; ++part)
                write_scaled(d * of.scale(g), dmin * of.minimum(g),
                        bits_of(from + 16 + g / 2 * 32 + part * 16, g % 2 * 4, 15), y + g * 32 + part * 16);
    }
}

EXACTQUANT_LOOPS void dequantize_q5_k(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 176, y += block) {
        const auto d = load_half(from), dmin = load_half(from + 2);
        const scales_and_minima of(from + 4);
        for (std::size_t g = 0; g < 8; ++g)
            for (std::size_t part = 0; part < 2; ++part) {
                const auto low = bits_of(from + 48 + g / 2 * 32 + part * 16, g % 2 * 4, 15);
                const auto fifth = bits_of(from + 16 + part * 16, g, 1, 4);
                write_scaled(d * of.scale(g), dmin * of.minimum(g), low | fifth, y + g * 32 + part * 16);
            }
    }
}

EXACTQUANT_LOOPS void dequantize_q6_k(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 210, y += block) {
        const auto d = load_half(from + 208);
        for (std::size_t g = 0; g < 16;
                ++g) { // of 16 elements; four times 32 take 64 bytes of low bits, 32 of high ones
            const auto part = g / 2 % 4;
            const auto low = bits_of(from + g / 8 * 64 + part % 2 * 32 + g % 2 * 16, part / 2 * 4, 15);
            const auto high = bits_of(from + 128 + g / 8 * 32 + g % 2 * 16, part * 2, 3, 4);
            write_scaled(
                    d * static_cast<float>(static_cast<std::int8_t>(from[192 + g])), (low | high) - 32, y + g * 16);
        }
    }
}

/// The values of codes of four bits.
[[gnu::always_inline]] inline bytes look_up(const bytes &q) {
    constexpr signed_bytes table = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
#if defined(__clang__) // which has no shuffle by a vector
    signed_bytes result;
    for (std::size_t i = 0; i < 16; ++i)
        result[i] = table[q[i]];
    return reinterpret_cast<const bytes &>(result);
#else
    return __builtin_shuffle(reinterpret_cast<const bytes &>(table), q);
#endif
}

/// 32 elements, of which i and i + 16 share a byte.
[[gnu::always_inline]] inline void dequantize_by_table(float scale, const std::uint8_t *q, float *y) {
    write_scaled(scale, look_up(bits_of(q, 0, 15)), y);
    write_scaled(scale, look_up(bits_of(q, 4, 15)), y + 16);
}

EXACTQUANT_LOOPS void dequantize_iq4_nl(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 18, y += 32)
        dequantize_by_table(load_half(from), from + 2, y);
}

EXACTQUANT_LOOPS void dequantize_iq4_xs(const std::uint8_t *from, std::int64_t blocks, float *y) {
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
        {"IQ4_NL", 32, 18, nullptr, dequantize_iq4_nl},
        {"IQ4_XS", 256, 136, nullptr, dequantize_iq4_xs},
};

} // namespace

std::span<const block_type> types_of_coded_scales() {
    return all;
}

} // namespace exactquant::ggml
