#include "model/match_rules.hpp"

#include <algorithm>
#include <cmath>

#include "model/channels.hpp"
#include "model/values.hpp"
#include "onnx/element_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::models {

const tensor *candidate::constant(std::size_t input) const {
    if (input >= n.inputs.size()) return nullptr;
    const auto found = g.initializers.find(n.inputs[input]);
    return found == g.initializers.end() ? nullptr : &found->second;
}

namespace {

namespace type = onnx::type;

template <typename... Parts>
reason because(const candidate &c, const Parts &...parts) {
    return concat(label(c.n), ": ", parts...);
}

reason expect_output(const candidate &c, onnx::type_set expected) {
    if (expected.contains(c.output().type)) return std::nullopt;
    return because(c, "expected a result of ", onnx::names_of(expected), ", given ", onnx::name_of(c.output().type));
}

/// The constant operand of Add or Mul. Null where it does not fit; then `why` is the reason.
const tensor *other_operand(const candidate &c, reason &why) {
    const std::size_t other = c.n.inputs[0] == c.value ? 1 : 0;
    const auto *constant = c.constant(other);
    const auto &shape = c.type_of(c.value).shape;
    if (!constant)
        why = because(c, "expected a constant beside '", c.value, "', given '", c.n.inputs[other], "'");
    else if (!meets_channels(constant->what.shape, shape, c.channel_axis))
        why = because(c, "'", c.n.inputs[other], "': expected one value, or one for each channel of shape ",
                to_string(shape), ", given shape ", to_string(constant->what.shape));
    return why ? nullptr : constant;
}

reason accept_bias(const candidate &c, layer &l) {
    reason why;
    l.bias = other_operand(c, why);
    return why;
}

reason accept_multiplier(const candidate &c, layer &l) {
    reason why;
    const auto *constant = other_operand(c, why);
    if (!constant) return why;
    for (const auto multiplier : values_of<float>(*constant))
        if (!(multiplier > 0) || std::isinf(multiplier))
            return because(c, "expected positive multipliers, given ", multiplier);
    l.multipliers.push_back(constant);
    return std::nullopt;
}

reason accept_relu(const candidate &, layer &l) {
    l.relu = true;
    return std::nullopt;
}

reason accept_cast_to_float(const candidate &c, layer &) {
    return expect_output(c, {type::float32});
}

reason accept_cast_to_float16(const candidate &c, layer &l) {
    if (auto why = expect_output(c, {type::float16})) return why;
    if (l.rescaled == type::undefined) l.rescaled = type::float16;
    return std::nullopt;
}

reason accept_any(const candidate &, layer &) {
    return std::nullopt;
}

/// Checks that scale and zero point are constants of one value. The zero point is optional.
reason expect_one_scale(const candidate &c) {
    if (c.n.inputs.front() != c.value) return because(c, "expected '", c.value, "' as its first input");
    for (std::size_t input = 1; input < c.n.inputs.size(); ++input) {
        if (c.n.inputs[input].empty()) continue;
        const auto *constant = c.constant(input);
        if (!constant || volume(constant->what.shape) != 1)
            return because(c, "'", c.n.inputs[input], "': expected a constant of one value");
    }
    return std::nullopt;
}

reason accept_dequantize(const candidate &c, layer &) {
    if (auto why = expect_one_scale(c)) return why;
    return expect_output(c, {type::float32});
}

reason accept_result(const candidate &c, layer &) {
    if (auto why = expect_one_scale(c)) return why;
    return expect_output(c, {type::uint8, type::int8});
}

/// Whether QuantizeLinear divides in f32. Its attribute `precision`, since opset 23, may select another type.
bool divides_in_float(const node &n) {
    return std::ranges::all_of(n.attributes, [](const attribute &a) {
        const auto *value = std::get_if<std::int64_t>(&a.value);
        return a.name != "precision" || (value && (*value == type::undefined || *value == type::float32));
    });
}

/// Accepts QuantizeLinear with scale 1 and zero point 0, which only rounds and saturates.
reason accept_rescaled(const candidate &c, layer &l) {
    if (auto why = accept_result(c, l)) return why;
    const auto &scale = *c.constant(1);
    if (scale.what.type != type::float32 || values_of<float>(scale).front() != 1)
        return because(c, "'", c.n.inputs[1], "': expected scale 1, given another");
    if (const auto *zero_point = c.constant(2); zero_point && zero_point->data.front() != std::byte {0})
        return because(c, "'", c.n.inputs[2], "': expected zero point 0, given another");
    if (!divides_in_float(c.n)) return because(c, "attribute 'precision': expected float, given another");
    l.rescaled = c.output().type;
    return std::nullopt;
}

constexpr const char *add[] = {"Add"}, *cast[] = {"Cast"}, *mul[] = {"Mul"}, *relus[] = {"Relu"},
                     *quantize[] = {"QuantizeLinear"}, *dequantize[] = {"DequantizeLinear"},
                     *functions[] = {"Tanh", "Sigmoid"};

} // namespace

constinit const step_rule bias_rule = {add, accept_bias}, cast_to_float_rule = {cast, accept_cast_to_float},
                          multiplier_rule = {mul, accept_multiplier}, relu_rule = {relus, accept_relu},
                          rescaled_rule = {quantize, accept_rescaled},
                          dequantize_rule = {dequantize, accept_dequantize},
                          cast_to_float16_rule = {cast, accept_cast_to_float16},
                          function_rule = {functions, accept_any},
                          cast_from_float16_rule = {cast, accept_cast_to_float},
                          result_rule = {quantize, accept_result};

} // namespace dynquant::models
