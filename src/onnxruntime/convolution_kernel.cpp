#include "onnxruntime/convolution_kernel.hpp"

#include "onnxruntime/custom_op.hpp"
#include "onnxruntime/node_info.hpp"
#include "onnxruntime/tensor.hpp"
#include "onnxruntime/threads.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

template <typename... Parts>
[[noreturn]] void refuse(const layers::layer_description &d, const Parts &...parts) {
    throw error(dnnl_invalid_shape, concat(d.label, ": ", parts...));
}

} // namespace

convolution_kernel::convolution_kernel(const custom_op &op, const OrtKernelInfo &info)
    : api_(op.api)
    , has_w_zero_point_(has_input(op.api, info, w_zero_point)) {
    try {
        description_ = read_convolution(op, info);
        const auto *weights = find_constant(api_, info, w);
        const auto *zero_points = has_w_zero_point_ ? find_constant(api_, info, w_zero_point) : nullptr;
        if (weights && (zero_points || !has_w_zero_point_)) problem_.emplace(problem_of(*weights, zero_points));
    } catch (const dnnl::error &) {
        refusal_ = std::current_exception();
    }
}

void convolution_kernel::compute(OrtKernelContext &context) {
    if (refusal_) std::rethrow_exception(refusal_);
    const session_threads threads(api_, &context, 0);
    const auto shape = shape_of(api_, *input_of(api_, context, x));
    if (!problem_) {
        const auto problem = problem_of(
                *input_of(api_, context, w), has_w_zero_point_ ? input_of(api_, context, w_zero_point) : nullptr);
        return run(layers::layer(problem, dims(shape)), context);
    }
    auto current = layers_.find([&](const layers::layer &l) { return shape == l.x(); });
    if (!current) {
        current = std::make_shared<const layers::layer>(*problem_, dims(shape));
        layers_.add(current);
    }
    run(*current, context);
}

layers::layer_problem convolution_kernel::problem_of(const OrtValue &weights, const OrtValue *zero_points) const {
    auto d = description_;
    d.weights_shape = dims(shape_of(api_, weights));
    if (d.weights_shape.size() < 3) refuse(d, "w: expected rank 3 or more, given shape ", to_string(d.weights_shape));
    if (zero_points) d.w_zero_points = w_zero_points_of(*zero_points, d.weights_shape.front());
    return {std::move(d), static_cast<const std::byte *>(data_of(api_, weights))};
}

std::vector<std::int32_t> convolution_kernel::w_zero_points_of(const OrtValue &tensor, std::int64_t filters) const {
    const dims shape(shape_of(api_, tensor));
    const auto count = volume(shape);
    if (shape.size() > 1 || (count != 1 && count != filters))
        refuse(description_, "w_zero_point: expected one value, or one for each of ", filters,
                " channels, given shape ", to_string(shape));
    const auto *data = static_cast<const std::byte *>(data_of(api_, tensor));
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < *count; ++i)
        values.push_back(byte_at(data + i, description_.w_is_signed));
    return values;
}

std::int32_t convolution_kernel::read_x_zero_point(const OrtKernelContext &context) const {
    if (description_.x_zero_point) return *description_.x_zero_point;
    const auto &tensor = *input_of(api_, context, x_zero_point);
    const dims shape(shape_of(api_, tensor));
    if (shape.size() > 1 || volume(shape) != 1)
        refuse(description_, "x_zero_point: expected one value, given shape ", to_string(shape));
    return byte_at(data_of(api_, tensor), description_.x_is_signed);
}

void convolution_kernel::run(const layers::layer &l, OrtKernelContext &context) {
    const auto zero_point = read_x_zero_point(context);
    const auto *from = data_of(api_, *input_of(api_, context, x));
    auto memory = idle_.take([] { return std::make_unique<layers::run_memory>(); });
    l.run({from, zero_point, 1, make_output(api_, context, 0, l.y())}, *memory);
    idle_.give_back(std::move(memory));
}

} // namespace dynquant::onnxruntime
