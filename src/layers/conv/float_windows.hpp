// What the windows of a convolution of floats meet, as the rows of a product: im2col.
#pragma once

#include "layers/conv/window.hpp"

namespace dynquant::layers {

/// Fills a row-major matrix whose columns are the positions [first, first + count) of y, and whose rows are the
/// channels of x, of each the taps in their order: the elements of x that taps meet, and 0 in the padding. x: of the
/// first channel. On several threads.
void gather_windows(
        const window &w, const float *x, std::int64_t channels, std::int64_t first, std::int64_t count, float *to);

} // namespace dynquant::layers
