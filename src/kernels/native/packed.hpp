// Codecs of elements of 6, 4 and 2 bits, to and from bytes. Elements lie from the lowest bit of the first byte on.
#pragma once

#include <cstdint>
#include <cstring>

#include "elements/ceil_div.hpp"
#include "elements/packed.hpp"
#include "kernels/native/microkernel.hpp"

namespace dynquant::kernels::native {
namespace {

/// The fewest elements that fill whole bytes.
template <int bits>
constexpr std::int64_t whole_bytes_of = bits == 6 ? 4 : 8 / bits;

/// Elements that V unpacks or packs at a time.
template <typename V, int bits>
constexpr std::int64_t packed_at_once = bits == 6 ? V::sixes : V::nibbles *(bits == 4 ? 1 : 2);

/// Unpacks elements of 4 or 6 bits to bytes. Writes whole vectors, so up to one beyond the last element.
template <typename V, int bits>
void unpack(const unsigned char *from, std::int64_t count, bool is_signed, std::int8_t *to) {
    constexpr std::int64_t n = packed_at_once<V, bits>, size = n * bits / 8;
    const auto unpack_vector = [=](const unsigned char *packed, std::int8_t *bytes) {
        if constexpr (bits == 4)
            V::unpack_nibbles(packed, bytes, is_signed);
        else
            V::unpack_sixes(packed, bytes);
    };
    const auto distance = prefetch_distance / 2;
    std::int64_t i = 0;
    for (; i + n <= count; i += n, from += size) {
        __builtin_prefetch(from + distance);
        unpack_vector(from, to + i);
    }
    if (i == count) return;
    unsigned char rest[size] = {};
    std::memcpy(rest, from, static_cast<std::size_t>(ceil_div((count - i) * bits, 8)));
    unpack_vector(rest, to + i);
}

/// Unpacks the 2-bit elements of up to two bytes, by shifts within a 64-bit integer.
inline void unpack_eight_pairs(const unsigned char *from, std::size_t bytes, bool is_signed, std::int8_t *to) {
    std::uint16_t packed = 0;
    std::memcpy(&packed, from, bytes);
    std::uint64_t apart = packed;
    apart = (apart | apart << 24) & 0x000000ff000000ff;
    apart = (apart | apart << 12) & 0x000f000f000f000f;
    apart = (apart | apart << 6) & 0x0303030303030303;
    const auto negative = apart & (is_signed ? 0x0202020202020202 : 0);
    apart |= negative * (0xfc / 2);
    std::memcpy(to, &apart, sizeof(apart));
}

/// unpack() of elements of 2 bits.
inline void unpack_pairs(const unsigned char *from, std::int64_t count, bool is_signed, std::int8_t *to) {
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        unpack_eight_pairs(from + i / 4, 2, is_signed, to + i);
    if (i < count)
        unpack_eight_pairs(from + i / 4, static_cast<std::size_t>(ceil_div(count - i, 4)), is_signed, to + i);
}

/// Reads packed elements from number `first` of a tensor on. Unpacks from whole bytes on, then drops the elements
/// before `first`.
template <typename V, int bits, bool is_signed>
[[gnu::noinline]] void read_packed(const void *tensor, std::int64_t first, std::int64_t count, void *tile) {
    const auto before = first % whole_bytes_of<bits>;
    const auto *const from = static_cast<const unsigned char *>(tensor) + (first - before) * bits / 8;
    auto *const to = static_cast<std::int8_t *>(tile);
    if constexpr (bits == 2)
        unpack_pairs(from, count + before, is_signed, to);
    else
        unpack<V, bits>(from, count + before, is_signed, to);
    if (before > 0) std::memmove(to, to + before, static_cast<std::size_t>(count));
}

/// Packs a vector of bytes, saturated. Those of 6 bits are codes, within their bounds.
template <typename V, int bits>
void pack_vector(const std::int8_t *from, unsigned char *to, std::int8_t lowest, std::int8_t highest) {
    if constexpr (bits == 6) return V::pack_sixes(from, to);
    if constexpr (bits == 4) return V::pack_nibbles(from, to, lowest, highest);
    // Packs to 4 bits first; each byte of two elements then closes up to 4 bits and is packed again.
    alignas(64) std::int8_t pairs[V::nibbles];
    V::pack_nibbles(from, reinterpret_cast<unsigned char *>(pairs), lowest, highest);
    V::pack_nibbles(from + V::nibbles, reinterpret_cast<unsigned char *>(pairs) + V::nibbles / 2, lowest, highest);
    for (auto &pair : pairs)
        pair = static_cast<std::int8_t>((pair & 3) | (pair >> 2 & 12));
    V::pack_nibbles(pairs, to, 0, 15);
}

/// Packs bytes, saturated to integers from `lowest` on. The tile has room for two widest steps beyond its end.
template <typename V, int bits>
[[gnu::noinline]] void pack(
        const std::int8_t *from, std::int64_t count, std::int8_t lowest, void *tensor, std::int64_t first) {
    constexpr std::int64_t in_bytes = whole_bytes_of<bits>, n = packed_at_once<V, bits>, size = n * bits / 8;
    const auto highest = static_cast<std::int8_t>(lowest + (1 << bits) - 1);
    const auto put = [&](std::int64_t i) { // keeps the bytes' other elements, which belong to other writes
        const int saturated = from[i] < lowest ? lowest : from[i] > highest ? highest : from[i];
        put_packed(tensor, bits, first + i, static_cast<unsigned>(saturated));
    };
    std::int64_t i = 0;
    for (; i < count && (first + i) % in_bytes != 0; ++i)
        put(i);
    auto *to = static_cast<unsigned char *>(tensor) + (first + i) * bits / 8;
    for (; i + n <= count; i += n, to += size)
        pack_vector<V, bits>(from + i, to, lowest, highest);
    const auto whole = (count - i) / in_bytes * in_bytes;
    if (whole > 0) {
        unsigned char rest[size];
        pack_vector<V, bits>(from + i, rest, lowest, highest);
        std::memcpy(to, rest, static_cast<std::size_t>(whole * bits / 8));
    }
    for (i += whole; i < count; ++i)
        put(i);
}

template <typename V, int bits, bool is_signed>
void write_packed(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool) {
    pack<V, bits>(static_cast<const std::int8_t *>(tile), count, is_signed ? -(1 << (bits - 1)) : 0, tensor, first);
}

} // namespace
} // namespace dynquant::kernels::native
