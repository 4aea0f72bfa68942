#include "onnxruntime_ep/compiled_layer.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/kernels.hpp"
#include "layers/match/describe.hpp"
#include "onnxruntime/tensor.hpp"
#include "onnxruntime/threads.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime_ep {

using layers::match::layer_match;

namespace {

layers::layer_problem problem_of(const graph &g, const layer_match &m) {
    auto d = describe(g, m);
    if (m.quantize != none)
        d.prepare = [](const quantization &q) { return kernels::prepare(q, {}, kernels::own_kernels()); };
    return {std::move(d), g.input(g.nodes[m.product], 1).known->data};
}

} // namespace

compiled_layer::compiled_layer(
        const OrtApi &api, const graph &g, const layer_match &m, const std::vector<std::string> &inputs, int threads)
    : api_(api)
    , threads_(threads)
    , problem_(problem_of(g, m)) {
    const auto input_index = [&](std::size_t v) {
        const auto found = std::ranges::find(inputs, g.values[v].name);
        if (found == inputs.end())
            throw error(dnnl_runtime_error,
                    concat(problem_.description().label, ": expected '", g.values[v].name,
                            "' among the inputs of the fused node"));
        return static_cast<std::size_t>(found - inputs.begin());
    };
    x_input_ = input_index(m.x);
    if (const auto &d = problem_.description(); !d.prepare) {
        if (!d.x_zero_point) x_zero_point_input_ = input_index(m.x_zero_point);
        if (m.x_scale != none) {
            if (const auto &known = g.values[m.x_scale].known)
                std::memcpy(&x_scale_, known->data, sizeof x_scale_);
            else
                x_scale_input_ = input_index(m.x_scale);
        }
    }
    const auto &shape = g.values[m.x].shape;
    if (shape && std::ranges::all_of(*shape, [](std::int64_t extent) { return extent >= 0; })) add_layer(*shape);
}

std::shared_ptr<const layers::layer> compiled_layer::add_layer(const dims &x) {
    auto added = std::make_shared<const layers::layer>(problem_, x);
    layers_.add(added);
    return added;
}

std::int32_t compiled_layer::read_x_zero_point(const OrtKernelContext &context) const {
    if (x_zero_point_input_ == none) return 0;
    return onnxruntime::byte_at(scalar_data(context, x_zero_point_input_), problem_.description().x_is_signed);
}

float compiled_layer::read_x_scale(const OrtKernelContext &context) const {
    if (x_scale_input_ == none) return x_scale_;
    return *static_cast<const float *>(scalar_data(context, x_scale_input_));
}

/// ONNX Runtime does not tell a scalar from a tensor of unknown rank.
const void *compiled_layer::scalar_data(const OrtKernelContext &context, std::size_t index) const {
    const auto &tensor = *onnxruntime::input_of(api_, context, index);
    const dims shape(onnxruntime::shape_of(api_, tensor));
    if (volume(shape) != 1)
        throw error(dnnl_invalid_shape,
                concat(problem_.description().label, ": expected one scale and one zero point of x, given shape ",
                        to_string(shape)));
    return onnxruntime::data_of(api_, tensor);
}

void compiled_layer::compute(OrtKernelContext &context) {
    const onnxruntime::session_threads threads(api_, &context, threads_);
    const auto &x = *onnxruntime::input_of(api_, context, x_input_);
    const auto shape = onnxruntime::shape_of(api_, x);
    auto current = layers_.find([&](const layers::layer &l) { return shape == l.x(); });
    if (!current) current = add_layer(dims(shape));
    auto *const y = onnxruntime::make_output(api_, context, 0, current->y());
    const layers::layer_arguments args {
            onnxruntime::data_of(api_, x), read_x_zero_point(context), read_x_scale(context), y};
    auto memory = idle_.take([] { return std::make_unique<layers::run_memory>(); });
    current->run(args, *memory);
    idle_.give_back(std::move(memory));
}

} // namespace dynquant::onnxruntime_ep
