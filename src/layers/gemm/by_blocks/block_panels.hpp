// Weights of 4 or 8 bits in panels, with a scale for each block of rows and each column, and x quantized in the same
// blocks: the layout that the loops in isa/ read as one sequential stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/parallel.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// Weights as unsigned codes, in panels of adjacent columns. A panel has block after block, of whole blocks, and these
/// have four rows after four: the four codes of a column are adjacent bytes. Of 4 bits a byte has those of eight rows,
/// the first four in the low halves. Behind its weights a block has its scales, then its zero points: loops of one row
/// read one stream from its beginning to its end.
struct block_panels {
    const std::byte *data;
    std::int64_t columns;
    std::int64_t block, blocks; // rows of a block, a multiple of 16, and their number
    bool are_nibbles;
    bool are_scales_float16; // else f32
    bool have_zero_points;   // u8; else all are zero_point
    std::int32_t zero_point;
    std::int64_t scales_at, zero_points_at, block_bytes; // in bytes, from the beginning of a block on

    constexpr std::int64_t panel_bytes() const { return blocks * block_bytes; }
};

/// Rows of x as codes, each with a scale and the sum of the codes of each block. The rows lie in tiles of at most
/// block_loop::tile_rows, which the loops choose, block after block: for each four elements, the four codes of each row
/// are adjacent, or row after row. Few rows are each a tile of its own.
struct block_rows {
    std::int64_t rows;
    std::int8_t *codes; // [rows, blocks * block]; 0 behind the last row of the weights
    float *scales;      // [rows, blocks]
    std::int32_t *sums; // as the scales; negative
    bool are_alone = false;
};

/// Some of the rows, from the first one of a tile on.
constexpr block_rows rows_from(const block_panels &p, const block_rows &x, std::int64_t first, std::int64_t count) {
    const auto rest = x.rows - first;
    return {count < rest ? count : rest, x.codes + first * p.blocks * p.block, x.scales + first * p.blocks,
            x.sums + first * p.blocks, x.are_alone};
}

/// The largest block: its sums have 24 bits, so that a float has them exactly.
inline constexpr std::int64_t max_block = 256;

struct block_loop {
    /// Quantizes rows of `inner` elements, as block_product.hpp says. stride: from row to row of x.
    void (*quantize)(
            const block_panels &p, const float *x, std::int64_t inner, std::int64_t stride, const block_rows &to);
    /// Computes the columns of some panels of all rows.
    void (*multiply)(
            const block_panels &p, const block_rows &x, parallel::range panels, float *y, std::int64_t y_stride);
    std::int64_t columns; // of a panel
    std::int64_t tile_rows;
    /// So many rows take less time one by one, by weights of 4 and of 8 bits.
    std::int64_t alone_by_nibbles = 1, alone_by_bytes = 1;
};

/// amx_int8 computes few rows by avx512_vnni.
extern const targets::candidate<const block_loop *> block_table[];

} // namespace dynquant::layers
