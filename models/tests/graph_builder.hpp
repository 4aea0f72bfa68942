// Builds graphs for tests, node by node.
#pragma once

#include <string>
#include <vector>

#include "model_support.hpp"
#include "onnx/element_type.hpp"

namespace dynquant::models::test {

namespace type = onnx::type;

/// The first input of each node is the result of the node before it. A result has the name of its node: "add_2" is that
/// of the second node.
class graph_builder {
  public:
    explicit graph_builder(const tensor_type &x, std::int64_t opset = 13) {
        g.opsets[""] = opset;
        g.inputs.push_back({"x", x.type, x.shape});
    }

    template <typename T>
    std::string constant(onnx::element_type element, const dims &shape, const std::vector<T> &values) {
        const auto name = "c" + std::to_string(g.initializers.size());
        g.initializers[name] = tensor_of(element, shape, values);
        return name;
    }
    std::string number(float value) { return constant(type::float32, {}, std::vector {value}); }

    graph_builder &then(
            const std::string &op, std::vector<std::string> others = {}, std::vector<attribute> attributes = {}) {
        others.insert(others.begin(), last);
        return node_of(op, std::move(others), std::move(attributes));
    }

    graph_builder &node_of(
            const std::string &op, std::vector<std::string> inputs, std::vector<attribute> attributes = {}) {
        last = "v" + std::to_string(g.nodes.size() + 1);
        const auto name = op + "_" + std::to_string(g.nodes.size() + 1);
        g.nodes.push_back({op, "", name, std::move(inputs), {last}, std::move(attributes)});
        return *this;
    }

    graph_builder &cast(onnx::element_type to) { return then("Cast", {}, {{"to", std::int64_t {to}}}); }
    graph_builder &mul(float by) { return then("Mul", {number(by)}); }

    /// `zero_point` has the type `type`.
    graph_builder &quantize(onnx::element_type to, float scale = 1, std::int8_t zero_point = 0) {
        return then("QuantizeLinear", {number(scale), constant(to, {}, std::vector {zero_point})});
    }
    graph_builder &dequantize(onnx::element_type from, float scale) {
        return then("DequantizeLinear", {number(scale), constant(from, {}, std::vector<std::int8_t> {0})});
    }

    /// Weights from a fixed sequence.
    std::string weights(const dims &shape, std::size_t count) {
        std::vector<std::int8_t> values(count);
        for (std::size_t i = 0; i < count; ++i)
            values[i] = static_cast<std::int8_t>(i * 37 % 255);
        return constant(type::int8, shape, values);
    }

    /// The graph, with the last value as a further output.
    graph finished() {
        g.outputs.push_back({last});
        return g;
    }

    graph g;
    std::string last = "x";
};

} // namespace dynquant::models::test
