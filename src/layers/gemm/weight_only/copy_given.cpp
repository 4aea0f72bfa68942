#include "layers/gemm/weight_only/copy_given.hpp"

#include "targets/sixteen_bytes.hpp"

namespace dynquant::layers {
namespace {

using simd::load_bytes;
using simd::sixteen_bytes;
using simd::store_bytes;
using simd::unroll;

/// Copies sixteen bytes or less of a row: bytes, or nibbles as bytes, the low one first.
template <int in_byte>
[[gnu::always_inline]] inline void copy_piece(sixteen_bytes x, std::int8_t *to, std::int64_t room) {
    if constexpr (in_byte == 1) {
        store_bytes(to, x, room);
    } else {
        const auto even = x & 15, odd = x >> 4;
        store_bytes(to, simd::low_bytes(even, odd), room);
        store_bytes(to + 16, simd::high_bytes(even, odd), room - 16);
    }
}

/// Copies what lies row by row.
template <int in_byte>
void copy_rows(const given_weights &w, const given_part &part) {
    // Stores may change the fields, for all the compiler knows.
    const auto width = part.width, rows = part.rows, row_bytes = w.stride / in_byte, size = part.columns / in_byte;
    const auto flip = sixteen_bytes {} + w.flip;
    const auto *row = w.data + (part.first_row * w.stride + part.first_column) / in_byte;
    auto *to = part.to;
    const bool are_whole = size % 16 == 0;
    for (std::int64_t k = 0; k < rows; ++k, row += row_bytes, to += width) {
        __builtin_prefetch(row + given_bytes_ahead);
        if (are_whole)
            for (std::int64_t i = 0; i < size; i += 16)
                copy_piece<in_byte>(load_bytes(row + i, 16) ^ flip, to + i * in_byte, 32);
        else
            for (std::int64_t i = 0; i < size; i += 16)
                copy_piece<in_byte>(load_bytes(row + i, size - i) ^ flip, to + i * in_byte, width - i * in_byte);
    }
}

/// A column's next bytes in each of sixteen vectors, turned: a row, or a pair of rows, in each.
template <int in_byte>
[[gnu::noinline]] void copy_block(
        sixteen_bytes (&x)[16], std::int64_t bytes, std::int8_t *to, std::int64_t width, std::int64_t room) {
    simd::transpose(x);
    const auto store = [](sixteen_bytes pair, std::int8_t * row, std::int64_t stride, std::int64_t size)
            __attribute__((always_inline)) {
        store_bytes(row, in_byte == 1 ? pair : pair & 15, size);
        if constexpr (in_byte == 2) store_bytes(row + stride, pair >> 4, size);
    };
    if (bytes >= 16 && room >= 16)
        unroll<16>([&](int r) __attribute__((always_inline)) { store(x[r], to + r * in_byte * width, width, 16); });
    else
        for (std::int64_t r = 0; r < 16 && r < bytes; ++r)
            store(x[r], to + r * in_byte * width, width, room);
}

/// Copies what lies column by column, of each the bytes of a cache line at a time. Rows begin a byte.
template <int in_byte>
void copy_columns(const given_weights &w, const given_part &part) {
    constexpr std::int64_t line = 64;
    const auto width = part.width, columns = part.columns, bytes = (part.rows + in_byte - 1) / in_byte,
               column_bytes = w.stride / in_byte;
    const auto flip = sixteen_bytes {} + w.flip;
    const auto *const first = w.data + part.first_column * column_bytes + part.first_row / in_byte;
    auto *const to = part.to;
    for (std::int64_t n = 0; n < columns; n += 16)
        for (std::int64_t begin = 0; begin < bytes; begin += line) {
            const auto *const from = first + n * column_bytes + begin;
            auto *const rows = to + begin * in_byte * width + n;
            sixteen_bytes x[line / 16][16];
            if (columns - n >= 16 && bytes - begin >= line) {
                for (int c = 0; c < 16; ++c) {
                    __builtin_prefetch(from + c * column_bytes + given_bytes_ahead);
                    for (int i = 0; i < 4; ++i)
                        x[i][c] = load_bytes(from + c * column_bytes + i * 16, 16) ^ flip;
                }
                for (int i = 0; i < 4; ++i)
                    copy_block<in_byte>(x[i], 16, rows + i * 16 * in_byte * width, width, 16);
                continue;
            }
            for (int i = 0; i < 4 && begin + i * 16 < bytes; ++i) {
                for (int c = 0; c < 16; ++c)
                    x[i][c] = c < columns - n
                            ? load_bytes(from + c * column_bytes + i * 16, bytes - begin - i * 16) ^ flip
                            : sixteen_bytes {};
                copy_block<in_byte>(x[i], bytes - begin - i * 16, rows + i * 16 * in_byte * width, width, width - n);
            }
        }
}

} // namespace

void copy_given(const given_weights &w, const given_part &part) {
    if (w.are_nibbles)
        (w.is_transposed ? copy_columns<2> : copy_rows<2>)(w, part);
    else
        (w.is_transposed ? copy_columns<1> : copy_rows<1>)(w, part);
}

} // namespace dynquant::layers
