// How a tensor whose scales are computed is cut into boxes of whole blocks.
#pragma once

#include <numeric>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::native {

/// The parameters of a box are consecutive: in front of the dim that is cut, a box has one block; behind it, the whole
/// tensor. A box has at most box_capacity parameters (box_parameters.hpp).
struct tiling {
    dims extents;        // of a box; the last one along a dim may be shorter
    bool shared = false; // all threads compute one box after the other, not a box each
};

/// The fewest elements of a type that fill whole bytes: 2 of 4 bits, 4 of 6.
constexpr std::int64_t elements_of_whole_bytes(int bits) {
    return 8 / std::gcd(8, bits);
}

/// A multiple of 4 or 2 if possible, so that boxes of 4-bit and 6-bit elements begin with a byte.
std::int64_t evened(std::int64_t blocks);

/// Precondition: no extent of a block is beyond the tensor's, and the volume is not 0.
tiling cut(const quantization &q);

/// The places where boxes may begin among elements_of_whole_bytes(): the multiples of this number.
std::int64_t step_of_beginnings(const quantization &q, const dims &box);

/// Whether two boxes may write to one byte of dst or of the zero points.
bool share_bytes(const quantization &q, const dims &box);

} // namespace dynquant::kernels::native
