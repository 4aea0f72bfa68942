// Lowers a statement to a oneDNN reorder.
#pragma once

#include "oneapi/dnnl/dnnl.hpp"
#include "quantization/canonical.hpp"

namespace dynquant::kernels::onednn {

/// The reorder that computes q, which refusal() accepts, in its only canonical form.
dnnl::reorder::primitive_desc lower(const quantization &q, const canonical_form &form, const dnnl::engine &engine);

/// The argument whose attributes are the scales and zero points: the quantized tensor.
inline int parameter_argument(const quantization &q) {
    return q.dir == direction::quantize ? DNNL_ARG_DST : DNNL_ARG_SRC;
}

} // namespace dynquant::kernels::onednn
