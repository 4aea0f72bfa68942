#include "onnxruntime/provider/x_parameters.hpp"

#include <cstring>

#include "kernels/kernels.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

/// None where the layer quantizes x, has no such value, or knows it.
std::size_t input_for(const compile_arguments &a, const layers::match::layer_match &m, std::size_t value) {
    const bool comes_with_runs = m.quantize == none && value != none && !a.g.values[value].known;
    return comes_with_runs ? index_of(a.g, value, a.inputs) : none;
}

} // namespace

operation prepare(const quantization &q) {
    return kernels::prepare(q, {}, kernels::own_kernels());
}

x_parameters::x_parameters(const compile_arguments &a, const layers::match::layer_match &m)
    : api_(a.api)
    , label_(label(a.g, a.g.nodes[m.product]))
    , is_signed_(a.g.input(a.g.nodes[m.product], 0).type == data_type::s8)
    , scale_input_(input_for(a, m, m.x_scale))
    , zero_point_input_(input_for(a, m, m.x_zero_point)) {
    if (m.x_scale == none || m.quantize != none) return;
    if (const auto &known = a.g.values[m.x_scale].known) std::memcpy(&scale_, known->data, sizeof scale_);
}

float x_parameters::scale(const OrtKernelContext &context) const {
    return scale_input_ == none ? scale_ : *static_cast<const float *>(data(context, scale_input_));
}

std::int32_t x_parameters::zero_point(const OrtKernelContext &context) const {
    return zero_point_input_ == none ? 0 : byte_at(data(context, zero_point_input_), is_signed_);
}

/// ONNX Runtime does not tell a scalar from a tensor of unknown rank.
const void *x_parameters::data(const OrtKernelContext &context, std::size_t index) const {
    const auto &tensor = *input_of(api_, context, index);
    const dims shape(shape_of(api_, tensor));
    if (volume(shape) != 1)
        throw error(status::invalid_shape,
                concat(label_, ": expected one scale and one zero point of x, given shape ", to_string(shape)));
    return data_of(api_, tensor);
}

} // namespace dynquant::onnxruntime
