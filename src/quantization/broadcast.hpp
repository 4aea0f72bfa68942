// Tensors repeat as numpy's broadcasting defines it, and elements lie where their strides say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dynquant/quantization.hpp"

namespace dynquant {

/// The shape that both are broadcast to, or nothing where they do not fit together.
std::optional<dims> broadcast_shape(const dims &a, const dims &b);

/// The strides of a tensor that is broadcast to a shape: 0 along dimensions in which it repeats. Without strides it is
/// dense. Precondition: it has no more dimensions than `to`.
dims broadcast_strides(const dims &shape, const dims &to);
dims broadcast_strides(const dims &shape, dims strides, const dims &to);

/// The offset of an element by its row-major index in a shape. Strides of more dimensions than the shape has are not
/// read.
std::int64_t offset_of(std::int64_t index, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

/// Copies elements of some bytes that lie at strides to a dense tensor of a shape.
void copy_strided(const std::byte *from, std::span<const std::int64_t> strides, const dims &shape, std::size_t bytes,
        std::byte *to);

} // namespace dynquant
