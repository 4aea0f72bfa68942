#include "onnxruntime/provider/compiled_layer.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/kernels.hpp"
#include "layers/match/describe.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "onnxruntime/common/threads.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {

using layers::match::layer_match;

namespace {

operation prepare(const quantization &q) {
    return kernels::prepare(q, {}, kernels::own_kernels());
}

layers::layer_problem problem_of(const graph &g, const layer_match &m) {
    auto d = describe(g, m);
    if (m.quantize != none) d.prepare = prepare;
    return {std::move(d), g.input(g.nodes[m.product], 1).known->data, environment::usable_features()};
}

} // namespace

compiled_layer::compiled_layer(
        const OrtApi &api, const graph &g, const layer_match &m, const std::vector<std::string> &inputs, int threads)
    : api_(api)
    , threads_(threads)
    , problem_(problem_of(g, m)) {
    x_input_ = index_of(g, m.x, inputs);
    if (const auto &d = problem_.description(); !d.prepare) {
        if (!d.x_zero_point) x_zero_point_input_ = index_of(g, m.x_zero_point, inputs);
        if (m.x_scale != none) {
            if (const auto &known = g.values[m.x_scale].known)
                std::memcpy(&x_scale_, known->data, sizeof x_scale_);
            else
                x_scale_input_ = index_of(g, m.x_scale, inputs);
        }
    }
    if (const auto &shape = g.values[m.x].shape; is_known(shape)) layers_.add(make_layer(*shape));
}

std::shared_ptr<const layers::layer> compiled_layer::make_layer(const dims &x) const {
    return std::make_shared<const layers::layer>(problem_, x);
}

std::int32_t compiled_layer::read_x_zero_point(const OrtKernelContext &context) const {
    if (x_zero_point_input_ == none) return 0;
    return byte_at(scalar_data(context, x_zero_point_input_), problem_.description().x_is_signed);
}

float compiled_layer::read_x_scale(const OrtKernelContext &context) const {
    if (x_scale_input_ == none) return x_scale_;
    return *static_cast<const float *>(scalar_data(context, x_scale_input_));
}

/// ONNX Runtime does not tell a scalar from a tensor of unknown rank.
const void *compiled_layer::scalar_data(const OrtKernelContext &context, std::size_t index) const {
    const auto &tensor = *input_of(api_, context, index);
    const dims shape(shape_of(api_, tensor));
    if (volume(shape) != 1)
        throw error(status::invalid_shape,
                concat(problem_.description().label, ": expected one scale and one zero point of x, given shape ",
                        to_string(shape)));
    return data_of(api_, tensor);
}

void compiled_layer::compute(OrtKernelContext &context) {
    const session_threads threads(api_, &context, threads_);
    const auto &x = *input_of(api_, context, x_input_);
    const auto shape = shape_of(api_, x);
    const auto matches = [&](const layers::layer &l) { return shape == l.x(); };
    const auto current = layers_.find_or_add(matches, [&] { return make_layer(dims(shape)); });
    auto *const y = make_output(api_, context, 0, current->y());
    const auto zero_point = read_x_zero_point(context);
    const auto scale = read_x_scale(context);
    const layers::layer_arguments args {data_of(api_, x), y, {&zero_point, 1}, {&scale, 1}};
    auto memory = idle_.take([] { return std::make_unique<layers::run_memory>(); });
    current->run(args, *memory);
    idle_.give_back(std::move(memory));
}

compiled_layers::compiled_layers(const OrtApi &api, const graph &g, const std::vector<layer_match> &matches,
        const std::vector<std::string> &inputs, const std::vector<std::string> &outputs, int threads)
    : api_(api)
    , threads_(threads) {
    for (const auto &m : matches)
        parts_.push_back({problem_of(g, m), index_of(g, m.y, outputs)});
    const auto &quantize = g.nodes[g.values[matches.front().x].producer];
    x_input_ = index_of(g, quantize.inputs.front(), inputs);
    if (const auto &shape = g.input(quantize, 0).shape; is_known(shape)) prepared_.add(prepare(*shape));
}

compiled_layers::prepared::prepared(const std::vector<part> &parts, const dims &of)
    : x(of)
    , layers(layers_of(parts, of))
    , quantizer(onnxruntime::prepare, of, layers.front()->rows(), {}) {}

std::vector<std::unique_ptr<const layers::layer>> compiled_layers::prepared::layers_of(
        const std::vector<part> &parts, const dims &x) {
    std::vector<std::unique_ptr<const layers::layer>> result;
    result.reserve(parts.size());
    for (const auto &p : parts)
        result.push_back(std::make_unique<const layers::layer>(p.problem, x));
    return result;
}

std::shared_ptr<const compiled_layers::prepared> compiled_layers::prepare(const dims &x) const {
    return std::make_shared<const prepared>(parts_, x);
}

void compiled_layers::compute(OrtKernelContext &context) {
    const session_threads threads(api_, &context, threads_);
    const auto &x = *input_of(api_, context, x_input_);
    const auto shape = shape_of(api_, x);
    const auto matches = [&](const prepared &p) { return shape == p.x; };
    const auto current = prepared_.find_or_add(matches, [&] { return prepare(dims(shape)); });
    auto memory = idle_.take([] { return std::make_unique<compiled_layers::memory>(); });
    current->quantizer.run(data_of(api_, x), memory->x);
    const auto rows = static_cast<std::size_t>(current->quantizer.rows());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto &l = *current->layers[i];
        l.run({memory->x.bytes.data(), make_output(api_, context, parts_[i].output, l.y()),
                      {memory->x.zero_points.data(), rows}, {memory->x.scales.data(), rows}},
                memory->of_layers);
    }
    idle_.give_back(std::move(memory));
}

} // namespace dynquant::onnxruntime
