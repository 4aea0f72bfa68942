// src/layers: the integer arithmetic of quantized models. A layer is an int8 product or convolution with exact s32
// sums; then these are rescaled to 8 bits (layer_rescale) or become floats that pass some operators (steps/). May
// include: dynquant's public headers, parallel, quantization, and of layers/onednn only onednn.hpp. isa/ has the loops
// of products, depthwise/ those of depthwise convolutions, lookup/ tables of 256 bytes, onednn/ all calls of oneDNN.
// Models on disk (models/model) use integer_product and make_convolution(), which prefer oneDNN; layer.hpp uses
// pack_convolution(), which needs none and packs weights for all shapes. Start here, then integer_convolution.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "parallel/parallel.hpp"

namespace dynquant::layers {

/// Computes the s32 sums of x times weights less their zero points, channels last. The zero point of x is not
/// subtracted: the caller adds zero_point_bias(), of zero_points.hpp. Immutable.
class integer_sums {
  public:
    integer_sums() = default;
    integer_sums(const integer_sums &) = delete;
    integer_sums &operator=(const integer_sums &) = delete;
    virtual ~integer_sums() = default;

    /// For each channel the sum of its weights less their zero points, modulo 2^32.
    virtual const std::vector<std::int32_t> &weight_sums() const = 0;
    virtual std::size_t scratch_bytes() const = 0;
    /// Pads x with its zero point. Thread-safe; each call needs its own y and scratch.
    virtual void run(const void *x, std::int32_t x_zero_point, std::int32_t *y, std::byte *scratch) const = 0;
};

/// Sums that come block by block, while they are in the second-level cache.
class block_sums : public integer_sums {
  public:
    /// Takes the sums of some positions, numbered through all images.
    using block_consumer = std::function<void(parallel::range positions, const std::int32_t *sums)>;
    /// Calls the consumer for each block of positions, from several threads. Pads x with its zero point. Thread-safe.
    virtual void run_blocks(const void *x, std::int32_t x_zero_point, const block_consumer &consume) const = 0;
};

} // namespace dynquant::layers
