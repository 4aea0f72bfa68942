#include "onnxruntime/convolution_kernel.hpp"

#include "layers/match/describe.hpp"
#include "onnx/element_type.hpp"
#include "onnxruntime/custom_op.hpp"
#include "onnxruntime/node_info.hpp"
#include "onnxruntime/tensor.hpp"
#include "onnxruntime/threads.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {

template <typename... Parts>
void convolution_kernel::refuse(const Parts &...parts) const {
    throw error(dnnl_invalid_shape, concat(label(graph_, node()), ": ", parts...));
}

convolution_kernel::convolution_kernel(const custom_op &op, const OrtKernelInfo &info)
    : api_(op.api) {
    try {
        graph_ = read_convolution(op, info);
        const auto *weights = find_constant(api_, info, w);
        const auto *zero_points = node().has(w_zero_point) ? find_constant(api_, info, w_zero_point) : nullptr;
        if (weights && (zero_points || !node().has(w_zero_point))) problem_.emplace(problem_of(*weights, zero_points));
    } catch (const dnnl::error &) {
        refusal_ = std::current_exception();
    }
}

void convolution_kernel::compute(OrtKernelContext &context) {
    if (refusal_) std::rethrow_exception(refusal_);
    const session_threads threads(api_, &context, 0);
    const auto shape = shape_of(api_, *input_of(api_, context, x));
    if (!problem_) {
        const auto problem = problem_of(*input_of(api_, context, w),
                node().has(w_zero_point) ? input_of(api_, context, w_zero_point) : nullptr);
        return run(layers::layer(problem, dims(shape)), context);
    }
    auto current = layers_.find([&](const layers::layer &l) { return shape == l.x(); });
    if (!current) {
        current = std::make_shared<const layers::layer>(*problem_, dims(shape));
        layers_.add(current);
    }
    run(*current, context);
}

layers::match::constant convolution_kernel::constant_of(const OrtValue &tensor, input i) const {
    return {graph_.values[i].type, dims(shape_of(api_, tensor)), static_cast<const std::byte *>(data_of(api_, tensor))};
}

layers::layer_problem convolution_kernel::problem_of(const OrtValue &weights, const OrtValue *zero_points) const {
    auto g = graph_;
    const auto &of_weights = g.values[w].known.emplace(constant_of(weights, w));
    if (of_weights.shape.size() < 3) refuse("w: expected rank 3 or more, given shape ", to_string(of_weights.shape));
    if (zero_points) {
        const auto &shape = g.values[w_zero_point].known.emplace(constant_of(*zero_points, w_zero_point)).shape;
        const auto count = volume(shape);
        const auto filters = of_weights.shape.front();
        if (shape.size() > 1 || (count != 1 && count != filters))
            refuse("w_zero_point: expected one value, or one for each of ", filters, " channels, given shape ",
                    to_string(shape));
    }
    return {describe(g, g.nodes.front()), of_weights.data};
}

std::int32_t convolution_kernel::read_x_zero_point(const OrtKernelContext &context) const {
    if (!node().has(x_zero_point)) return 0;
    const auto &tensor = *input_of(api_, context, x_zero_point);
    const dims shape(shape_of(api_, tensor));
    if (shape.size() > 1 || volume(shape) != 1)
        refuse("x_zero_point: expected one value, given shape ", to_string(shape));
    return byte_at(data_of(api_, tensor), graph_.values[x].type == onnx::type::int8);
}

void convolution_kernel::run(const layers::layer &l, OrtKernelContext &context) {
    const auto zero_point = read_x_zero_point(context);
    const auto *from = data_of(api_, *input_of(api_, context, x));
    auto memory = idle_.take([] { return std::make_unique<layers::run_memory>(); });
    l.run({from, make_output(api_, context, 0, l.y()), {&zero_point, 1}}, *memory);
    idle_.give_back(std::move(memory));
}

} // namespace dynquant::onnxruntime
