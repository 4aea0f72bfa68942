// How the x of layers comes by its scale and its zero point.
#pragma once

#include "onnxruntime/provider/compiled.hpp"

namespace dynquant::onnxruntime {

/// Prepares a statement by this library's own kernels, for layers::layer_description.
operation prepare(const quantization &q);

/// Where a run finds the scale and the zero point of an x that comes as bytes.
class x_parameters {
  public:
    x_parameters(const compile_arguments &a, const layers::match::layer_match &m);

    // Throw error for more than one element. 1 and 0 where the layer has no such parameter, or knows it.
    float scale(const OrtKernelContext &context) const;
    std::int32_t zero_point(const OrtKernelContext &context) const;

  private:
    const void *data(const OrtKernelContext &context, std::size_t index) const;

    const OrtApi &api_;
    std::string label_;
    bool is_signed_;
    std::size_t scale_input_, zero_point_input_; // none: known, or no input
    float scale_ = 1;
};

} // namespace dynquant::onnxruntime
