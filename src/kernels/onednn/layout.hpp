// A statement's tensors as oneDNN memory descriptors state them.
#pragma once

#include <vector>

#include "quantization/canonical.hpp"

namespace dynquant::kernels::onednn {

/// The axes of the canonical form, the row last. Never empty: oneDNN has no rank 0.
std::vector<axis> axes_of(const canonical_form &form);

/// The axes along which the parameters change, a bit for each: the mask of oneDNN's attributes.
int parameter_mask(const std::vector<axis> &axes);

} // namespace dynquant::kernels::onednn
