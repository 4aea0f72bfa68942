// Replaces Constant nodes by initializers.
#include <cstring>

#include "model/refusal.hpp"
#include "onnx/element_type.hpp"

namespace dynquant::models {
namespace {

/// A tensor of rank 1, or a scalar.
template <typename T>
tensor tensor_from(onnx::element_type type, const T *values, std::size_t count, bool scalar) {
    const auto *bytes = reinterpret_cast<const std::byte *>(values);
    return {{type, scalar ? dims {} : dims {static_cast<std::int64_t>(count)}}, {bytes, bytes + count * sizeof(T)}};
}

/// Converts the only attribute of a Constant.
struct constant_value {
    const node &n;

    tensor operator()(const tensor &value) const { return value; }
    tensor operator()(std::int64_t value) const { return tensor_from(onnx::type::int64, &value, 1, true); }
    tensor operator()(float value) const { return tensor_from(onnx::type::float32, &value, 1, true); }
    tensor operator()(const std::vector<std::int64_t> &values) const {
        return tensor_from(onnx::type::int64, values.data(), values.size(), false);
    }
    tensor operator()(const std::vector<float> &values) const {
        return tensor_from(onnx::type::float32, values.data(), values.size(), false);
    }
    tensor operator()(const std::string &) const { refuse_kind(); }
    tensor operator()(const attribute::other &) const { refuse_kind(); }

  private:
    [[noreturn]] void refuse_kind() const {
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
