// src/layers/onednn: the products and convolutions that oneDNN computes, with weights in its preferred layout.
// May include: what src/layers may, and oneDNN's C++ API. This header has no type of oneDNN; the rest of src/layers
// includes it and no other header of this folder. A build without oneDNN compiles without_onednn.cpp instead.
// Start here, then int8_primitive.hpp, which both sources build on.
#pragma once

#include "layers/integer_convolution.hpp"
#include "layers/product_slice.hpp"

namespace dynquant::layers {

/// Whether oneDNN's sums of u8 or s8 times s8 are exact within max_exact_sum: on processors with VNNI or AMX. On others
/// oneDNN adds pairs of products in 16 bits, which saturate, and halves the weights of s8 sources.
bool int8_is_exact();

/// A product by oneDNN. Null where oneDNN does not implement it. Precondition: int8_is_exact(), w within max_exact_sum.
std::unique_ptr<const product_slice> make_onednn_slice(const product_slice::problem &p, const std::int8_t *w);

/// A convolution by oneDNN. Null where that is not exact or not implemented.
std::unique_ptr<const integer_sums> make_direct_convolution(const integer_convolution &p, const std::int8_t *w);

} // namespace dynquant::layers
