// Float models for tests of codify(), and accessors of the codified ones.
#pragma once

#include <string>
#include <vector>

#include "dynquant/error.hpp"
#include "model/codify/codify.hpp"
#include "model/values.hpp"
#include "onnx/element_type.hpp"

namespace dynquant::models::test {

template <typename T>
std::vector<T> elements(const graph &g, const std::string &name) {
    return values_of<T>(g.initializers.at(name));
}

inline std::vector<std::string> op_types(const graph &g) {
    std::vector<std::string> types;
    for (const auto &n : g.nodes)
        types.push_back(n.op_type);
    return types;
}

/// A float model. Shapes are given by hand, in place of shape inference.
struct float_model {
    graph g;

    float_model() {
        g.opsets[""] = 13;
        g.inputs = {{"x", 1, dims {1, 2}}};
        g.outputs = {{"y", 1, dims {1, 2}}};
        computes("x", {1, 2});
    }
    float_model &computes(const std::string &name, const dims &shape) {
        g.value_types[name] = {1, shape};
        return *this;
    }
    float_model &constant(const std::string &name, const dims &shape, const std::vector<float> &values) {
        g.initializers[name] = tensor_of(onnx::type::float32, shape, values);
        return computes(name, shape);
    }
    float_model &add(const std::string &op_type, const std::vector<std::string> &inputs, const std::string &output,
            const dims &shape, std::vector<attribute> attributes = {}) {
        g.nodes.push_back({op_type, "", "the_" + op_type, inputs, {output}, std::move(attributes)});
        return computes(output, shape);
    }
};

/// y = x W + B. max|W| = 1.27 gives W a scale of 0.01; max|x| = 2.54 in `usual` gives x a scale of 0.02.
inline float_model fully_connected() {
    float_model m;
    m.constant("w", {2, 2}, {1.27F, -0.5F, 0.25F, 0.004F}).constant("b", {2}, {1, -0.002F});
    return m.add("MatMul", {"x", "w"}, "p", {1, 2}).add("Add", {"p", "b"}, "y", {1, 2});
}

/// y = op(s, others), where s = x W + B.
inline float_model fully_connected_and(const std::string &op, const std::string &y = "y", const dims &shape = {1, 2},
        const std::vector<std::string> &others = {}) {
    auto m = fully_connected();
    m.g.nodes[1].outputs = {"s"};
    std::vector<std::string> inputs {"s"};
    inputs.insert(inputs.end(), others.begin(), others.end());
    return m.computes("s", {1, 2}).add(op, inputs, y, shape);
}

inline const value_ranges usual = {{"x", {-2.54F, 1}}, {"y", {-1, 5.08F}}};

inline std::string message_of(const graph &g, const value_ranges &ranges = usual) {
    try {
        codify(g, ranges, {});
    } catch (const error &e) {
        return e.what();
    }
    return "no error";
}

} // namespace dynquant::models::test
