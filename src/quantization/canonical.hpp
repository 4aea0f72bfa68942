// src/quantization: checks of statements (check.cpp), formulas of single elements (numerics.hpp), shapes, names and
// environment variables. May include: dynquant's public headers, elements and targets. Start with
// dynquant/quantization.hpp, then this file.
//
// The canonical form: a statement's tensors as nested loops over rows, with strides of src, dst and parameters. The
// native kernel knows no other shapes. Forms are plain arrays without library types, as files compiled for one
// instruction set read them: an inline function of the standard library compiled there could be linked into the whole
// program.
#pragma once

#include <cstdint>
#include <vector>

#include "dynquant/quantization.hpp"

namespace dynquant {

/// A dimension, with its stride in elements of each buffer.
struct axis {
    std::int64_t extent, src_stride, dst_stride, parameter_stride;

    bool operator==(const axis &) const = default;
};

/// Distances from the beginning of each buffer, in its elements.
struct offsets {
    std::int64_t src = 0, dst = 0, parameter = 0;

    bool operator==(const offsets &) const = default;
};

/// loops[0] is the outermost; the row is innermost. The usual rows:
///   strides 1, 1, 0: a dense run under one parameter        (per_tensor, per_channel with inner > 1)
///   strides 1, 1, 1: a dense run, a parameter per element   (per_channel with inner == 1)
/// Anything else is a strided row.
struct canonical_form {
    static constexpr int max_loops = 2 * max_rank; // a block splits a dim in two

    offsets begin = {}; // of the first element
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

/// Splits dims by their blocks, drops extents of 1, orders by dst's strides, so that writes are sequential, and merges
/// axes that are contiguous in all buffers. Returns one form; each dim whose extent is no multiple of its block doubles
/// their number (whole blocks, and the short last one).
std::vector<canonical_form> canonicalize(const quantization &q);

} // namespace dynquant
