// What a layer whose weights alone are quantized costs here and in ONNX Runtime, from its extents: it is left to ONNX
// Runtime where it costs less there.
#pragma once

#include <array>
#include <cstdint>

#include "dynquant/quantization.hpp"
#include "targets/features.hpp"

namespace dynquant::onnxruntime {

/// A convolution has its filters as columns, its channels as inner and its positions as rows.
struct weight_only_extents {
    bool is_convolution = false;
    std::int64_t rows = 0, inner = 0, columns = 0;
    std::int64_t block = 0; // of rows of weights that share a scale; 0: all of a column
    data_type weights = data_type::s8;
    /// Adjacent weights have scales of their own, or those of adjacent blocks.
    bool scales_are_along_rows = false;
    /// A convolution has several taps, groups, strides or pads, and copies what its windows meet. inner and columns
    /// are those of a group.
    bool has_windows = false;
    std::int64_t groups = 1;
    std::int64_t taps = 1, taps_of_line = 1; // along the last dimension
};

/// In the order of the constants in weight_only_cost.cpp, which says what they are.
using weight_only_counts = std::array<double, 8>;
struct counts_on_both_sides {
    weight_only_counts here, in_ort;
};
counts_on_both_sides counts_of(const weight_only_extents &e, targets::features available);

bool costs_less_in_ort(const weight_only_extents &e, targets::features available);

} // namespace dynquant::onnxruntime
