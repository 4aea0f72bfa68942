// Iterates over the rows of a canonical form, with the row's offset in every buffer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quantization/canonical.hpp"

namespace dynquant::kernels::native {
namespace {

/// The position of a row: one index for each loop, the innermost first to advance.
class row_walker {
  public:
    row_walker(const canonical_form &form, std::int64_t row)
        : src(form.begin.src)
        , dst(form.begin.dst)
        , parameter(form.begin.parameter)
        , form_(form) {
        for (int d = form.loop_count; d-- > 0;) {
            index_[d] = row % form.loops[d].extent;
            row /= form.loops[d].extent;
            move(form.loops[d], index_[d]);
        }
    }

    /// How many rows of the innermost loop are left, at most `count`.
    std::int64_t rows_left(std::int64_t count) const {
        if (form_.loop_count == 0) return count;
        return std::min(form_.loops[form_.loop_count - 1].extent - index_[form_.loop_count - 1], count);
    }

    /// How many iterations of the next outer loop are left, the current one included. 1 if the innermost loop has
    /// begun.
    std::int64_t loops_left() const {
        const auto next = form_.loop_count - 2;
        return next < 0 || index_[next + 1] > 0 ? 1 : form_.loops[next].extent - index_[next];
    }

    /// How many rows from here on begin at consecutive elements of src, at most `count`. dst and parameters may change
    /// in any way.
    std::int64_t contiguous_src_rows(std::int64_t count) const {
        std::int64_t left = 1, extent = 1;
        for (int d = form_.loop_count; d-- > 0 && form_.loops[d].src_stride == extent;) {
            left += (form_.loops[d].extent - 1 - index_[d]) * extent;
            extent *= form_.loops[d].extent;
        }
        return std::min(left, count);
    }

    /// Advances by `count` rows, at most to the end of the innermost loop.
    void advance(std::int64_t count) {
        for (int d = form_.loop_count; d-- > 0; count = 1) {
            const axis &loop = form_.loops[d];
            move(loop, count);
            index_[d] += count;
            if (index_[d] < loop.extent) return;
            move(loop, -loop.extent);
            index_[d] = 0;
        }
    }

    std::int64_t src, dst, parameter;

  private:
    void move(const axis &loop, std::int64_t steps) {
        src += steps * loop.src_stride;
        dst += steps * loop.dst_stride;
        parameter += steps * loop.parameter_stride;
    }

    const canonical_form &form_;
    std::int64_t index_[canonical_form::max_loops];
};

/// The innermost loop around the rows: its strides are those from row to row.
inline axis innermost_loop(const canonical_form &form) {
    return form.loop_count > 0 ? form.loops[form.loop_count - 1] : axis {1, 0, 0, 0};
}

/// The loop around innermost_loop().
inline axis next_loop(const canonical_form &form) {
    return form.loop_count > 1 ? form.loops[form.loop_count - 2] : axis {1, 0, 0, 0};
}

} // namespace
} // namespace dynquant::kernels::native
