#include "model/codify/codify.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "model/codify/integers.hpp"
#include "model/codify/names.hpp"
#include "model/refusal.hpp"
#include "model/rescale.hpp"
#include "model/values.hpp"
#include "onnx/element_type.hpp"

namespace dynquant::models {
namespace {

using std::int64_t;

/// Inputs beyond these round to the function's largest result: Tanh has 127 steps from 0 to 1, atanh(1 - 1 / 254);
/// Sigmoid has 255, ln(509).
constexpr double tanh_saturates = 2.7677, sigmoid_saturates = 6.2324;

/// The quantized counterpart of a value, by equation 1, X = scale_X X_q.
struct quantized_value {
    std::string name;
    double scale = 1;
    bool is_unsigned = false;
};

double levels(bool is_unsigned) {
    return is_unsigned ? 255 : 127;
}

/// Writes the pre-quantized model, node by node.
class writer {
  public:
    writer(const graph &g, const value_ranges &ranges, const codify_options &opts)
        : g_(g)
        , ranges_(ranges)
        , opts_(opts) {
        for (const auto &[name, value] : g.initializers)
            values_.reserve(name);
        for (const auto &input : g.inputs)
            values_.reserve(input.name);
        for (const auto &n : g.nodes) {
            nodes_.reserve(n.name);
            for (const auto &output : n.outputs)
                values_.reserve(output);
        }
    }

    codified write() {
        constexpr int64_t oldest = 13; // of MaxPool of 8 bits, and scales for each channel
        result_.model.name = g_.name;
        result_.model.inputs = g_.inputs;
        result_.model.outputs = g_.outputs;
        const auto given = g_.opsets.find("");
        result_.model.opsets[""] = given == g_.opsets.end() ? oldest : std::max(given->second, oldest);
        for (const auto &input : g_.inputs)
            quantize_input(input.name);
        for (const auto &step : steps_of(g_))
            step.layer ? write_layer(*step.layer) : write_pass_through(*step.pass_through);
        for (const auto &output : g_.outputs)
            dequantize_output(output.name);
        return std::move(result_);
    }

  private:
    // ---- Inputs and outputs ----

    void quantize_input(const std::string &x) {
        const auto &range = range_of(x);
        quantized_value q {"", 1, range.lowest >= 0};
        q.scale = scale_of(x, range.magnitude(), q.is_unsigned);
        q.name = add("QuantizeLinear", x + "_quantize",
                {x, scalar(x + "_quantized_scale", q.scale), zero(q.is_unsigned)}, x + "_quantized");
        quantized_[x] = q;
    }

    void dequantize_output(const std::string &y) {
        const auto is_it = [&](const port &input) { return input.name == y; };
        if (std::ranges::any_of(g_.inputs, is_it)) return; // an output that is an input needs no node
        const auto &q = quantized(y);
        result_.model.nodes.push_back({"DequantizeLinear", "", nodes_.unique(y + "_dequantize"),
                {q.name, scalar(y + "_scale", q.scale), zero(q.is_unsigned)}, {y}});
    }

    // ---- Layers and the nodes between them ----

    void write_pass_through(const node &n) {
        const auto &x = quantized(n.inputs.front());
        auto copy = n;
        copy.inputs.front() = x.name;
        copy.outputs = {values_.unique(n.outputs.front() + "_quantized")};
        for (std::size_t i = 1; i < n.inputs.size(); ++i)
            if (const auto at = g_.initializers.find(n.inputs[i]); at != g_.initializers.end())
                result_.model.initializers.insert(*at);
        quantized_[n.outputs.front()] = {copy.outputs.front(), x.scale, x.is_unsigned};
        result_.model.nodes.push_back(std::move(copy));
    }

    void write_layer(const float_layer &l) {
        const auto &x = quantized(l.x);
        auto integers = integers_of(l, {x.scale, x.is_unsigned ? 255 : 128}, opts_.per_channel);
        std::ranges::move(integers.notes, std::back_inserter(result_.notes));
        auto sum_scales = integers.scales; // scales of the int32 sums, equation 5
        for (auto &s : sum_scales)
            s *= x.scale;
        auto value = add_product(l, x, integers.weights);
        if (!integers.bias.empty())
            value = add("Add", l.y + "_add",
                    {value, constant(l.y + "_bias", data_type::s32, per_channel_shape(l), integers.bias)},
                    l.y + "_sum");
        value = add("Cast", l.y + "_cast", {value}, l.y + "_f32", {{"to", type_of(data_type::f32)}});
        quantized_[l.y] = l.ends_with("Tanh") || l.ends_with("Sigmoid") ? write_activation(l, value, sum_scales)
                                                                        : write_linear(l, value, sum_scales);
    }

    std::string add_product(const float_layer &l, const quantized_value &x, const std::vector<std::int8_t> &weights) {
        const auto w = constant(l.y + "_weights", data_type::s8, l.weight_shape, weights);
        return add(l.is_convolution() ? "ConvInteger" : "MatMulInteger", l.y + "_product", {x.name, w},
                l.y + "_integer", l.is_convolution() ? l.product->attributes : std::vector<attribute> {});
    }

    /// Adds a layer without activation or with Relu: equation 4, figures 1 to 3.
    quantized_value write_linear(const float_layer &l, const std::string &sum, const std::vector<double> &sum_scales) {
        const auto &range = range_of(l.y);
        quantized_value y {"", 1, l.activation != nullptr};
        y.scale = scale_of(l.y, range.magnitude(), y.is_unsigned);
        auto value = add_rescale(l, sum, sum_scales, y.scale);
        if (l.activation) value = add("Relu", l.y + "_relu", {value}, l.y + "_positive");
        y.name = add_round(y.is_unsigned, l.y, value);
        return y;
    }

    /// Adds a layer with Tanh or Sigmoid: figures 4 to 6.
    quantized_value write_activation(const float_layer &l, std::string value, const std::vector<double> &sum_scales) {
        const bool is_tanh = l.ends_with("Tanh");
        quantized_value y {"", 1 / levels(!is_tanh), !is_tanh};
        const bool in_float16 = opts_.activation == codify_options::precision::fp16;
        value = in_float16 ? cast_to_float16(l, add_rescale(l, value, sum_scales, 1))
                           : quantize_activation_input(l, value, sum_scales);
        value = add(l.activation->op_type, l.y + "_activation", {value}, l.y + "_real");
        if (in_float16)
            value = add("Cast", l.y + "_widen", {value}, l.y + "_real_f32", {{"to", type_of(data_type::f32)}});
        y.name = add("QuantizeLinear", l.y + "_quantize", {value, scalar(l.y + "_scale", y.scale), zero(y.is_unsigned)},
                l.y + "_quantized");
        return y;
    }

    std::string cast_to_float16(const float_layer &l, const std::string &value) {
        return add("Cast", l.y + "_narrow", {value}, l.y + "_f16", {{"to", type_of(data_type::f16)}});
    }

    /// Quantizes the activation's input to int8, over the range where the function is not saturated.
    std::string quantize_activation_input(
            const float_layer &l, const std::string &value, const std::vector<double> &sum_scales) {
        const double saturates = l.ends_with("Tanh") ? tanh_saturates : sigmoid_saturates;
        const auto magnitude = std::fmin(range_of(l.sum).magnitude(), saturates);
        const double scale = scale_of(l.sum, magnitude, false);
        const auto x = add_round(false, l.y + "_input", add_rescale(l, value, sum_scales, scale));
        return add("DequantizeLinear", l.y + "_input_dequantize", {x, scalar(l.y + "_input_scale", scale), zero(false)},
                l.y + "_input_real");
    }

    /// Multiplies by equation 4's factor, as one Mul or two (section 3.1).
    std::string add_rescale(
            const float_layer &l, const std::string &value, const std::vector<double> &sum_scales, double scale) {
        std::vector<float> multipliers, integers, shifts;
        for (const auto s : sum_scales) {
            const double multiplier = s / scale;
            if (!has_rescale(multiplier))
                refuse(*l.product, status::invalid_arguments,
                        "rescale: expected a multiplier of 2^-126 to 2^24, given ", multiplier,
                        " (scales of weights and x ", s, ", of the result ", scale, ")");
            const auto r = rescale_of(multiplier);
            multipliers.push_back(static_cast<float>(multiplier));
            integers.push_back(static_cast<float>(r.quant_scale));
            shifts.push_back(std::ldexp(1.0F, -r.shift));
        }
        const auto add_mul = [&](const std::string &by, const std::string &what, const std::vector<float> &values) {
            const auto shape = values.size() == 1 ? dims {} : per_channel_shape(l);
            return add("Mul", l.y + "_times_" + what, {by, constant(l.y + "_" + what, data_type::f32, shape, values)},
                    l.y + "_by_" + what);
        };
        if (opts_.rescale == codify_options::rescaling::one_mul) return add_mul(value, "quant_multiplier", multipliers);
        return add_mul(add_mul(value, "quant_scale", integers), "quant_shift", shifts);
    }

    /// Rounds and saturates (section 3.1): QuantizeLinear with scale 1 and zero point 0.
    std::string add_round(bool is_unsigned, const std::string &name, const std::string &value) {
        return add("QuantizeLinear", name + "_round", {value, one(), zero(is_unsigned)}, name + "_quantized");
    }

    // ---- Scales ----

    const value_range &range_of(const std::string &value) const {
        const auto at = ranges_.find(value);
        if (at == ranges_.end())
            refuse(status::invalid_arguments, "value '", value, "': expected its range, given none");
        if (!std::isfinite(at->second.lowest) || !std::isfinite(at->second.highest))
            refuse(status::invalid_arguments, "value '", value, "': expected finite numbers in calibration, given ",
                    at->second.lowest, " to ", at->second.highest);
        return at->second;
    }

    double scale_of(const std::string &value, double magnitude, bool is_unsigned) {
        if (magnitude > 0) return magnitude / levels(is_unsigned);
        result_.notes.push_back(concat("value '", value, "': 0 throughout calibration; its scale is 1"));
        return 1;
    }

    /// The shape of constants per channel: [n] for matrix products, [1, c, 1, 1] for images.
    static dims per_channel_shape(const float_layer &l) {
        if (!l.is_convolution()) return {l.channels};
        dims shape(static_cast<std::size_t>(l.rank), 1);
        shape[1] = l.channels;
        return shape;
    }

    // ---- Nodes and constants ----

    const quantized_value &quantized(const std::string &value) const {
        const auto at = quantized_.find(value);
        if (at == quantized_.end())
            refuse(status::invalid_arguments, "value '", value, "': expected one that is computed, given a constant");
        return at->second;
    }

    /// Adds a node. Returns the name of its output.
    std::string add(const std::string &op_type, const std::string &name, std::vector<std::string> inputs,
            const std::string &wanted, std::vector<attribute> attributes = {}) {
        auto output = values_.unique(wanted);
        result_.model.nodes.push_back(
                {op_type, "", nodes_.unique(name), std::move(inputs), {output}, std::move(attributes)});
        return output;
    }

    static int64_t type_of(data_type type) { return onnx::element_type_of(type); }

    /// Adds an initializer, or reuses an equal one of that name. Returns its name.
    template <typename T>
    std::string constant(const std::string &wanted, data_type type, const dims &shape, const std::vector<T> &values) {
        auto t = tensor_of(onnx::element_type_of(type), shape, values);
        auto &written = constants_[wanted];
        for (const auto &name : written)
            if (result_.model.initializers.at(name) == t) return name;
        written.push_back(values_.unique(wanted));
        result_.model.initializers.emplace(written.back(), std::move(t));
        return written.back();
    }
    std::string scalar(const std::string &name, double value) {
        return constant<float>(name, data_type::f32, {}, {static_cast<float>(value)});
    }
    std::string one() { return scalar("one", 1); }
    std::string zero(bool is_unsigned) {
        return is_unsigned ? constant<std::uint8_t>("zero_u8", data_type::u8, {}, {0})
                           : constant<std::int8_t>("zero_s8", data_type::s8, {}, {0});
    }

    const graph &g_;
    const value_ranges &ranges_;
    const codify_options opts_;
    names values_, nodes_;
    std::map<std::string, std::vector<std::string>> constants_; // names of initializers, by wanted name
    std::map<std::string, quantized_value> quantized_;
    codified result_;
};

} // namespace

std::vector<std::string> values_to_calibrate(const graph &g) {
    std::vector<std::string> values;
    for (const auto &input : g.inputs)
        values.push_back(input.name);
    for (const auto &step : steps_of(g))
        if (step.layer) {
            if (step.layer->sum != step.layer->y) values.push_back(step.layer->sum);
            values.push_back(step.layer->y);
        }
    return values;
}

codified codify(const graph &g, const value_ranges &ranges, const codify_options &opts) {
    return writer(g, ranges, opts).write();
}

} // namespace dynquant::models
