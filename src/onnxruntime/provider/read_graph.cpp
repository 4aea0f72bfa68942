#include "onnxruntime/provider/read_graph.hpp"

#include <algorithm>
#include <span>

#include "onnxruntime/common/status.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "onnxruntime/common/types.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

using layers::match::attribute, layers::match::constant;

/// What `count` and `fill` of the API list: the one says how many there are, the other writes them.
template <typename Item, typename From>
std::vector<const Item *> list_of(const OrtApi &api, OrtStatus *(*count)(const From *, std::size_t *),
        OrtStatus *(*fill)(const From *, const Item **, std::size_t), const From &from) {
    std::size_t size = 0;
    check(api, count(&from, &size));
    std::vector<const Item *> items(size);
    check(api, fill(&from, items.data(), size));
    return items;
}

template <typename From>
std::string text_of(const OrtApi &api, OrtStatus *(*get)(const From *, const char **), const From &from) {
    const char *text = nullptr;
    check(api, get(&from, &text));
    return text ? text : "";
}

bool flag_of(const OrtApi &api, OrtStatus *(*get)(const OrtValueInfo *, bool *), const OrtValueInfo &from) {
    bool flag = false;
    check(api, get(&from, &flag));
    return flag;
}

dims shape_of(const OrtApi &api, const OrtTensorTypeAndShapeInfo &info) {
    std::size_t rank = 0;
    check(api, api.GetDimensionsCount(&info, &rank));
    dims shape(rank);
    check(api, api.GetDimensions(&info, shape.data(), rank));
    return shape;
}

onnx::element_type type_of(const OrtApi &api, const OrtTensorTypeAndShapeInfo &info) {
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    check(api, api.GetTensorElementType(&info, &type));
    return onnx_type(type);
}

void read_type(const OrtApi &api, has_shape_function has_shape, const OrtValueInfo &from, value &to) {
    const OrtTypeInfo *info = nullptr;
    check(api, api.GetValueInfoTypeInfo(&from, &info));
    if (!info) return;
    const OrtTensorTypeAndShapeInfo *tensor = nullptr;
    check(api, api.CastTypeInfoToTensorInfo(info, &tensor));
    if (!tensor) return;
    to.type = onnx::data_type_of(type_of(api, *tensor));
    auto shape = shape_of(api, *tensor);
    if (has_shape ? has_shape(tensor) : !shape.empty()) to.shape = std::move(shape);
}

void read_constant(const OrtApi &api, const OrtValueInfo &from, session_initializers &initializers, value &to) {
    if (!flag_of(api, api.ValueInfo_IsConstantInitializer, from)) return;
    to.is_replaced = initializers.replace(to.name);
    if (to.is_replaced) return;
    const OrtValue *tensor = nullptr;
    check(api, api.ValueInfo_GetInitializerValue(&from, &tensor));
    if (!tensor) return;
    to.known = constant {
            to.type, dims(onnxruntime::shape_of(api, *tensor)), static_cast<const std::byte *>(data_of(api, *tensor))};
    to.shape = to.known->shape;
}

template <typename T>
T number(const OrtApi &api, const OrtOpAttr &from, OrtOpAttrType type) {
    T result = {};
    std::size_t size = 0;
    check(api, api.ReadOpAttr(&from, type, &result, sizeof result, &size));
    return result;
}

/// ReadOpAttr says how many bytes it wants where it is given too few.
template <typename Sequence>
Sequence sequence(const OrtApi &api, const OrtOpAttr &from, OrtOpAttrType type) {
    std::size_t bytes = 0;
    succeeded(api, api.ReadOpAttr(&from, type, nullptr, 0, &bytes));
    Sequence result(bytes / sizeof(typename Sequence::value_type), {});
    if (bytes != 0) check(api, api.ReadOpAttr(&from, type, result.data(), bytes, &bytes));
    return result;
}

std::optional<attribute> read_attribute(const OrtApi &api, const OrtOpAttr &from) {
    OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
    if (!succeeded(api, api.OpAttr_GetType(&from, &type)))
        return std::nullopt; // as of TypeProto, which it does not know
    switch (type) {
        case ORT_OP_ATTR_INT: return number<std::int64_t>(api, from, type);
        case ORT_OP_ATTR_FLOAT: return number<float>(api, from, type);
        case ORT_OP_ATTR_INTS: return sequence<std::vector<std::int64_t>>(api, from, type);
        case ORT_OP_ATTR_FLOATS: return sequence<std::vector<float>>(api, from, type);
        case ORT_OP_ATTR_STRING: return sequence<std::string>(api, from, type);
        default: return std::nullopt; // no operator here has any
    }
}

struct operator_row {
    std::string_view name;
    op what;
};
constexpr operator_row of_microsoft[] = {
        {"BiasGelu", op::bias_gelu},
        {"FastGelu", op::fast_gelu},
        {"Gelu", op::gelu},
        {"MatMulNBits", op::mat_mul_nbits},
        {"QuickGelu", op::quick_gelu},
        {"SkipLayerNormalization", op::skip_layer_normalization},
        {"SkipSimplifiedLayerNormalization", op::skip_rms_normalization},
};

op operator_of(const node &n) {
    if (n.domain.empty() && n.op_type == "SimplifiedLayerNormalization")
        return op::rms_normalization; // before opset 23
    if (n.domain.empty()) return layers::match::operator_named(n.op_type);
    if (n.domain == "com.microsoft") {
        const auto *const found = std::ranges::find(of_microsoft, n.op_type, &operator_row::name);
        return found == std::end(of_microsoft) ? op::other : found->what;
    }
    if (n.domain != "dynquant") return op::other;
    // A function of the model may have these names, too: nobody has checked then which inputs and outputs there are.
    const auto gives = [&](std::size_t count) {
        return n.outputs.size() >= count && std::ranges::count(std::span(n.outputs).first(count), none) == 0;
    };
    if (n.op_type == "MatMulInteger") // it means what ONNX's does
        return n.has(0) && n.has(1) && gives(1) ? op::mat_mul_integer : op::other;
    const bool is_by_rows = n.op_type == "DynamicQuantizeLinear" && n.has(0) && gives(3)
            && n.get("axis", std::int64_t {0}) == -1
            && n.get("rule", std::string("onnx")) == "onnx"; // `symmetric` gives int8
    return is_by_rows ? op::dynamic_quantize_rows : op::other;
}

/// Reads one graph.
class reader {
  public:
    reader(const OrtApi &api, has_shape_function has_shape, const OrtGraph &from, session_initializers &initializers)
        : api_(api)
        , has_shape_(has_shape)
        , initializers_(initializers) {
        for (const auto *n : list_of<OrtNode>(api, api.Graph_GetNumNodes, api.Graph_GetNodes, from))
            read(*n);
    }

    session_graph result;

  private:
    void read(const OrtNode &from) {
        auto &values = result.view.values;
        const auto index = result.view.nodes.size();
        node n;
        n.name = text_of(api_, api_.Node_GetName, from);
        n.op_type = text_of(api_, api_.Node_GetOperatorType, from);
        n.domain = text_of(api_, api_.Node_GetDomain, from);
        if (n.domain == "ai.onnx") n.domain.clear();
        check(api_, api_.Node_GetSinceVersion(&from, &n.opset));
        for (const auto *in : list_of<OrtValueInfo>(api_, api_.Node_GetNumInputs, api_.Node_GetInputs, from)) {
            n.inputs.push_back(index_of(in));
            if (n.inputs.back() != none) values[n.inputs.back()].consumers.push_back(index);
        }
        for (const auto *out : list_of<OrtValueInfo>(api_, api_.Node_GetNumOutputs, api_.Node_GetOutputs, from)) {
            n.outputs.push_back(index_of(out));
            if (n.outputs.back() != none) values[n.outputs.back()].producer = index;
        }
        for (const auto *in :
                list_of<OrtValueInfo>(api_, api_.Node_GetNumImplicitInputs, api_.Node_GetImplicitInputs, from))
            if (const auto at = index_of(in); at != none) {
                values[at].is_seen_outside = true;
                ++values[at].subgraph_consumers;
            }
        for (const auto *a : list_of<OrtOpAttr>(api_, api_.Node_GetNumAttributes, api_.Node_GetAttributes, from))
            if (auto held = read_attribute(api_, *a))
                n.attributes.emplace(text_of(api_, api_.OpAttr_GetName, *a), std::move(*held));
        n.what = operator_of(n);
        if (n.is(op::dynamic_quantize_linear))
            for (std::size_t i = 1; i < n.outputs.size(); ++i) // scale and zero point
                if (n.outputs[i] != none) values[n.outputs[i]].shape.emplace();
        result.view.nodes.push_back(std::move(n));
        result.handles.push_back(&from);
    }

    std::size_t index_of(const OrtValueInfo *from) {
        const auto name = from ? text_of(api_, api_.GetValueInfoName, *from) : "";
        if (name.empty()) return none;
        const auto [at, is_new] = indices_.try_emplace(name, result.view.values.size());
        if (is_new) {
            value v;
            v.name = name;
            read_type(api_, has_shape_, *from, v);
            read_constant(api_, *from, initializers_, v);
            v.is_seen_outside = flag_of(api_, api_.ValueInfo_IsGraphOutput, *from);
            v.is_of_outer_graph = flag_of(api_, api_.ValueInfo_IsFromOuterScope, *from);
            v.is_summand = !v.is_constant(); // fused nodes do not receive constants
            result.view.values.push_back(std::move(v));
        }
        return at->second;
    }

    const OrtApi &api_;
    has_shape_function has_shape_;
    session_initializers &initializers_;
    std::map<std::string, std::size_t> indices_;
};

std::vector<std::string> names_of(const OrtApi &api, std::span<const OrtValueInfo *const> values) {
    std::vector<std::string> names;
    for (const auto *v : values)
        names.push_back(v ? text_of(api, api.GetValueInfoName, *v) : "");
    return names;
}

} // namespace

std::string describe(const node &n) {
    std::string name;
    for (const char c : n.name) {
        if (c == '\'' || c == '\\') name += '\\';
        name += c;
    }
    return printable(concat("'", name, "' (", n.op_type, ")"));
}

session_graph read_graph(
        const OrtApi &api, has_shape_function has_shape, const OrtGraph &from, session_initializers &initializers) {
    return std::move(reader(api, has_shape, from, initializers).result);
}

std::vector<std::string> input_names(const OrtApi &api, const OrtNode &n) {
    return names_of(api, list_of<OrtValueInfo>(api, api.Node_GetNumInputs, api.Node_GetInputs, n));
}

std::vector<std::string> output_names(const OrtApi &api, const OrtNode &n) {
    return names_of(api, list_of<OrtValueInfo>(api, api.Node_GetNumOutputs, api.Node_GetOutputs, n));
}

std::size_t index_of(const graph &g, std::size_t value, const std::vector<std::string> &names) {
    const auto found = std::ranges::find(names, g.values[value].name);
    if (found == names.end())
        throw error(status::runtime_error,
                concat("expected '", g.values[value].name, "' among the inputs and outputs of the fused node"));
    return static_cast<std::size_t>(found - names.begin());
}

onnx::element_type type_of(const value &v) {
    return v.type ? onnx::type::number_of(*v.type) : onnx::type::undefined;
}

} // namespace dynquant::onnxruntime
