// QuantizeLinear and DequantizeLinear, as dynquant::onnx computes them.
#include "model/operators/operators.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

onnx::node node_of(const op_node &n) {
    onnx::node result;
    result.op_type = n.given.op_type;
    result.opset = n.opset;
    result.name = n.given.name.empty() ? n.given.outputs.front() : n.given.name;
    for (const auto &a : n.given.attributes) {
        const auto *value = std::get_if<std::int64_t>(&a.value);
        result.attributes.push_back({a.name, value ? *value : 0, static_cast<std::int32_t>(a.type())});
    }
    for (const auto *input : n.inputs)
        result.inputs.push_back(input ? onnx::value {input->type, input->shape} : onnx::value {});
    return result;
}

} // namespace

tensor_type infer_quantize(const op_node &n) {
    const auto output = onnx::lower(node_of(n)).outputs.front();
    return {output.type, output.shape};
}

prepared_node prepare_quantize(const op_node &n, const options &opts) {
    const auto operation = onnx::prepare(node_of(n), opts);
    const bool has_zero_point = n.has(2);
    auto run = [=](const stage_arguments &args) {
        operation.run({args.inputs[0], args.inputs[1], has_zero_point ? args.inputs[2] : nullptr, args.output});
    };
    return {run, has_zero_point ? 3U : 2U};
}

} // namespace dynquant::models
