// Elements narrower than a byte. They lie from the lowest bit of the first byte on, without gaps; those whose bits do
// not divide 8 may lie in two bytes.
//
// Always inlined and without the standard library, as files compiled for one instruction set include it.
#pragma once

#include <cstdint>

namespace dynquant {

[[gnu::always_inline]] inline unsigned packed_at(const void *tensor, int bits, std::int64_t i) {
    const auto bit = static_cast<std::uint64_t>(i) * static_cast<unsigned>(bits); // unsigned: shifts, no divisions
    const auto *const byte = static_cast<const unsigned char *>(tensor) + bit / 8;
    const auto shift = static_cast<int>(bit % 8);
    const auto next = shift + bits > 8 ? static_cast<unsigned>(byte[1]) << 8 : 0U;
    return (byte[0] | next) >> shift & ((1U << bits) - 1);
}

/// Takes the lowest bits of `value`. Keeps the bytes' other elements.
[[gnu::always_inline]] inline void put_packed(void *tensor, int bits, std::int64_t i, unsigned value) {
    const auto bit = static_cast<std::uint64_t>(i) * static_cast<unsigned>(bits);
    auto *const byte = static_cast<unsigned char *>(tensor) + bit / 8;
    const auto shift = static_cast<int>(bit % 8);
    const auto written = ((1U << bits) - 1) << shift, placed = value << shift & written;
    byte[0] = static_cast<unsigned char>((byte[0] & ~written) | placed);
    if (shift + bits > 8) byte[1] = static_cast<unsigned char>((byte[1] & ~(written >> 8)) | placed >> 8);
}

} // namespace dynquant
