#include "onnxruntime/inference.hpp"

#include <atomic>

#include "onnx/op_schema.hpp"
#include "onnxruntime/status.hpp"

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
            read_attribute(known.name);
    }

    const onnx::node &node() const { return node_; }

    /// Type and shape of an input, or nullptr. The context owns it.
    OrtTensorTypeAndShapeInfo *input(std::size_t index) const {
        OrtTensorTypeAndShapeInfo *info = nullptr;
        if (OrtStatus *status = api_.ShapeInferContext_GetInputTypeShape(&context_, index, &info)) {
            api_.ReleaseStatus(status);
            return nullptr;
        }
        return info;
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

    void read_attribute(const char *name) {
        const OrtOpAttr *attribute = nullptr;
        std::int64_t value = 0;
        std::size_t size = 0;
        OrtStatus *status = api_.ShapeInferContext_GetAttribute(&context_, name, &attribute);
        if (!status) status = api_.ReadOpAttr(attribute, ORT_OP_ATTR_INT, &value, sizeof value, &size);
        if (!status) node_.attributes.push_back({name, value});
        api_.ReleaseStatus(status); // missing, or of another type, which the kernel will refuse
    }

    const OrtApi &api_;
    const OrtShapeInferContext &context_;
    onnx::node node_;
};

/// Empty for an invalid node: ONNX Runtime ignores errors here, and compute() will report them.
std::vector<onnx::element_type> types_of(const onnx::node &n) {
    try {
        return onnx::output_types(n);
    } catch (const dnnl::error &) {
        return {};
    }
}

std::string make_dim_name() {
    static std::atomic<std::uint64_t> count = 0;
    return "dynquant_dim_" + std::to_string(++count);
}

/// Gives each dim without size and name a unique name: dims of one name have one size. ONNX Runtime reports such a dim
/// as -1, but would take -1 as the size of an output's dim.
void name_unknown_dims(const OrtApi &api, OrtTensorTypeAndShapeInfo &info, std::size_t rank) {
    dims sizes(rank);
    check(api, api.GetDimensions(&info, sizes.data(), rank));
    std::vector<const char *> given(rank);
    check(api, api.GetSymbolicDimensions(&info, given.data(), rank));
    std::vector<std::string> names(given.begin(), given.end()); // copies: setting the dims frees the names in `given`
    for (std::size_t i = 0; i < rank; ++i) {
        if (sizes[i] < 0 && names[i].empty()) names[i] = make_dim_name();
        given[i] = names[i].c_str();
    }
    check(api, api.SetSymbolicDimensions(&info, given.data(), rank));
}

} // namespace

void infer_outputs(const custom_op &op, OrtShapeInferContext &context) {
    const node_description d(op, context);
    const auto types = types_of(d.node());
    if (types.size() != 1) return; // several outputs have fixed types, and shapes come with the tensors
    auto *x = d.input(0);
    std::size_t rank = 0;
    check(op.api, op.api.GetDimensionsCount(x, &rank));
    if (rank == 0) return; // a scalar or an unknown rank: ONNX Runtime chooses the type, the shape stays unknown
    name_unknown_dims(op.api, *x, rank);
    check(op.api, op.api.SetTensorElementType(x, ort_type(types.front()))); // y has the shape of x
    check(op.api, op.api.ShapeInferContext_SetOutputTypeShape(&context, 0, x));
}

} // namespace dynquant::onnxruntime
