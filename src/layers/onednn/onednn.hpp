// What the layers compute by oneDNN. A build without it has without_onednn.cpp in place of this folder's.
#pragma once

#include "layers/integer_convolution.hpp"
#include "layers/product_slice.hpp"

namespace dynquant::layers {

/// Whether oneDNN's sums of u8 or s8 times s8 are exact here while they stay within exact_sum: only with VNNI or AMX.
/// Without, oneDNN adds pairs of products in 16 bits, which saturate, and halves weights beside s8.
bool int8_is_exact();

/// By oneDNN, which must be exact for these weights; nothing when it has no such product.
std::unique_ptr<const product_slice> onednn_slice(const product_slice::problem &p, const std::int8_t *w);

/// By oneDNN's convolution, or nothing where that is not exact or there is none.
std::unique_ptr<const integer_sums> direct_convolution(const integer_convolution &p, const std::int8_t *w);

} // namespace dynquant::layers
