#include "kernels/native/row_part.hpp"

#include <algorithm>

#include "quantization/data_type.hpp"

namespace dynquant::kernels::native {
namespace {

std::int64_t pieces_of(std::int64_t count, std::int64_t size) {
    return (count + size - 1) / size;
}

} // namespace

row_part::row_part(const layout &shape, direction dir, std::int64_t first_piece)
    : shape_(shape)
    , rows_(shape.form.rows())
    , columns_(shape.form.row.extent)
    , piece_rows_(1)
    , piece_columns_(64) // a cache line of 8-bit elements
    , first_piece_(first_piece) {
    if (shape.rows == layout::kind::tiled) {
        piece_rows_ = dir == direction::dequantize ? tile_side : tile_length;
        piece_columns_ = dir == direction::dequantize ? tile_length : tile_side;
    }
    pieces_across_ = pieces_of(columns_, piece_columns_);
    pieces_ = pieces_of(rows_, piece_rows_) * pieces_across_;
}

bool row_part::may_split(data_type dst) const {
    const auto &form = shape_.form;
    const auto in_bytes = [bits = traits(dst).bits](std::int64_t elements) { return elements * bits % 8 == 0; };
    const auto stays = [&](const axis &a) { return in_bytes(a.dst_stride); };
    return in_bytes(form.begin.dst) && std::all_of(form.loops, form.loops + form.loop_count, stays)
            && (stays(form.row) || form.row.dst_stride == 1);
}

/// Pieces are numbered strip by strip, a strip being one row, or as many as a tile has. A range of them is
/// the end of a strip, whole strips, and the beginning of a strip, each of which may be missing.
void row_part::run(row_function function, const call &c, parallel::range pieces) const {
    const auto begin = std::max(pieces.begin - first_piece_, std::int64_t {0});
    const auto end = std::min(pieces.end - first_piece_, pieces_);
    if (begin >= end) return;
    if (end - begin == pieces_) return function(c, {0, rows_, 0, columns_});
    const auto first = begin / pieces_across_, last = end / pieces_across_;
    const auto column_begin = begin % pieces_across_ * piece_columns_;
    const auto column_end = end % pieces_across_ * piece_columns_;
    const auto strips = [&](std::int64_t from, std::int64_t to, std::int64_t left, std::int64_t right) {
        function(c, {from * piece_rows_, std::min(to * piece_rows_, rows_), left, right});
    };
    if (first == last) return strips(first, first + 1, column_begin, column_end);
    if (column_begin > 0) strips(first, first + 1, column_begin, columns_);
    const auto whole = column_begin > 0 ? first + 1 : first;
    if (whole < last) strips(whole, last, 0, columns_);
    if (column_end > 0) strips(last, last + 1, 0, column_end);
}

} // namespace dynquant::kernels::native
