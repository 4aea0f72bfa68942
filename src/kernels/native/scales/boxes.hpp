// How a tensor whose scales are computed is cut into boxes of whole blocks.
#pragma once

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::native {

/// The parameters of a box are consecutive: in front of the dim that is cut, a box has one block; behind it, the whole
/// tensor. A box has at most box_capacity parameters (box_parameters.hpp).
struct tiling {
    dims extents;        // of a box; the last one along a dim may be shorter
    bool shared = false; // all threads compute one box after the other, not a box each
};

/// Precondition: no extent of a block is beyond the tensor's, and the volume is not 0.
tiling cut(const quantization &q);

/// Whether elements of two boxes may share a byte of dst. Precondition: begins_bytes().
bool share_bytes(const quantization &q, const dims &box);

/// Whether each box begins with a byte of dst and of the zero points.
bool begins_bytes(const quantization &q, const dims &box);

} // namespace dynquant::kernels::native
