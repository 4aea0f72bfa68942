// The canonical form: a statement's tensors as rows, with how parameters walk beside the elements. It is
// all that the native kernel sees of shapes.
//
// Plain arrays, no library types: code compiled for one instruction set reads it, and an inline function of
// the library compiled there could end up in the whole program.
#pragma once

#include <cstdint>

#include "dynquant/quantization.hpp"

namespace dynquant {

/// A dimension, with the distance between neighbours along it in elements of each buffer.
struct axis {
    std::int64_t extent, src_stride, dst_stride, parameter_stride;

    bool operator==(const axis &) const = default;
};

/// loops[0] is the outermost; the row is innermost. The usual rows:
///   strides 1, 1, 0: a dense run under one parameter        (per_tensor, per_channel with inner > 1)
///   strides 1, 1, 1: a dense run, the parameters alongside  (per_channel with inner == 1)
/// Anything else is a strided row.
struct canonical_form {
    static constexpr int max_loops = 2 * max_rank; // a block splits a dim in two

    int loop_count = 0;
    axis loops[max_loops] = {};
    axis row = {1, 1, 1, 0};

    std::int64_t rows() const {
        std::int64_t product = 1;
        for (int i = 0; i < loop_count; ++i)
            product *= loops[i].extent;
        return product;
    }
};

/// Splits dims by their blocks, drops extents of 1, orders by dst's strides, so that writes are sequential,
/// and merges neighbours that all buffers walk alike. Nothing when a block does not divide its dim.
std::optional<canonical_form> canonicalize(const quantization &q);

} // namespace dynquant
