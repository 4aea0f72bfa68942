// One side of a layer's product: which of its parameters each row or image of x, or column of w has, and how far its
// bytes lie from their zero points.
#pragma once

#include <span>

#include "graph/op_record.hpp"

namespace dynquant::graph::core {

/// Scales and zero points of one side of a product, in the order in which layers take them.
struct side_parameters {
    /// q: the statement of the side's Dequantize; walked: the dims of its src that the parameters are listed along, the
    /// outer one first; blocked: those of them that are walked block by block.
    side_parameters(const quantization &q, const std::vector<size_t> &walked, const std::vector<size_t> &blocked = {});

    bool are_one;                          // the same for all
    std::vector<std::int64_t> indices;     // where they are given
    bool are_in_order = false;             // indices are 0, 1, 2, ...
    std::vector<float> scales;             // known ones, as `indices` order them; empty: given at the run
    std::vector<std::int32_t> zero_points; // likewise
    bool has_zero_points = false;

    size_t count() const { return indices.size(); }
};

/// The largest |v - zero point| of a byte v. No zero points: all are 0.
std::int64_t largest_difference(bool is_signed, std::span<const std::int32_t> zero_points);

/// Whether s32 holds each sum of `inner` products of differences of at most these magnitudes.
bool fits_s32(std::int64_t inner, std::int64_t largest_x, std::int64_t largest_w);

} // namespace dynquant::graph::core
