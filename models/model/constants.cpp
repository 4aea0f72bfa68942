// Replaces Constant nodes by initializers.
#include <iterator>

#include "model/refusal.hpp"
#include "model/values.hpp"
#include "onnx/element_type.hpp"

namespace dynquant::models {
namespace {

/// Converts the only attribute of a Constant.
struct constant_value {
    const node &n;

    tensor operator()(const tensor &value) const { return value; }
    tensor operator()(std::int64_t value) const { return tensor_of(onnx::type::int64, {}, std::vector {value}); }
    tensor operator()(float value) const { return tensor_of(onnx::type::float32, {}, std::vector {value}); }
    tensor operator()(const std::vector<std::int64_t> &values) const {
        return tensor_of(onnx::type::int64, {std::ssize(values)}, values);
    }
    tensor operator()(const std::vector<float> &values) const {
        return tensor_of(onnx::type::float32, {std::ssize(values)}, values);
    }
    template <typename Other>
    tensor operator()(const Other &) const {
        refuse(n, status::unimplemented, "attribute: expected numbers, given another kind of constant");
    }
};

} // namespace

void inline_constants(graph &g) {
    for (const auto &n : g.nodes) {
        if (n.op_type != "Constant" || !n.domain.empty()) continue;
        if (n.attributes.size() != 1 || n.outputs.size() != 1)
            refuse(n, status::invalid_arguments, "expected one attribute and one output, given ", n.attributes.size(),
                    " and ", n.outputs.size());
        g.initializers[n.outputs.front()] = std::visit(constant_value {n}, n.attributes.front().value);
    }
    std::erase_if(g.nodes, [](const node &n) { return n.op_type == "Constant" && n.domain.empty(); });
}

} // namespace dynquant::models
