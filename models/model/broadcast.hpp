// Tensors repeat as numpy's broadcasting defines it.
#pragma once

#include "model/graph.hpp"

namespace dynquant::models {

/// The shape that both are broadcast to, or nothing where they do not fit together.
std::optional<dims> broadcast_shape(const dims &a, const dims &b);

/// The strides of a dense tensor that is broadcast to a shape: 0 along dimensions in which it repeats. Precondition: it
/// has no more dimensions than `to`.
dims broadcast_strides(const dims &shape, const dims &to);

/// The offset of an element by its row-major index in a shape.
std::int64_t offset_of(std::int64_t index, const dims &shape, const dims &strides);

} // namespace dynquant::models
