// A statement, lowered.
#pragma once

#include "dynquant/quantization.hpp"
#include "oneapi/dnnl/dnnl.hpp"

namespace dynquant::kernels::onednn {

/// The reorder that computes q, which refusal() accepts and whose volume is not zero.
dnnl::reorder::primitive_desc lower(const quantization &q, const dnnl::engine &engine);

/// The attribute argument that scales and zero points belong to: what is integer.
inline int parameter_argument(const quantization &q) {
    return q.dir == direction::quantize ? DNNL_ARG_DST : DNNL_ARG_SRC;
}

} // namespace dynquant::kernels::onednn
