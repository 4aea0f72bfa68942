// What quantizes the x of layers: one statement, or one that several layers share.
#pragma once

#include "dynquant/quantization.hpp"
#include "layers/conv/accumulator_source.hpp"

namespace dynquant::layers {

/// Prepares a statement. Given, so that a library that has other kernels is not linked with these.
using prepare_function = operation (*)(const quantization &);

/// Quantizes f32 to u8 by the rule of ONNX's DynamicQuantizeLinear, in `rows` equal parts of x, each with a scale and a
/// zero point of its own.
class x_quantizer {
  public:
    /// strides: of the bytes; x_strides: of x. Empty: row-major.
    x_quantizer(prepare_function prepare, const dims &x, std::int64_t rows, const dims &strides,
            const dims &x_strides = {});

    std::int64_t rows() const { return rows_; }

    /// Allocates only while the memory grows.
    void run(const void *x, quantized_x &to) const;

  private:
    operation quantize_;
    std::int64_t elements_, rows_;
};

} // namespace dynquant::layers
