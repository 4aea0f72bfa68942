#include "model/codify/layers.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "model/refusal.hpp"
#include "model/values.hpp"
#include "onnx/element_type.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

bool is_one_of(const node &n, std::initializer_list<const char *> op_types) {
    return n.domain.empty()
            && std::any_of(op_types.begin(), op_types.end(), [&](const char *op) { return n.op_type == op; });
}

template <typename T>
T attribute_of(const node &n, const char *name, T default_value) {
    for (const auto &a : n.attributes)
        if (a.name == name)
            if (const auto *value = std::get_if<T>(&a.value)) return *value;
    return default_value;
}

const std::string &input(const node &n, std::size_t i) {
    static const std::string none;
    return i < n.inputs.size() ? n.inputs[i] : none;
}

/// Whether a constant has one element, or one for each column of a value, in shapes that broadcast.
bool meets_columns(dims constant, const dims &value) {
    if (constant.size() > value.size()) return false;
    if (!constant.empty() && constant.back() == value.back()) constant.back() = 1;
    return volume(constant) == 1;
}

class layer_reader {
  public:
    explicit layer_reader(const graph &g)
        : g_(g) {}

    std::vector<float_step> steps() {
        std::vector<float_step> result;
        for (const auto &n : g_.nodes) {
            if (taken_.contains(&n)) continue;
            if (is_one_of(n, {"Gemm", "MatMul", "Conv"}))
                result.push_back({layer(n), nullptr});
            else if (is_one_of(n, {"Flatten", "Reshape", "Transpose", "MaxPool"}))
                result.push_back({std::nullopt, &n});
            else
                refuse_place(n);
        }
        return result;
    }

  private:
    /// For Relu, Tanh, Sigmoid or Add outside of a layer.
    [[noreturn]] static void refuse_place(const node &n) {
        refuse(n, status::unimplemented,
                "expected it right after a Gemm, MatMul or Conv whose result nothing else takes (Add: of MatMul, "
                "with a constant for each column), given it elsewhere");
    }

    float_layer layer(const node &product) {
        float_layer l;
        l.product = &product;
        l.x = input(product, 0);
        l.sum = l.y = product.outputs.front();
        if (g_.initializers.contains(l.x))
            refuse(product, status::unimplemented, "expected weights as its second input");
        read_weights(l);
        read_bias(l);
        l.activation = only_user(l.y, {"Relu", "Tanh", "Sigmoid"});
        if (l.activation) l.y = take(*l.activation);
        l.rank = static_cast<int>(g_.value_types.at(l.y).shape.size());
        return l;
    }

    void read_weights(float_layer &l) {
        const node &n = *l.product;
        const auto &w = constant(n, 1);
        l.weight_shape = w.what.shape;
        l.weights = floats(n, 1);
        const auto expected = l.is_convolution() ? "3 dimensions or more" : "2 dimensions";
        if (l.is_convolution() ? l.weight_shape.size() < 3 : l.weight_shape.size() != 2)
            refuse(n, status::invalid_shape, "weights '", n.inputs[1], "': expected ", expected, ", given shape ",
                    to_string(l.weight_shape));
        if (n.op_type == "Gemm") read_gemm(l);
        l.channels = l.is_convolution() ? l.weight_shape[0] : l.weight_shape[1];
    }

    /// Converts Gemm's alpha X W or alpha X W^T to MatMul's X W.
    void read_gemm(float_layer &l) {
        const node &n = *l.product;
        if (attribute_of<std::int64_t>(n, "transA", 0) != 0)
            refuse(n, status::unimplemented, "attribute 'transA': expected 0, given 1");
        if (attribute_of<std::int64_t>(n, "transB", 0) != 0) {
            const auto rows = l.weight_shape[0], columns = l.weight_shape[1];
            std::vector<float> transposed(l.weights.size());
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t j = 0; j < columns; ++j)
                    transposed[static_cast<std::size_t>(j * rows + i)] =
                            l.weights[static_cast<std::size_t>(i * columns + j)];
            l.weights = std::move(transposed);
            l.weight_shape = {columns, rows};
        }
        multiply(n, "alpha", l.weights);
    }

    static void multiply(const node &n, const char *attribute, std::vector<float> &values) {
        const float factor = attribute_of(n, attribute, 1.0F);
        for (auto &v : values) {
            if (!std::isfinite(v * factor))
                refuse(n, status::invalid_arguments, "attribute '", attribute, "': expected finite products, given ",
                        factor, " and ", v);
            v *= factor;
        }
    }

    void read_bias(float_layer &l) {
        const node &n = *l.product;
        if (!input(n, 2).empty()) { // Gemm's C and Conv's B
            l.bias = per_channel(l, n, 2);
            if (n.op_type == "Gemm") multiply(n, "beta", l.bias);
        } else if (n.op_type == "MatMul") {
            read_added_bias(l);
        }
    }

    /// Reads the bias of a MatMul from an Add that follows.
    void read_added_bias(float_layer &l) {
        const node *add = only_user(l.y, {"Add"});
        if (!add) return;
        const std::size_t side = input(*add, 0) == l.y ? 1 : 0;
        const auto at = g_.initializers.find(input(*add, side));
        if (at == g_.initializers.end() || at->second.what.shape.size() > g_.value_types.at(l.y).shape.size()) return;
        l.bias = per_channel(l, *add, side);
        l.sum = l.y = take(*add);
    }

    /// Reads a constant of one value, or of one per output channel: Conv's B, or one that broadcasts to y.
    std::vector<float> per_channel(const float_layer &l, const node &n, std::size_t i) const {
        const auto &shape = constant(n, i).what.shape, &y = g_.value_types.at(l.y).shape;
        if (l.is_convolution() ? shape != dims {l.channels} : !meets_columns(shape, y))
            refuse(n, status::invalid_shape, "bias '", n.inputs[i], "': expected ",
                    l.is_convolution() ? "a value" : "one value, or one", " for each of ", l.channels,
                    l.is_convolution() ? " filters" : " columns", ", given shape ", to_string(shape));
        auto values = floats(n, i);
        if (values.size() == 1) values.resize(static_cast<std::size_t>(l.channels), values.front());
        return values;
    }

    /// The only user of a value, if its operator is one of these and the value is no output of the graph. Else null.
    const node *only_user(const std::string &value, std::initializer_list<const char *> op_types) const {
        const node *user = nullptr;
        for (const auto &output : g_.outputs)
            if (output.name == value) return nullptr;
        for (const auto &n : g_.nodes)
            if (const auto uses = std::count(n.inputs.begin(), n.inputs.end(), value); uses > 0) {
                if (user || uses > 1) return nullptr;
                user = &n;
            }
        return user && is_one_of(*user, op_types) ? user : nullptr;
    }

    /// Marks a node as part of a layer. Returns its output.
    const std::string &take(const node &n) {
        taken_.insert(&n);
        return n.outputs.front();
    }

    const tensor &constant(const node &n, std::size_t i) const {
        const auto at = g_.initializers.find(input(n, i));
        if (at == g_.initializers.end())
            refuse(n, status::invalid_arguments, "input '", input(n, i), "': expected an initializer, given ",
                    input(n, i).empty() ? "nothing" : "a value that is computed");
        return at->second;
    }

    std::vector<float> floats(const node &n, std::size_t i) const {
        const auto &t = constant(n, i);
        if (t.what.type != onnx::element_type_of(data_type::f32))
            refuse(n, status::invalid_data_type, "input '", input(n, i), "': expected type float, given ",
                    onnx::name_of(t.what.type));
        auto values = values_of<float>(t);
        for (std::size_t k = 0; k < values.size(); ++k)
            if (!std::isfinite(values[k]))
                refuse(n, status::invalid_arguments, "input '", input(n, i), "': expected finite numbers, given ",
                        values[k], " at element ", k);
        return values;
    }

    const graph &g_;
    std::set<const node *> taken_;
};

} // namespace

std::int64_t float_layer::channel_of(std::int64_t weight) const {
    if (!is_convolution()) return weight % channels;
    return weight / (static_cast<std::int64_t>(weights.size()) / channels);
}

void check_codified_operators(const graph &g) {
    check_operators(g,
            {"Add", "Conv", "Flatten", "Gemm", "MatMul", "MaxPool", "Relu", "Reshape", "Sigmoid", "Tanh", "Transpose"});
}

std::vector<float_step> steps_of(const graph &g) {
    check_codified_operators(g);
    return layer_reader(g).steps();
}

} // namespace dynquant::models
