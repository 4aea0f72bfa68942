// src/layers: the integer arithmetic of pre-quantized models. A layer is an int8 product or convolution with exact s32
// sums (integer_product, integer_convolution), then the rescaling of these sums to 8 bits (layer_rescale).
// May include: dynquant's public headers, parallel, quantization, and of layers/onednn only onednn.hpp.
// isa/ has the inner loops, lookup/ tables of 256 bytes, onednn/ all calls of oneDNN.
// Start here, then integer_product.hpp. models/model builds layers from the nodes of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynquant::layers {

/// Computes the s32 sums of a layer, channels last, without the bias. Immutable.
class integer_sums {
  public:
    integer_sums() = default;
    integer_sums(const integer_sums &) = delete;
    integer_sums &operator=(const integer_sums &) = delete;
    virtual ~integer_sums() = default;

    /// The term of each channel that run() omits. The caller adds it to the sums, wrapping. Empty: all zeros.
    virtual const std::vector<std::int32_t> &bias() const = 0;
    virtual std::size_t scratch_bytes() const = 0;
    /// Thread-safe; each call needs its own y and scratch.
    virtual void run(const void *x, std::int32_t *y, std::byte *scratch) const = 0;
};

} // namespace dynquant::layers
