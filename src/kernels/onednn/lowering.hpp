// Lowers a statement to a oneDNN reorder.
#pragma once

#include "dynquant/quantization.hpp"
#include "oneapi/dnnl/dnnl.hpp"

namespace dynquant::kernels::onednn {

/// The reorder that computes q, which refusal() accepts and whose volume is not zero.
dnnl::reorder::primitive_desc lower(const quantization &q, const dnnl::engine &engine);

/// The argument whose attributes are the scales and zero points: the quantized tensor.
inline int parameter_argument(const quantization &q) {
    return q.dir == direction::quantize ? DNNL_ARG_DST : DNNL_ARG_SRC;
}

} // namespace dynquant::kernels::onednn
