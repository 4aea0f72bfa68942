// Permuted layouts, such as nchw to nhwc: src is dense along one loop, dst along the row. Tiles are transposed as
// bytes: after quantizing, before dequantizing. All loads and stores of src and dst are contiguous.
#include <algorithm>
#include <cstring>

#include "elements/table.hpp"
#include "kernels/native/plan.hpp"
#include "kernels/native/walker.hpp"
#include "quantization/shape.hpp"

namespace dynquant::kernels::native {
namespace {

/// Long lines help the hardware prefetcher, and few pages are in use at a time.
constexpr std::int64_t side = transposed_side, length = transposed_length;

/// Narrow rows are interleaved, so many at a time.
constexpr std::int64_t narrow_length = 1024;

/// The bytes of a tile. Each line is whole cache lines, as stores that cross one take twice as long. The few lines of
/// narrow rows are longer; their step is no power of two, so that they do not share first-level cache sets.
struct alignas(64) byte_lines {
    unsigned char bytes[side * length];

    explicit byte_lines(bool narrow)
        : longest(narrow ? narrow_length : length)
        , step(narrow ? narrow_length + side : length) {}

    std::int64_t longest, step;
};
static_assert(sizeof(byte_lines::bytes) >= max_narrow_row * (narrow_length + side));

/// Parameters of a line, and room for those of further lines of the tile. Separate from byte_lines, so that no stack
/// frame is large.
using transposed_parameters = chunk_storage<length + side>;

/// Unpacks a line of pairs of 4-bit elements to two lines of bytes.
void split_pairs(const unsigned char *__restrict pairs, bool is_signed, unsigned char *__restrict even,
        unsigned char *__restrict odd) {
    const auto sign = static_cast<unsigned char>(is_signed ? 8 : 0); // extends: (x ^ 8) - 8
    for (std::int64_t i = 0; i < side; ++i) {
        even[i] = static_cast<unsigned char>(((pairs[i] & 15) ^ sign) - sign);
        odd[i] = static_cast<unsigned char>((pairs[i] >> 4 ^ sign) - sign);
    }
}

/// What the tiles of both directions have. Microkernels read or write their lines in place of src or dst.
struct tiles {
    tiles(const plan &of, const walk &which, const call &with, transposed_parameters &storage)
        : p(of)
        , w(which)
        , c(with)
        , parameters(of, with, storage) {}

    const plan &p;
    const walk &w;
    const call &c;
    const axis across = innermost_loop(w.axes), along = w.axes.row;
    call through_lines = c;
    chunk parameters;
    byte_lines lines {w.is_narrow};
};

/// Computes lines of bytes from src, transposes them and stores them as rows of dst.
class quantized_tiles : tiles {
  public:
    using tiles::tiles;

    void compute(const rectangle &r) {
        through_lines.dst = lines.bytes;
        through_lines.stream = false;
        for (auto column = r.column_begin; column < r.column_end; column += side) {
            const auto columns = std::min(side, r.column_end - column);
            row_walker walker(w.axes, r.row_begin);
            std::int64_t rows = 0;
            for (auto row = r.row_begin; row < r.row_end; row += rows, walker.advance(rows)) {
                rows = walker.rows_left(std::min(lines.longest, r.row_end - row));
                compute_lines(walker, column, columns, rows);
                auto *const dst = static_cast<unsigned char *>(c.dst) + walker.dst + column;
                if (w.is_narrow) {
                    p.loops->interleave(lines.bytes, lines.step, columns, rows, dst);
                    continue;
                }
                for (std::int64_t first = 0; first < rows; first += side)
                    p.loops->transpose_out(lines.bytes + first, lines.step, columns, std::min(side, rows - first),
                            dst + first * across.dst_stride, across.dst_stride);
            }
        }
    }

  private:
    void compute_lines(const row_walker &walker, std::int64_t column, std::int64_t columns, std::int64_t rows) {
        const auto first = walker.parameter + column * along.parameter_stride;
        const auto indirect_rows = [&](std::int64_t line, std::int64_t count) {
            return placed_rows {count, rows, walker.src + (column + line) * along.src_stride, along.src_stride, 1,
                    line * lines.step, lines.step, 1};
        };
        if (across.parameter_stride == 0) {
            const auto base =
                    parameters.prepare_ahead({.first = first, .stride = along.parameter_stride, .count = columns});
            return compute_placed_rows(parameters, base, w, through_lines, indirect_rows(0, columns), {1, {}, 1});
        }
        const auto together = along.parameter_stride == 0 ? columns : 1;
        for (std::int64_t line = 0; line < columns; line += together) {
            const auto base = parameters.prepare_ahead(
                    {.first = first + line * along.parameter_stride, .stride = across.parameter_stride, .count = rows});
            compute_placed_rows(parameters, base, w, through_lines, indirect_rows(line, together), {0, {}, 1});
        }
    }
};

/// Transposes lines of src as bytes and computes rows of dst from them.
class dequantized_tiles : tiles {
  public:
    using tiles::tiles;

    void compute(const rectangle &r) {
        through_lines.src = lines.bytes;
        if (w.is_narrow) return compute_narrow(r);
        for (std::int64_t column = r.column_begin, columns = 0; column < r.column_end; column += columns) {
            columns = std::min(w.chunk, r.column_end - column);
            row_walker walker(w.axes, r.row_begin);
            std::int64_t rows = 0;
            for (auto row = r.row_begin; row < r.row_end; row += rows) {
                rows = walker.contiguous_src_rows(std::min(side, r.row_end - row));
                for (std::int64_t i = 0; i < columns; i += side)
                    transpose_columns(walker.src, column + i, std::min(side, columns - i), rows, i);
                for (std::int64_t i = 0, count = 0; i < rows; i += count, walker.advance(count)) {
                    count = walker.rows_left(rows - i);
                    compute_lines({walker, column, columns, i, count});
                }
            }
        }
    }

  private:
    /// Interleaves the planes of src. The parameters repeat with every `planes` columns.
    void compute_narrow(const rectangle &r) {
        constexpr std::int64_t width = 192; // a multiple of 2, 3 and 4 planes and of a cache line
        static_assert(width <= length + side);
        const auto planes = along.extent;
        row_walker walker(w.axes, r.row_begin);
        std::int64_t rows = 0;
        for (auto row = r.row_begin; row < r.row_end; row += rows, walker.advance(rows)) {
            rows = walker.rows_left(std::min(narrow_length, r.row_end - row));
            const auto *const src = static_cast<const unsigned char *>(c.src) + walker.src;
            p.loops->interleave(src, along.src_stride, planes, rows, lines.bytes);
            parameters.prepare_columns(w, walker.parameter, width);
            const auto count = rows * planes, whole = count / width * width;
            const auto rows_of_periods = [&](std::int64_t begin, std::int64_t of_rows, std::int64_t columns) {
                return placed_rows {of_rows, columns, begin, columns, 1, walker.dst + begin, columns, 1};
            };
            if (whole > 0)
                compute_placed_rows(
                        parameters, 0, w, through_lines, rows_of_periods(0, count / width, width), {0, {}, 1});
            if (whole < count)
                compute_placed_rows(
                        parameters, 0, w, through_lines, rows_of_periods(whole, 1, count - whole), {0, {}, 1});
        }
    }

    void transpose_columns(
            std::int64_t src, std::int64_t column, std::int64_t columns, std::int64_t rows, std::int64_t first) {
        const auto at = src + column * along.src_stride;
        auto *const to = lines.bytes + first;
        if (traits(p.memory.src).bits == 8)
            return p.loops->transpose_in(
                    static_cast<const unsigned char *>(c.src) + at, along.src_stride, columns, rows, to, lines.step);
        transpose_packed(at, columns, rows, to);
    }

    /// transpose_columns() of elements of less than 8 bits, which it unpacks to bytes. Out of line, so that other types
    /// do not take its stack.
    [[gnu::noinline]] void transpose_packed(
            std::int64_t at, std::int64_t columns, std::int64_t rows, unsigned char *to) {
        const auto &type = traits(p.memory.src);
        if (type.bits == 4 && (at | along.src_stride | rows) % 2 == 0)
            return transpose_pairs(at, columns, rows, type.integral && type.is_signed, to);
        alignas(64) unsigned char unpacked[side * side + 2 * widest_step];
        for (std::int64_t i = 0; i < columns; ++i) // writes whole vectors, which the next line overwrites
            unpack_(c.src, at + i * along.src_stride, rows, unpacked + i * side);
        p.loops->transpose_in(unpacked, side, columns, rows, to, lines.step);
    }

    /// transpose_packed() of elements of 4 bits, in pairs: the bytes of src are transposed first, to half as many
    /// lines.
    void transpose_pairs(std::int64_t at, std::int64_t columns, std::int64_t rows, bool is_signed, unsigned char *to) {
        alignas(64) unsigned char pairs[side / 2 * side];
        p.loops->transpose_in(static_cast<const unsigned char *>(c.src) + at / 2, along.src_stride / 2, columns,
                rows / 2, pairs, side);
        for (std::int64_t row = 0; row < rows; row += 2, to += 2 * lines.step)
            split_pairs(pairs + row / 2 * side, is_signed, to, to + lines.step);
    }

    /// `rows` transposed rows of the innermost loop, which begin at line `line` of the tile.
    struct tile_rows {
        const row_walker &walker;
        std::int64_t column, columns, line, rows;
    };

    void compute_lines(const tile_rows &t) {
        if (along.parameter_stride == 0) return compute_with_a_parameter_each(t);
        if (across.parameter_stride != 0 && has_whole_groups()) return compute_with_groups_each(t);
        compute_with_shared_parameters(t);
    }

    void compute_with_a_parameter_each(const tile_rows &t) {
        const auto base = parameters.prepare_ahead(
                {.first = t.walker.parameter, .stride = across.parameter_stride, .count = t.rows});
        compute_some(t, 0, t.rows, base, {1, {}, 1});
    }

    /// Computes as many rows at a time as have their parameters in one chunk.
    void compute_with_groups_each(const tile_rows &t) {
        const auto needed = parameters_along(t, 0).count, most = (length + side) / needed;
        for (std::int64_t i = 0, count = 0; i < t.rows; i += count) {
            count = std::min(most, t.rows - i);
            auto wanted = parameters_along(t, i);
            wanted.rows = count;
            parameters.prepare_all(wanted);
            compute_some(t, i, count, 0, access(needed));
        }
    }

    /// Parameters along the row, for all rows or, where they differ, for one row at a time.
    void compute_with_shared_parameters(const tile_rows &t) {
        const auto together = across.parameter_stride == 0 ? t.rows : 1;
        for (std::int64_t i = 0; i < t.rows; i += together) {
            const auto wanted = parameters_along(t, i);
            std::int64_t base = 0;
            if (w.expands)
                parameters.prepare_columns(w, wanted.first, t.columns);
            else
                base = parameters.prepare_ahead(wanted);
            compute_some(t, i, together, base, access(0));
        }
    }

    /// Whether a microkernel takes rows of groups at once, and finds their parameters by a step from row to row.
    bool has_whole_groups() const {
        return w.microkernel_form != form::cols && w.microkernel_form != form::short_groups;
    }

    parameter_access access(std::int64_t parameter_step) const {
        return {parameter_step, {w.index.data(), w.first.data()}, w.group_length};
    }

    /// The parameters along row i, and along the rows that follow it.
    parameter_grid parameters_along(const tile_rows &t, std::int64_t i) const {
        return {.first = t.walker.parameter + t.column / w.group_length * along.parameter_stride
                        + i * across.parameter_stride,
                .stride = along.parameter_stride,
                .count = ceil_div(t.columns, w.group_length),
                .rows = t.rows - i,
                .next_row = across.parameter_stride};
    }

    void compute_some(
            const tile_rows &t, std::int64_t i, std::int64_t count, std::int64_t base, const parameter_access &g) {
        compute_placed_rows(parameters, base, w, through_lines,
                {count, t.columns, (t.line + i) * lines.step, lines.step, 1,
                        t.walker.dst + t.column + i * across.dst_stride, across.dst_stride, 1},
                g);
    }

    const read_function unpack_ = p.loops->code.unpack[p.memory.src];
};

template <typename Tiles>
[[gnu::noinline]] void compute_by(
        const plan &p, const walk &w, const call &c, const rectangle &r, transposed_parameters &storage) {
    Tiles(p, w, c, storage).compute(r);
}

} // namespace

void compute_transposed(const plan &p, const walk &w, const call &c, const rectangle &r) {
    transposed_parameters storage;
    if (p.memory.dst_bytes == 1)
        compute_by<quantized_tiles>(p, w, c, r, storage);
    else
        compute_by<dequantized_tiles>(p, w, c, r, storage);
}

} // namespace dynquant::kernels::native
