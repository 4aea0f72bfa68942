// A statement as the driver computes it, decided once at prepare.
#pragma once

#include <vector>

#include "kernels/native/microkernel.hpp"
#include "quantization/canonical.hpp"

namespace dynquant::kernels::native {

/// A canonical form as the driver walks it: short rows joined to long ones where they are dense.
struct walk {
    enum class order {
        rows,       // a parameter for each row
        columns,    // parameters along the row
        transposed, // src is dense along the innermost loop, dst along the row
    };
    enum class form { rows, cols, runs, segs1, segs2, segs4 };

    order how = order::rows;
    form by = form::rows;
    canonical_form axes;
    std::int64_t repeat = 1;                         // neighbouring columns that share a parameter
    std::int64_t period = 0;                         // columns after which the parameters repeat; 0: never
    std::int64_t panel = 0;                          // columns that are prepared at once
    bool expands = false;                            // parameters become columns
    std::int64_t grain_rows = 1, grain_columns = 64; // of what threads share out
    std::vector<std::int32_t> index, first;          // the pattern, where there is one
};

/// Between memory and what the formulas read and write.
struct staging {
    data_type src, dst;
    read_function read, round; // null: formulas read src itself; nothing is rounded
    write_function write;      // null: formulas write dst itself
};

struct plan {
    const instruction_set *set;
    const family *formulas;
    staging memory, transposed_memory; // transposed_memory: of src that has been transposed as bytes
    data_type scales, zero_points;
    precision division;
    bool has_zero_points;
    float bound;              // of quotients, for the preparation of floats
    float no_zero;            // what stands for no zero point, by its bits
    bool is_f32_zero;         // zero points of floats
    int src_bytes, dst_bytes; // of what the formulas read and write
    bool writes_codes;        // of floats of 8 bits
    float8_format format;
    std::vector<walk> walks;
};

plan plan_of(const quantization &q, const instruction_set &set);

/// One call: the buffers of a run. Not in the order of dynquant::arguments: compilers copy neighbours as a vector,
/// whose load then waits for the two stores of 8 bytes that wrote them (no store forwarding): 4 ns.
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

/// Whether all elements are one dense row by one parameter, as the formulas read and write it: what small calls are
/// about.
bool is_flat(const plan &p);
void compute_flat(const plan &p, const call &c);

void compute_transposed(const plan &p, const walk &w, const call &c, const rectangle &r);

/// Scales and zero points of `rows` times `count` parameters as f32 and as bits, from number `first` on. To arrays that
/// have room for a vector beyond the last, as those of panel_storage have.
struct parameter_block {
    std::int64_t first, stride, count;
    std::int64_t rows = 1, next_row = 0; // to the next row's first
    bool operator==(const parameter_block &) const = default;
};
void fetch(const plan &p, const call &c, const parameter_block &from, float *scale, float *reciprocal, float *zero);

/// Room for `Capacity` prepared parameters, on the stack of the thread that computes.
template <std::int64_t Capacity>
struct alignas(64) panel_storage {
    static constexpr std::int64_t size =
            Capacity + widest_block + 16; // columns 4 KiB apart share sets of the first-level cache
    float scale[size], reciprocal[size], zero[size];
};

/// Prepared parameters of a block of rows or a panel of columns.
class panel {
  public:
    template <std::int64_t Capacity>
    panel(const plan &of, const call &with, panel_storage<Capacity> &in)
        : p(of)
        , c(with)
        , capacity_(Capacity)
        , scale_(in.scale)
        , reciprocal_(in.reciprocal)
        , zero_(in.zero) {}

    /// The column of the first of `count` parameters; `more` blocks of them, a `step` apart, are probably asked
    /// for next, and are prepared with it where there is room. Only the block at the result is promised.
    std::int64_t find(
            std::int64_t first, std::int64_t stride, std::int64_t count, std::int64_t more, std::int64_t step);
    /// The same, and that all `more` blocks lie behind it.
    std::int64_t find_all(
            std::int64_t first, std::int64_t stride, std::int64_t count, std::int64_t more, std::int64_t step);
    /// A column for each of `width` columns of a walk, from parameter `first` on.
    void find_columns(const walk &w, std::int64_t first, std::int64_t width);

    columns at(std::int64_t column) const { return {scale_ + column, reciprocal_ + column, zero_ + column, bound_}; }
    preparation state() const { return state_; }

    const plan &p;
    const call &c;

  private:
    void prepare(const parameter_block &from);
    void pad(std::int64_t count);
    void extend(float *column, const walk &w, std::int64_t width);

    parameter_block now_ = {0, 0, -1};
    std::int64_t base_ = 0, blocks_left_ = 0, step_ = 0, width_ = 0;
    std::int64_t filled_ = 0; // columns that have been written
    preparation state_ = preparation::general;
    float bound_ = 0;
    std::int64_t capacity_;
    float *scale_, *reciprocal_, *zero_;
};

/// The formulas of a panel. `elements` are computed by its first scale, which may have a formula of its own; 0: not
/// asked.
const microkernels &formulas_of(const family &f, preparation state, float scale, std::int64_t elements);

/// Where a block lies: elements of src and dst, from row to row and along a row.
struct placed_block {
    std::int64_t rows, columns;
    std::int64_t src, src_step, src_stride;
    std::int64_t dst, dst_step, dst_stride;
};

/// Computes a block whose parameters begin with column `base` of a panel.
void compute_block(const panel &parameters, std::int64_t base, const staging &memory, const call &c,
        const placed_block &b, walk::form by, const guide &g);

} // namespace dynquant::kernels::native
