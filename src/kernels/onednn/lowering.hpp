// Lowers a statement to a oneDNN reorder, its tensors as dims of memory descriptors.
#pragma once

#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "quantization/canonical.hpp"

namespace dynquant::kernels::onednn {

/// The axes of the canonical form, the row last. Never empty: oneDNN has no rank 0.
std::vector<axis> axes_of(const canonical_form &form);

/// The mask of oneDNN's attributes: a bit for each axis along which the parameters change.
int parameter_mask(const std::vector<axis> &axes);

/// The reorder that computes q, which refusal() accepts, in its only canonical form.
dnnl::reorder::primitive_desc lower(const quantization &q, const canonical_form &form, const dnnl::engine &engine);

/// The argument whose attributes are the scales and zero points: the quantized tensor.
inline int parameter_argument(const quantization &q) {
    return q.dir == direction::quantize ? DNNL_ARG_DST : DNNL_ARG_SRC;
}

} // namespace dynquant::kernels::onednn
