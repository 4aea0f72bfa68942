// The sums of models on disk: those that oneDNN computes exactly come through memory, as a whole.
#pragma once

#include "layers/integer_convolution.hpp"

namespace dynquant::layers {

/// As pack_convolution(), but a product is an integer_product, and a convolution one of oneDNN where that is exact.
packed_convolution pack_with_onednn(const integer_convolution &p, const std::int8_t *w);

} // namespace dynquant::layers
