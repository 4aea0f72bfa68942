// Granularity: which elements of x share a scale.
#pragma once

#include "onnx/check.hpp"

namespace dynquant::onnx {

/// The block of the scales and zero points, from their shapes and the attributes. Throws error for shapes that do not
/// fit together. Not where they are computed.
dims block_of(const checked_node &n);

/// The block of computed scales and zero points, and their shape, from the shape of x and the attributes.
struct granularity {
    dims block, scales;
};
granularity computed_granularity(const checked_node &n);

/// Throws error unless the shape of an input or output has extents and a volume that a tensor can have.
void check_shape(const checked_node &n, input position, const dims &shape);

} // namespace dynquant::onnx
