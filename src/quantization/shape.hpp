// Arithmetic on extents and strides, shared by checks and kernels.
#pragma once

#include <cstdint>
#include <optional>

#include "dynquant/quantization.hpp"
#include "elements/ceil_div.hpp"

namespace dynquant {

/// The number of elements, or nothing when it does not fit in 63 bits. Extents are not negative.
std::optional<std::int64_t> volume(const dims &extents);

/// Whether there is a shape, all of whose extents are known: none is negative.
bool is_known(const std::optional<dims> &shape);

/// Dense row-major strides.
dims row_major(const dims &extents);

/// t.strides, or row-major ones when t leaves them out.
dims strides_of(const tensor &t);

/// The number of parameters along each dimension.
dims parameter_dims(const dims &extents, const dims &block);

/// The distance in elements from the first to the last element, or nothing when it does not fit in 63
/// bits. Strides are not negative and the volume is not zero.
std::optional<std::int64_t> last_offset(const dims &extents, const dims &strides);

/// Whether two elements share an offset; dims of 1 do not count. Exact, except that intricate layouts, for which the
/// search for a collision gives up, count as overlapping.
bool overlaps(const dims &extents, const dims &strides);

} // namespace dynquant
