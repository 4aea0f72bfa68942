// A statement's tensors as dims of oneDNN memory descriptors.
#pragma once

#include <vector>

#include "quantization/canonical.hpp"

namespace dynquant::kernels::onednn {

/// The axes of the canonical form, the row last. Never empty: oneDNN has no rank 0.
std::vector<axis> axes_of(const canonical_form &form);

/// The mask of oneDNN's attributes: a bit for each axis along which the parameters change.
int parameter_mask(const std::vector<axis> &axes);

} // namespace dynquant::kernels::onednn
