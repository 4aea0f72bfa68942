// Products and convolutions in plain code: of bytes whose sums s32 does not hold, of very many terms or with zero
// points far from the bytes; and products of floats by narrow weights with zero points beyond their type.
#pragma once

#include <span>

#include "layers/conv/window.hpp"
#include "layers/gemm/weight_only/weight_only_product.hpp"
#include "layers/gemm/weights.hpp"

namespace dynquant::graph::core {

struct exact_product {
    const std::byte *x; // row-major
    bool x_is_signed;
    std::int64_t rows, inner;
    std::span<const std::int32_t> x_zero_points; // none, one, or one for each row
    layers::constant_weights w;
    bool w_is_signed;
    std::int64_t columns;
    std::span<const std::int32_t> w_zero_points; // none, one, or one for each column
};

/// y: row-major. Each element is the exact sum of (x - zero point) (w - zero point), rounded once.
void multiply_exactly(const exact_product &p, float *y);

struct exact_convolution {
    const std::byte *x;
    bool x_is_signed, x_is_channels_last;
    std::int64_t images, channels, groups;
    layers::window window;
    std::span<const std::int32_t> x_zero_points; // none, one, or one for each image
    layers::constant_weights w;
    bool w_is_signed;
    std::int64_t filters;
    std::span<const std::int32_t> w_zero_points; // none, one, or one for each filter
};

/// y: channels last. As multiply_exactly(); padding adds nothing.
void convolve_exactly(const exact_convolution &c, float *y);

/// Computes what weight_only_product defines, for weights with any zero points: a difference is rounded to f32. x:
/// row-major.
void multiply_plainly(const layers::weight_only_weights &w, const float *x, std::int64_t rows, float *y);

} // namespace dynquant::graph::core
