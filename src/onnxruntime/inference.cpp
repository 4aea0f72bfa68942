#include "onnxruntime/inference.hpp"

#include <atomic>

#include "onnx/op_schema.hpp"
#include "onnxruntime/status.hpp"

namespace dynquant::onnxruntime {
namespace {

/// A node in the making.
class description {
  public:
    description(const custom_op &op, const OrtShapeInferContext &context)
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

    /// What is known of an input, or nullptr. It is the context's.
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
        api_.ReleaseStatus(status); // not there; or of another type, which the kernel will refuse
    }

    const OrtApi &api_;
    const OrtShapeInferContext &context_;
    onnx::node node_;
};

/// Nothing for a wrong node: ONNX Runtime takes no notice of errors here, and the run will tell.
std::vector<onnx::element_type> types_of(const onnx::node &n) {
    try {
        return onnx::output_types(n);
    } catch (const dnnl::error &) {
        return {};
    }
}

std::string fresh_name() {
    static std::atomic<std::uint64_t> count = 0;
    return "dynquant_dim_" + std::to_string(++count);
}

/// ONNX Runtime shows a dim of neither size nor name as -1, and as an output's would take that for the size. So it gets
/// a name, and of its own, since dims of one name are of one size.
void name_unknown_dims(const OrtApi &api, OrtTensorTypeAndShapeInfo &info, std::size_t rank) {
    dims sizes(rank);
    check(api, api.GetDimensions(&info, sizes.data(), rank));
    std::vector<const char *> given(rank);
    check(api, api.GetSymbolicDimensions(&info, given.data(), rank));
    std::vector<std::string> names(given.begin(), given.end()); // what given points to goes as they are set
    for (std::size_t i = 0; i < rank; ++i) {
        if (sizes[i] < 0 && names[i].empty()) names[i] = fresh_name();
        given[i] = names[i].c_str();
    }
    check(api, api.SetSymbolicDimensions(&info, given.data(), rank));
}

} // namespace

void infer_outputs(const custom_op &op, OrtShapeInferContext &context) {
    const description d(op, context);
    const auto types = types_of(d.node());
    if (types.size() != 1) return; // those of more outputs are given, and shapes come with the tensors
    auto *x = d.input(0);
    std::size_t rank = 0;
    check(op.api, op.api.GetDimensionsCount(x, &rank));
    if (rank == 0) return; // an unknown rank looks the same: the shape is left open, and the type to ONNX Runtime
    name_unknown_dims(op.api, *x, rank);
    check(op.api, op.api.SetTensorElementType(x, ort_type(types.front()))); // y has the shape of x
    check(op.api, op.api.ShapeInferContext_SetOutputTypeShape(&context, 0, x));
}

} // namespace dynquant::onnxruntime
