// The plan of a statement: formulas, codecs and walks, chosen once at prepare. And the driver's functions that run it.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/native/microkernel.hpp"
#include "parallel/parallel.hpp"
#include "quantization/canonical.hpp"
#include "quantization/shape.hpp"

namespace dynquant::kernels::native {

// ---- What computes dense rows -----------------------------------------------------------------------------
//
// Resolved at prepare for each state that a chunk's parameters can have. The driver then looks at that state, the rows'
// shape and their alignment.

/// Data types in memory, and the codecs between these and what a microkernel reads and writes.
struct staging {
    data_type src, dst;
    int src_bytes, dst_bytes;  // sizes of elements that the microkernel reads and writes
    read_function read, round; // null: it reads src directly; as it is
    write_function write;      // null: it writes dst directly
};

/// A microkernel, and the codecs for what it does not read or write itself.
struct staged_kernel {
    microkernel kernel;
    staging memory;
    bool is_direct; // no codecs, and src and dst are dense
};

/// How rows are computed whose parameters are in one state.
struct resolved {
    form by;
    staged_kernel usual;
    staged_kernel of_short_rows, of_broken_lines; // differ for codes: rows of few, and streamed ones inside cache lines
    microkernel look_up;                          // 4-bit elements by a table of their results, or null
    std::int64_t max_rows_of_groups;              // up to this many rows, each group becomes a row
};

struct resolved_states {
    resolved entries[preparations];

    const resolved &operator[](chunk_state state) const { return entries[static_cast<int>(state)]; }
};

// ---- Plans and walks --------------------------------------------------------------------------------------

/// A canonical form in the driver's loop order. Short dense rows are joined to longer ones.
struct walk {
    enum class order {
        rows,       // each row has one parameter
        columns,    // parameters change along the row
        transposed, // src is dense along the innermost loop, dst along the row
    };

    order traversal = order::rows;
    form microkernel_form = form::rows;
    canonical_form axes;
    std::int64_t group_length = 1;                   // neighbouring columns that share a parameter
    std::int64_t period = 0;                         // columns after which the parameters repeat; 0: never
    std::int64_t chunk = 0;                          // columns whose parameters are prepared at once
    bool expands = false;                            // each column gets its copy of the parameter
    bool is_narrow = false;                          // transposed rows of at most max_narrow_row columns
    std::int64_t grain_rows = 1, grain_columns = 64; // a grain: the smallest unit of a task split
    std::vector<std::int32_t> index, first;          // the pattern of form::short_groups or of expanded columns
    resolved_states own = {}, of_groups = {};        // what computes rows in the walk's form, and each group as a row
};

struct plan {
    const kernel_loops *loops;
    const family *formulas;
    staging memory; // of formulas and memory; resolve() leaves out what a microkernel does
    data_type scales, zero_points;
    precision division;
    bool has_zero_points;
    bool has_plain_parameters; // f32 scales, no second ones, zero points of s32, u8 or s8; none is rounded
    bool has_global_scale;     // the second scale is one for the tensor
    formula_constants constants;
    std::int32_t no_zero_point;           // the integer that acts as none
    const small_float_encoding *encoding; // of dst, a float of 8 bits or fewer; else null
    std::vector<walk> walks;
};

/// The first family of the table that computes such statements.
const family &family_for(const kernel_loops &loops, const formula_query &q);

/// `forms` is canonicalize(q).
plan plan_of(const quantization &q, const std::vector<canonical_form> &forms, const kernel_loops &loops);

/// Resolves a walk of a plan that is complete but for this.
void resolve(const plan &p, walk &w);

/// The buffers of one run. The order differs from dynquant::arguments on purpose: compilers copy adjacent pointers by
/// one vector load, which waits 4 ns because two 8-byte stores cannot be forwarded to it.
struct call {
    const void *src, *second_scales, *scales, *zero_points;
    void *dst;
    bool stream;
};

/// Rows [row_begin, row_end) by columns [column_begin, column_end) of a walk.
struct rectangle {
    std::int64_t row_begin, row_end, column_begin, column_end;
};

void compute(const plan &p, const walk &w, const call &c, const rectangle &r);

/// How a form is cut into grains, the smallest units of a task split: of `rows` by `columns` elements, `across` of them
/// to a row of grains. They are numbered along such rows. Numbers continue from form to form: this one's are [first,
/// end).
struct grains {
    std::int64_t rows, columns, all_rows, all_columns, across, first, end;

    grains(const canonical_form &form, std::int64_t of_rows, std::int64_t of_columns, std::int64_t from)
        : rows(of_rows)
        , columns(of_columns)
        , all_rows(form.rows())
        , all_columns(form.row.extent)
        , across(ceil_div(all_columns, columns))
        , first(from)
        , end(from + ceil_div(all_rows, rows) * across) {}
};

/// Calls body(rectangle) for a range of grains: the end of a row of grains, whole rows, and the beginning of another;
/// each may be empty.
template <typename Body>
void for_each_strip(const grains &g, parallel::range numbers, const Body &body) {
    const auto begin = std::max(numbers.begin, g.first) - g.first, end = std::min(numbers.end, g.end) - g.first;
    if (begin >= end) return;
    if (end - begin == g.end - g.first) return body(rectangle {0, g.all_rows, 0, g.all_columns});
    const auto first = begin / g.across, last = end / g.across;
    const auto column_begin = begin % g.across * g.columns, column_end = end % g.across * g.columns;
    const auto strip = [&](std::int64_t from, std::int64_t to, std::int64_t left, std::int64_t right) {
        body(rectangle {from * g.rows, std::min(to * g.rows, g.all_rows), left, right});
    };
    if (first == last) return strip(first, first + 1, column_begin, column_end);
    if (column_begin > 0) strip(first, first + 1, column_begin, g.all_columns);
    const auto whole = column_begin > 0 ? first + 1 : first;
    if (whole < last) strip(whole, last, 0, g.all_columns);
    if (column_end > 0) strip(last, last + 1, 0, column_end);
}

/// Whether the statement is one row under one parameter. Small calls then take compute_flat(), which needs no chunk.
bool is_flat(const plan &p);
void compute_flat(const plan &p, const call &c);
/// What computes a flat statement whose plain parameter is inside the guard, or null.
flat_microkernel flat_of(const plan &p);

/// The first of plain zero points.
inline std::int32_t plain_zero_point(data_type type, const void *zero_points) {
    if (type == data_type::u8) return *static_cast<const std::uint8_t *>(zero_points);
    if (type == data_type::s8) return *static_cast<const std::int8_t *>(zero_points);
    std::int32_t value = 0;
    std::memcpy(&value, zero_points, sizeof(value)); // may be unaligned
    return value;
}

void compute_transposed(const plan &p, const walk &w, const call &c, const rectangle &r);

/// `rows` times `count` parameters, from number `first` on.
struct parameter_grid {
    std::int64_t first, stride, count;   // of a row
    std::int64_t rows = 1, next_row = 0; // next_row: step from a row's first parameter to the next row's
    bool operator==(const parameter_grid &) const = default;
};
/// Loads fetched_parameters, or fetched_reals if the plan's family has real zero points. The columns need room for a
/// vector beyond the last parameter, as chunk_storage has.
void fetch(const plan &p, const call &c, const parameter_grid &from, const parameter_columns &to);

/// Room for `Capacity` prepared parameters, on the computing thread's stack.
template <std::int64_t Capacity>
struct alignas(64) chunk_storage {
    static constexpr std::int64_t size =
            Capacity + widest_step + 16; // + 16: arrays 4 KiB apart share first-level cache sets
    std::byte bytes[parameter_columns::count][size * 4];

    parameter_columns columns() { return {{bytes[0], bytes[1], bytes[2]}}; }
};

/// Prepared parameters of some rows, or of a chunk of columns.
class chunk {
  public:
    template <std::int64_t Capacity>
    chunk(const plan &of, const call &with, chunk_storage<Capacity> &in)
        : p(of)
        , c(with)
        , capacity_(Capacity)
        , columns_(in.columns()) {}

    /// Returns the column of the first row's first parameter; prepares the row unless it is. The other rows are those
    /// that the caller is likely to need next: they are prepared ahead, as far as there is room.
    std::int64_t prepare_ahead(const parameter_grid &wanted);
    /// Prepares all rows anew, from column 0 on. The caller makes sure that there is room.
    void prepare_all(const parameter_grid &wanted);
    /// Prepares a parameter for each of `width` columns of a walk, from parameter `first` on, at column 0.
    void prepare_columns(const walk &w, std::int64_t first, std::int64_t width);

    prepared_parameters at(std::int64_t column) const { return {columns_.from(column), p.constants}; }
    chunk_state state() const { return state_; }

    const plan &p;
    const call &c;

  private:
    void prepare(const parameter_grid &from);
    void pad(std::int64_t count);
    void extend(void *column, const walk &w, std::int64_t width);

    parameter_grid now_ = {0, 0, -1}; // the row that base_ belongs to
    std::int64_t base_ = 0, rows_left_ = 0, next_row_ = 0, width_ = 0;
    std::int64_t filled_ = 0; // initialized columns
    chunk_state state_ = chunk_state::any_parameters;
    std::int64_t capacity_;
    parameter_columns columns_;
};

/// Rows in src and dst, by offsets in elements: step from row to row, stride along a row.
struct placed_rows {
    std::int64_t rows, columns;
    std::int64_t src, src_step, src_stride;
    std::int64_t dst, dst_step, dst_stride;
};

/// Computes rows of a walk whose parameters begin at column `base` of a chunk.
void compute_placed_rows(const chunk &parameters, std::int64_t base, const walk &w, const call &c, const placed_rows &r,
        const parameter_access &g);

} // namespace dynquant::kernels::native
