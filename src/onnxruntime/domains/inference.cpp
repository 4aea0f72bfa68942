// Types and shapes of the outputs, before there is a kernel.
#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>

#include "onnx/op_schema.hpp"
#include "onnxruntime/common/status.hpp"
#include "onnxruntime/domains/custom_op.hpp"
#include "quantization/shape.hpp"

namespace dynquant::onnxruntime {
namespace {

/// A node as ONNX Runtime describes it during shape inference.
class node_description {
  public:
    node_description(const custom_op &op, const OrtShapeInferContext &context)
        : api_(op.api)
        , context_(context) {
        node_.op_type = op.operation.op_type;
        node_.domain = op.operation.onnx_domain;
        node_.opset = onnx::newest_opset(node_.domain);
        read_inputs();
        for (const auto &known : onnx::versions_of(node_.domain, node_.op_type).back().attributes)
            known.text ? read_text(known.name) : read_integer(known.name);
    }

    const onnx::node &node() const { return node_; }

    /// Type and shape of an input, or nullptr. The context owns it.
    OrtTensorTypeAndShapeInfo *input(std::size_t index) const {
        OrtTensorTypeAndShapeInfo *info = nullptr;
        return succeeded(api_, api_.ShapeInferContext_GetInputTypeShape(&context_, index, &info)) ? info : nullptr;
    }

  private:
    void read_inputs() {
        std::size_t count = 0;
        check(api_, api_.ShapeInferContext_GetInputCount(&context_, &count));
        for (std::size_t i = 0; i < count; ++i) {
            auto type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
            if (const auto *info = input(i)) check(api_, api_.GetTensorElementType(info, &type));
            node_.inputs.push_back({onnx_type(type)});
        }
    }

    void read_integer(const char *name) {
        std::int64_t value = 0;
        if (read(name, ORT_OP_ATTR_INT, &value, sizeof value)) node_.attributes.push_back({name, value});
    }

    void read_text(const char *name) {
        char text[64] = {}; // longer than any valid one; ONNX Runtime writes no null at its end
        if (read(name, ORT_OP_ATTR_STRING, text, sizeof text - 1))
            node_.attributes.push_back({name, 0, onnx::attribute_type::text, text});
    }

    /// False where it is missing, or of another type or too long, which the kernel will refuse.
    bool read(const char *name, OrtOpAttrType type, void *value, std::size_t size) {
        const OrtOpAttr *attribute = nullptr;
        return succeeded(api_, api_.ShapeInferContext_GetAttribute(&context_, name, &attribute))
                && succeeded(api_, api_.ReadOpAttr(attribute, type, value, size, &size));
    }

    const OrtApi &api_;
    const OrtShapeInferContext &context_;
    onnx::node node_;
};

/// Empty for an invalid node: ONNX Runtime ignores errors here, and compute() will report them.
std::vector<onnx::element_type> types_of(const onnx::node &n) {
    try {
        return onnx::output_types(n);
    } catch (const error &) {
        return {};
    }
}

std::string make_dim_name() {
    static std::atomic<std::uint64_t> count = 0;
    return "dynquant_dim_" + std::to_string(++count);
}

/// A dim of unknown size has a name: dims of one name have one size.
struct symbolic_shape {
    dims sizes;
    std::vector<std::string> names;
};

/// Gives each dim without size and name a unique name. ONNX Runtime reports such a dim as -1, but would take -1 as the
/// size of an output's dim.
symbolic_shape read_shape(const OrtApi &api, const OrtTensorTypeAndShapeInfo &info, std::size_t rank) {
    symbolic_shape shape {dims(rank), {}};
    check(api, api.GetDimensions(&info, shape.sizes.data(), rank));
    std::vector<const char *> names(rank);
    check(api, api.GetSymbolicDimensions(&info, names.data(), rank));
    shape.names.assign(names.begin(), names.end());
    for (std::size_t d = 0; d < rank; ++d)
        if (shape.sizes[d] < 0 && shape.names[d].empty()) shape.names[d] = make_dim_name();
    return shape;
}

/// The shape of computed scales, or nothing where that of x does not tell it.
std::optional<symbolic_shape> scale_shape(const onnx::node &n, const symbolic_shape &x) {
    const auto given = [&](const char *name, std::int64_t otherwise) {
        const auto found = std::ranges::find(n.attributes, name, &onnx::attribute::name);
        return found == n.attributes.end() ? otherwise : found->i;
    };
    constexpr auto none = std::numeric_limits<std::int64_t>::min();
    const auto rank = std::ssize(x.sizes), stated = given("axis", none), size = given("block_size", 0);
    if (stated == none) return symbolic_shape {};
    if (stated < -rank || stated >= rank) return {};
    const auto axis = static_cast<std::size_t>(stated < 0 ? stated + rank : stated);
    if (size == 0) return symbolic_shape {{x.sizes[axis]}, {x.names[axis]}};
    auto result = x;
    auto &extent = result.sizes[axis];
    if (extent < 0)
        result.names[axis] = make_dim_name();
    else
        extent = ceil_div(extent, size);
    return result;
}

/// The output must exist: ONNX Runtime does not check the index. All outputs of the operators are required ones.
void set_output(const OrtApi &api, OrtShapeInferContext &context, std::size_t index, onnx::element_type type,
        const symbolic_shape &shape) {
    OrtTensorTypeAndShapeInfo *info = nullptr;
    check(api, api.CreateTensorTypeAndShapeInfo(&info));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(OrtApi::ReleaseTensorTypeAndShapeInfo)> owner(
            info, api.ReleaseTensorTypeAndShapeInfo);
    std::vector<const char *> names;
    for (const auto &name : shape.names)
        names.push_back(name.c_str());
    check(api, api.SetTensorElementType(info, ort_type(type)));
    check(api, api.SetDimensions(info, shape.sizes.data(), shape.sizes.size()));
    check(api, api.SetSymbolicDimensions(info, names.data(), names.size()));
    check(api, api.ShapeInferContext_SetOutputTypeShape(&context, index, info));
}

} // namespace

void infer_outputs(const custom_op &op, OrtShapeInferContext &context) {
    const node_description d(op, context);
    const auto types = types_of(d.node());
    if (types.empty()) return;
    const auto *const info = d.input(0); // it has a type, without which no output would have one
    std::size_t rank = 0;
    check(op.api, op.api.GetDimensionsCount(info, &rank));
    if (rank == 0) return; // a scalar or an unknown rank: ONNX Runtime chooses the types, the shapes stay unknown
    const auto x = read_shape(op.api, *info, rank);
    set_output(op.api, context, 0, types[0], x);
    if (types.size() == 1) return;
    const auto shape = scale_shape(d.node(), x);
    for (std::size_t i = 1; shape && i < types.size(); ++i)
        set_output(op.api, context, i, types[i], *shape);
}

} // namespace dynquant::onnxruntime
