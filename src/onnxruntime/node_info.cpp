#include "onnxruntime/node_info.hpp"

#include "onnx/op_schema.hpp"
#include "onnx/refusal.hpp"
#include "onnxruntime/status.hpp"
#include "onnxruntime/tensor.hpp"

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

/// Numbers of AttributeProto.AttributeType.
namespace attribute_type {
constexpr std::int32_t missing = 0, real = 1, integer = 2, text = 3, reals = 6, integers = 7;
}

/// Whether the call succeeded; releases the status. Reading an attribute fails if it is missing or has another type.
bool succeeded(const OrtApi &api, OrtStatus *status) {
    api.ReleaseStatus(status);
    return status == nullptr;
}

/// The type of an attribute, or missing.
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

/// Reads attributes of a node into a view of it.
class attribute_reader {
  public:
    attribute_reader(const OrtApi &api, const OrtKernelInfo &info, std::string label, layers::match::node &to)
        : api_(api)
        , info_(info)
        , label_(std::move(label))
        , to_(to) {}

    void integer(const char *name) const {
        std::int64_t value = 0;
        if (!has(name, attribute_type::integer)) return;
        check(api_, api_.KernelInfoGetAttribute_int64(&info_, name, &value));
        to_.attributes[name] = value;
    }

    void integers(const char *name) const {
        if (!has(name, attribute_type::integers)) return;
        std::size_t size = 0;
        check(api_, api_.KernelInfoGetAttributeArray_int64(&info_, name, nullptr, &size));
        std::vector<std::int64_t> values(size);
        check(api_, api_.KernelInfoGetAttributeArray_int64(&info_, name, values.data(), &size));
        to_.attributes[name] = std::move(values);
    }

    void text(const char *name) const {
        if (has(name, attribute_type::text))
            to_.attributes[name] = printable(read_text(api_, info_, name)); // for messages
    }

  private:
    bool has(const char *name, std::int32_t type) const {
        const auto given = find_type(api_, info_, name);
        if (given != attribute_type::missing && given != type)
            throw error(dnnl_invalid_arguments,
                    concat(label_, ": attribute '", name, "': expected type ", onnx::name_of_attribute_type(type),
                            ", given ", onnx::name_of_attribute_type(given)));
        return given == type;
    }

    const OrtApi &api_;
    const OrtKernelInfo &info_;
    std::string label_;
    layers::match::node &to_;
};

} // namespace

bool has_input(const OrtApi &api, const OrtKernelInfo &info, std::size_t index) {
    std::size_t count = 0;
    check(api, api.KernelInfo_GetInputCount(&info, &count));
    OrtTypeInfo *type = nullptr;
    const bool found = index < count && succeeded(api, api.KernelInfo_GetInputTypeInfo(&info, index, &type));
    api.ReleaseTypeInfo(type);
    return found;
}

const OrtValue *find_constant(const OrtApi &api, const OrtKernelInfo &info, std::size_t index) {
    int found = 0;
    const OrtValue *tensor = nullptr;
    check(api, api.KernelInfoGetConstantInput_tensor(&info, index, &found, &tensor));
    return found == 0 ? nullptr : tensor;
}

onnx::node read_node(const custom_op &op, const OrtKernelInfo &info) {
    const auto &[domain, name, since, onnx_domain, op_type] = op.operation;
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

layers::match::graph read_convolution(const custom_op &op, const OrtKernelInfo &info) {
    layers::match::graph g;
    auto &n = g.nodes.emplace_back();
    n.name = printable(read_name(op.api, info));
    n.op_type = op.operation.op_type;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        g.values.emplace_back().type = op.inputs[i];
        n.inputs.push_back(i < 2 || has_input(op.api, info, i) ? i : layers::match::none);
    }
    const attribute_reader read(op.api, info, label(g, n), n);
    read.text("auto_pad");
    read.integers("dilations");
    read.integer("group");
    read.integers("kernel_shape");
    read.integers("pads");
    read.integers("strides");
    return g;
}

} // namespace dynquant::onnxruntime
