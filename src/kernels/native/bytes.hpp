// Layout changes of bytes: transpose, interleave, gather.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/native/microkernel.hpp"

namespace dynquant::kernels::native {
namespace {

/// A buffer for transposes. Each row is a cache line.
struct alignas(64) byte_square {
    unsigned char line[transposed_side][transposed_side];
};

/// Copies a cache line, half of it, or `count` bytes.
inline void copy_line(void *to, const void *from, std::int64_t count) {
    if (count == transposed_side)
        std::memcpy(to, from, transposed_side); // of known size: a load and a store
    else if (count == transposed_side / 2)
        std::memcpy(to, from, transposed_side / 2);
    else
        std::memcpy(to, from, static_cast<std::size_t>(count));
}

/// Transposes up to transposed_side lines of up to transposed_side bytes. `from` may have any alignment; `to` has room
/// for whole pieces of 16 by 32.
template <typename V>
void transpose_in(const unsigned char *from, std::int64_t from_step, std::int64_t lines, std::int64_t columns,
        unsigned char *to, std::int64_t to_step) {
    byte_square square;
    for (std::int64_t i = 0; i < lines; ++i)
        copy_line(square.line[i], from + i * from_step, columns);
    for (std::int64_t i = 0; i < lines; i += 16)
        for (std::int64_t j = 0; j < columns; j += 32)
            V::transpose(square.line[i] + j, sizeof(square.line[0]), to + j * to_step + i, to_step);
}

/// transpose_in() in the other direction: `from` has whole pieces of 16 by 32, `to` may have any alignment.
template <typename V>
void transpose_out(const unsigned char *from, std::int64_t from_step, std::int64_t lines, std::int64_t columns,
        unsigned char *to, std::int64_t to_step) {
    byte_square square;
    for (std::int64_t j = 0; j < columns; j += 32)
        for (std::int64_t i = 0; i < lines; i += 16)
            V::transpose(from + i * from_step + j, from_step, square.line[j] + i, sizeof(square.line[0]));
    for (std::int64_t j = 0; j < columns; ++j)
        copy_line(to + j * to_step, square.line[j], lines);
}

/// Interleaves `planes` lines of `count` bytes to one line.
template <typename V>
void interleave(
        const unsigned char *from, std::int64_t from_step, std::int64_t planes, std::int64_t count, unsigned char *to) {
    std::int64_t i = 0;
    if constexpr (V::lanes > 1) {
        if (planes == 3) i = V::interleave_3(from, from_step, count, to);
        if (planes == 4) i = V::interleave_4(from, from_step, count, to);
    }
    for (; i < count; ++i)
        for (std::int64_t plane = 0; plane < planes; ++plane)
            to[i * planes + plane] = from[plane * from_step + i];
}

/// Copies every stride-th byte.
template <typename V>
void gather_bytes(const unsigned char *from, std::int64_t stride, std::int64_t count, unsigned char *to) {
    std::int64_t i = 0;
    if constexpr (V::lanes > 1) {
        if (stride == 2) i = V::template gather_bytes<2>(from, count, to);
        if (stride == 3) i = V::template gather_bytes<3>(from, count, to);
        if (stride == 4) i = V::template gather_bytes<4>(from, count, to);
    }
    for (; i < count; ++i)
        to[i] = from[i * stride];
}

} // namespace
} // namespace dynquant::kernels::native
