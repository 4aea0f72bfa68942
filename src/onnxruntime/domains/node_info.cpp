// A node as ONNX Runtime describes it.
#include "onnx/op_schema.hpp"
#include "onnxruntime/common/status.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "onnxruntime/domains/custom_op.hpp"

namespace dynquant::onnxruntime {
namespace {

std::string read_name(const OrtApi &api, const OrtKernelInfo &info) {
    std::size_t size = 0;
    check(api, api.KernelInfo_GetNodeName(&info, nullptr, &size));
    std::string name(size, '\0');
    check(api, api.KernelInfo_GetNodeName(&info, name.data(), &size));
    while (!name.empty() && name.back() == '\0')
        name.pop_back();
    return name;
}

namespace attribute_type = onnx::attribute_type;

/// The type of an attribute, or missing. Reading one is refused where it is missing or has another type.
std::int32_t find_type(const OrtApi &api, const OrtKernelInfo &info, const char *name) {
    float real = 0;
    std::int64_t integer = 0;
    std::size_t size = 0;
    // Reading an array of another element type succeeds with size 0.
    const auto is_array = [&](OrtStatus *status) { return succeeded(api, status) && size > 0; };
    if (succeeded(api, api.KernelInfoGetAttribute_float(&info, name, &real))) return attribute_type::real;
    if (succeeded(api, api.KernelInfoGetAttribute_int64(&info, name, &integer))) return attribute_type::integer;
    if (succeeded(api, api.KernelInfoGetAttribute_string(&info, name, nullptr, &size))) return attribute_type::text;
    if (is_array(api.KernelInfoGetAttributeArray_float(&info, name, nullptr, &size))) return attribute_type::reals;
    if (is_array(api.KernelInfoGetAttributeArray_int64(&info, name, nullptr, &size))) return attribute_type::integers;
    return attribute_type::missing;
}

std::string read_text(const OrtApi &api, const OrtKernelInfo &info, const char *name) {
    std::size_t size = 0; // with the null at the end
    check(api, api.KernelInfoGetAttribute_string(&info, name, nullptr, &size));
    std::string value(size, '\0');
    check(api, api.KernelInfoGetAttribute_string(&info, name, value.data(), &size));
    value.pop_back();
    return value;
}

/// Reads the attributes of the operator's schema: the API has no list of a node's attributes.
std::vector<onnx::attribute> read_attributes(
        const OrtApi &api, const OrtKernelInfo &info, const onnx::op_schema &schema) {
    std::vector<onnx::attribute> result;
    for (const auto &known : schema.attributes) {
        const auto type = find_type(api, info, known.name);
        if (type == attribute_type::missing) continue;
        auto &given = result.emplace_back();
        given.name = known.name;
        given.type = type;
        if (type == attribute_type::integer) check(api, api.KernelInfoGetAttribute_int64(&info, known.name, &given.i));
        if (type == attribute_type::text) given.s = read_text(api, info, known.name);
    }
    return result;
}

/// Whether an optional input is given.
bool has_input(const OrtApi &api, const OrtKernelInfo &info, std::size_t index) {
    std::size_t count = 0;
    check(api, api.KernelInfo_GetInputCount(&info, &count));
    OrtTypeInfo *type = nullptr;
    const bool found = index < count && succeeded(api, api.KernelInfo_GetInputTypeInfo(&info, index, &type));
    api.ReleaseTypeInfo(type);
    return found;
}

/// An input that is part of the model, the same tensor for as long as the session lives; else nullptr.
const OrtValue *find_constant(const OrtApi &api, const OrtKernelInfo &info, std::size_t index) {
    int found = 0;
    const OrtValue *tensor = nullptr;
    check(api, api.KernelInfoGetConstantInput_tensor(&info, index, &found, &tensor));
    return found == 0 ? nullptr : tensor;
}

} // namespace

onnx::node read_node(const custom_op &op, const OrtKernelInfo &info) {
    const auto &[domain, name, onnx_domain, op_type] = op.operation;
    onnx::node n;
    n.op_type = op_type;
    n.domain = onnx_domain;
    n.opset = onnx::newest_opset(onnx_domain); // the API does not report the model's
    n.name = read_name(op.api, info);
    n.attributes = read_attributes(op.api, info, onnx::versions_of(onnx_domain, op_type).back());
    for (const auto type : op.inputs)
        n.inputs.push_back({type});
    if (n.inputs.size() > 2 && !has_input(op.api, info, 2)) n.inputs.pop_back(); // the zero point
    return n;
}

node_ports read_ports(const custom_op &op, const OrtKernelInfo &info, const onnx::node &n) {
    node_ports ports;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        ports.inputs[i].index = i;
        const auto *tensor = find_constant(op.api, info, i);
        if (!tensor) continue;
        ports.inputs[i].shape = dims(shape_of(op.api, *tensor));
        ports.inputs[i].data = data_of(op.api, *tensor);
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
        ports.outputs[i] = {i, op.outputs[i]};
    return ports;
}

} // namespace dynquant::onnxruntime
