#include "layers/match/matcher.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "elements/table.hpp"
#include "layers/match/cursor.hpp"
#include "layers/match/normalization.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers::match {
namespace {

using kind = post_op_kind;

bool is_byte(std::optional<data_type> type) {
    return type == data_type::u8 || type == data_type::s8;
}

/// Whether ONNX takes it for a single parameter: a scalar, or a vector of one element.
bool is_one_value(const dims &shape) {
    return shape.empty() || shape == dims {1};
}

/// A scale for each row of `inner` elements, by the rule of ONNX's DynamicQuantizeLinear.
bool quantizes_rows(const graph &g, const node &n, std::int64_t inner) {
    return n.is(op::dynamic_quantize_rows) && n.outputs.size() == 3 && g.input(n, 0).type == data_type::f32
            && n.get("block_size", std::int64_t {0}) >= inner && g.output(n).type == data_type::u8
            && g.values[n.outputs[1]].type == data_type::f32;
}

// ---- Operators of one element each, whose parameters are constant ----

template <kind what>
layer_part by_channel(const cursor &c, const node &n) {
    const auto other = c.other_input(n);
    if (const auto why = c.why_not_by_channel(other, data_type::f32); !why.empty()) return ends_at(c, n, why);
    return over(c, n, {{what, values_of<float>(*c.g().values[other].known)}});
}

/// The order of the inputs matters: the value must be the first one.
template <kind what>
layer_part by_second_input(const cursor &c, const node &n) {
    return n.inputs.front() == c.y ? by_channel<what>(c, n) : ends_at_inputs(c, n);
}

/// Constants, or a tensor that comes with the run, of which a layer has one.
layer_part add(const cursor &c, const node &n) {
    const auto other = c.other_input(n);
    if (c.adds_tensor || !is_summand(c, c.g().values[other])) return by_channel<kind::add>(c, n);
    auto found = over(c, n, {{kind::add_tensor}});
    found.tensor = other;
    return found;
}

layer_part subtract(const cursor &c, const node &n) {
    auto found = by_second_input<kind::add>(c, n);
    for (auto &s : found.post_ops)
        for (auto &value : s.a)
            value = -value;
    return found;
}

layer_part relu(const cursor &c, const node &n) {
    return over(c, n, {{kind::clip, {0.0F}, {std::numeric_limits<float>::infinity()}}});
}

layer_part leaky_relu(const cursor &c, const node &n) {
    return over(c, n, {{kind::leaky_relu, {n.get("alpha", 0.01F)}}});
}

/// The bounds of Clip are inputs, or attributes (ONNX before opset 11). Those that are left out are finite.
layer_part clip(const cursor &c, const node &n) {
    constexpr auto most = std::numeric_limits<float>::max();
    std::vector<float> bounds[] = {{n.get("min", -most)}, {n.get("max", most)}};
    for (std::size_t i = 0; i < 2; ++i) {
        if (!n.has(i + 1)) continue;
        const auto &bound = c.g().input(n, i + 1);
        const auto value = one_float(bound);
        if (!value) return ends_at(c, n, "'", bound.name, "': expected a constant float of one value");
        bounds[i] = {*value};
    }
    return over(c, n, {{kind::clip, std::move(bounds[0]), std::move(bounds[1])}});
}

layer_part hard_sigmoid(const cursor &c, const node &n) {
    return over(c, n,
            {{kind::multiply, {n.get("alpha", 0.2F)}}, {kind::add, {n.get("beta", 0.5F)}},
                    {kind::clip, {0.0F}, {1.0F}}});
}

/// HardSwish-14 is x times HardSigmoid with these.
layer_part hard_swish(const cursor &c, const node &n) {
    return over(c, n,
            {{kind::save}, {kind::multiply, {1.0F / 6}}, {kind::add, {0.5F}}, {kind::clip, {0.0F}, {1.0F}},
                    {kind::multiply_saved}});
}

template <kind what>
layer_part curve(const cursor &c, const node &n) {
    return over(c, n, {{what}});
}

/// A power of 2 or 3, by products.
layer_part power(const cursor &c, const node &n) {
    if (n.inputs.front() != c.y) return ends_at_inputs(c, n);
    const auto &exponent = c.g().input(n, 1);
    const auto value = one_float(exponent);
    if (!value) return ends_at(c, n, "'", exponent.name, "': expected a constant float of one value");
    if (value != 2 && value != 3) return ends_at(c, n, "'", exponent.name, "': expected 2 or 3, given ", *value);
    std::vector<post_op> steps {{kind::save}, {kind::multiply_saved}};
    if (value == 3) steps.push_back({kind::multiply_saved});
    return over(c, n, std::move(steps));
}

/// Gelu-20 is (0.5 * x) * (1 + Erf(x / sqrt(2))), or with Tanh(sqrt(2 / pi) * (x + 0.044715 * Pow(x, 3))) in place of
/// Erf.
layer_part gelu(const cursor &c, const node &n) {
    const auto by = n.get("approximate", std::string("none"));
    if (by == "none")
        return over(c, n,
                {{kind::save}, {kind::divide, {std::sqrt(2.0F)}}, {kind::erf}, {kind::add, {1}},
                        {kind::multiply_saved, {0.5F}}});
    if (by != "tanh") return ends_at(c, n, "attribute 'approximate': expected none or tanh, given ", by);
    constexpr auto two_over_pi = 0.63661977236758134308F;
    return over(c, n,
            {{kind::save}, {kind::multiply_saved}, {kind::multiply_saved}, {kind::multiply, {0.044715F}},
                    {kind::add_saved}, {kind::multiply, {std::sqrt(two_over_pi)}}, {kind::tanh}, {kind::add, {1}},
                    {kind::multiply_saved, {0.5F}}});
}

/// com.microsoft's, with a bias by channel.
layer_part bias_gelu(const cursor &c, const node &n) {
    auto found = by_second_input<kind::add>(c, n);
    if (found.end.empty()) std::ranges::move(gelu(c, n).post_ops, std::back_inserter(found.post_ops));
    return found;
}

/// com.microsoft's, perhaps with a bias: 0.5 * (x * (1 + Tanh(x * (0.797885 + 0.035677 * (x * x))))).
layer_part fast_gelu(const cursor &c, const node &n) {
    auto found = n.has(1) ? by_second_input<kind::add>(c, n) : over(c, n);
    if (!found.end.empty()) return found;
    for (auto &&s : std::vector<post_op> {{kind::save}, {kind::multiply_saved}, {kind::multiply, {0.035677F}},
                 {kind::add, {0.797885F}}, {kind::multiply_saved}, {kind::tanh}, {kind::add, {1}},
                 {kind::multiply_saved}, {kind::multiply, {0.5F}}})
        found.post_ops.push_back(std::move(s));
    return found;
}

/// Swish-24 is x * Sigmoid(alpha * x), and so is com.microsoft's QuickGelu.
layer_part swish(const cursor &c, const node &n) {
    const auto alpha = n.get("alpha", n.is(op::swish) ? 1.0F : 1.702F);
    return over(c, n, {{kind::save}, {kind::multiply, {alpha}}, {kind::sigmoid}, {kind::multiply_saved}});
}

struct function {
    op what;
    layer_part (*part_over)(const cursor &, const node &);
};

constexpr function functions[] = {
        {op::add, add},
        {op::bias_gelu, bias_gelu},
        {op::clip, clip},
        {op::div, by_second_input<kind::divide>},
        {op::erf, curve<kind::erf>},
        {op::fast_gelu, fast_gelu},
        {op::gelu, gelu},
        {op::hard_sigmoid, hard_sigmoid},
        {op::hard_swish, hard_swish},
        {op::leaky_relu, leaky_relu},
        {op::mul, by_channel<kind::multiply>},
        {op::pow, power},
        {op::prelu, by_second_input<kind::leaky_relu>},
        {op::quick_gelu, swish},
        {op::relu, relu},
        {op::sigmoid, curve<kind::sigmoid>},
        {op::sub, subtract},
        {op::swish, swish},
        {op::tanh, curve<kind::tanh>},
};

/// Most layers go on by `expected` where the node is no function.
layer_part function_over(const cursor &c, const node &n, const char *expected) {
    const auto *const found = std::ranges::find_if(functions, [&](const function &f) { return n.what == f.what; });
    const bool is_left = c.from->has_tables && n.is(op::sigmoid, op::tanh);
    return found == std::end(functions) || is_left ? ends_before(c, expected) : found->part_over(c, n);
}

// ---- Other post-ops ----

/// Finds the Mul of the value by one factor that gives `other`, which only a Mul takes, or nothing.
std::optional<layer_part> multiple_of(const cursor &c, std::size_t other) {
    const auto producer = c.g().values[other].producer;
    if (producer == none || !c.is_free(producer) || !c.moved_to(other).next()) return std::nullopt;
    const auto &n = c.g().nodes[producer];
    if (!n.is(op::mul) || std::ranges::count(n.inputs, c.y) != 1) return std::nullopt;
    auto found = by_channel<kind::multiply>(c, n);
    return found.end.empty() && found.post_ops.front().a.size() == 1 ? std::optional(std::move(found)) : std::nullopt;
}

/// Finds what functions make of the value, from the node `first` on, where nodes among them add the value, or multiply
/// by it, perhaps times one factor. All nodes that take the value belong to it: the last one does.
std::optional<layer_part> function_with_itself(const cursor &c, std::size_t first) {
    auto open = c.here().consumers; // nodes that take the value
    layer_part found {.y = c.y, .post_ops = {{kind::save}}};
    const auto here = [&] { return cursor {c.from, found.y, c.adds_tensor || found.tensor != none}; };
    for (const auto *n = &c.g().nodes[first]; n; n = here().next()) {
        const auto at = static_cast<std::size_t>(n - c.g().nodes.data());
        if (!c.is_free(at)) return std::nullopt;
        const bool is_binary = n->is(op::add, op::mul);
        const auto other = is_binary ? here().other_input(*n) : none;
        if (is_binary && other == c.y) {
            go_on(found, over(here(), *n, {{n->is(op::add) ? kind::add_saved : kind::multiply_saved}}));
        } else if (const auto factor = n->is(op::mul) ? multiple_of(c, other) : std::nullopt) {
            std::erase(open, factor->nodes.front());
            found.nodes.push_back(factor->nodes.front());
            go_on(found, over(here(), *n, {{kind::multiply_saved, factor->post_ops.front().a}}));
        } else {
            auto next = function_over(here(), *n, "Mul");
            // What functions save of the value itself is saved already; one value is saved at a time.
            auto &steps = next.post_ops;
            if (found.y == c.y && !steps.empty() && steps.front().what == kind::save) steps.erase(steps.begin());
            if (std::ranges::count(steps, kind::save, &post_op::what) != 0 || !go_on(found, std::move(next)))
                return std::nullopt;
        }
        std::erase(open, at);
        if (open.empty()) return found;
    }
    return std::nullopt;
}

std::optional<layer_part> function_with_itself(const cursor &c) {
    if (c.here().is_seen_outside) return std::nullopt;
    for (const auto first : c.here().consumers)
        if (auto found = function_with_itself(c, first)) return found;
    return std::nullopt;
}

/// Finds a Mul by x's scale, or by the result of another Mul: x's scale times constant scales of the weights.
std::optional<layer_part> scale_over(const cursor &c, const node &n) {
    auto found = over(c, n, {{kind::scale, {1.0F}}});
    auto &x_scale = found.x_scale = c.other_input(n);
    const auto &v = c.g().values[x_scale];
    if (v.type != data_type::f32) return std::nullopt;
    const auto made_by = v.producer;
    if (made_by != none && c.is_free(made_by) && c.g().nodes[made_by].is(op::mul) && c.moved_to(x_scale).next())
        for (const std::size_t i : {0U, 1U}) {
            const auto scale = c.g().nodes[made_by].inputs[i], other = c.g().nodes[made_by].inputs[1 - i];
            if (!c.is_x_scale(scale) || !c.why_not_by_channel(other, data_type::f32).empty()) continue;
            found.post_ops.front().a = values_of<float>(*c.g().values[other].known);
            found.nodes.push_back(made_by);
            x_scale = scale;
            break;
        }
    return c.is_x_scale(x_scale) ? std::optional(std::move(found)) : std::nullopt;
}

layer_part post_op_behind(const cursor &c, bool is_first) {
    const auto *n = c.next();
    if (!n) return function_with_itself(c).value_or(ends_before(c, ""));
    auto found = function_over(c, *n, is_first ? "Mul" : "QuantizeLinear");
    if (found.end.empty() || !is_first || !n->is(op::mul) || !is_product(c.from->product)) return found;
    return scale_over(c, *n).value_or(std::move(found));
}

/// Finds an Add of integers, or nothing: then the sums have no bias.
layer_part bias_behind(const cursor &c) {
    const auto *n = c.next();
    if (!n || !n->is(op::add)) return {.y = c.y};
    const auto other = c.other_input(*n);
    if (const auto why = c.why_not_by_channel(other, data_type::s32); !why.empty()) return ends_at(c, *n, why);
    auto found = over(c, *n);
    found.bias = values_of<std::int32_t>(*c.g().values[other].known);
    return found;
}

layer_part cast_behind(const cursor &c, data_type to) {
    const auto *n = c.next();
    if (!n || !n->is(op::cast)) return ends_before(c, "Cast");
    return c.g().output(*n).type == to ? over(c, *n) : ends_at_result(c, *n, to_string(to));
}

/// Returns the scale or the zero point of a QuantizeLinear: one value, or one for each channel.
std::optional<std::vector<float>> axis_values(const cursor &c, const node &n, std::size_t input) {
    const auto &s = *c.from;
    const auto &v = s.g.input(n, input);
    if (!v.known || v.known->shape.size() > 1) return std::nullopt;
    const auto count = *volume(v.known->shape);
    if (count != 1) {
        // Where the rank is unknown, only -1 is surely the last dimension.
        const auto of_here = c.here().shape ? c.here().shape->size() : 0; // a residual may have more dimensions
        const auto rank = static_cast<std::int64_t>(c.adds_tensor ? of_here : s.rank.value_or(0));
        const auto axis = n.get("axis", std::int64_t {1});
        if (count != s.channels || (axis < 0 ? axis + rank : axis) != (s.is_convolution ? 1 : rank - 1))
            return std::nullopt;
    }
    if (v.known->type != data_type::f32 && !is_byte(v.known->type)) return std::nullopt;
    return values_of<float>(*v.known);
}

/// Takes a QuantizeLinear of floats to 8 bits, by one scale and zero point or one for each channel.
layer_part quantize_over(const cursor &c, const node &n) {
    if (n.inputs.front() != c.y) return ends_at_inputs(c, n);
    if (n.get("block_size", std::int64_t {0}) != 0) return ends_at(c, n, "attribute 'block_size': expected 0");
    if (const auto precision = n.get("precision", std::int64_t {0});
            precision != 0 && precision != traits(data_type::f32).onnx)
        return ends_at(c, n, "attribute 'precision': expected f32, given another");
    const auto to = c.g().output(n).type;
    if (!is_byte(to)) return ends_at_result(c, n, "u8 or s8");
    auto scale = axis_values(c, n, 1), zero_point = n.has(2) ? axis_values(c, n, 2) : std::vector<float> {0.0F};
    if (!scale || !zero_point)
        return ends_at(c, n, "'", c.g().input(n, scale ? 2 : 1).name,
                "': expected a constant of one value, or of one for each channel");
    // Others ONNX Runtime refuses.
    if (scale->empty() || zero_point->empty() || (n.has(2) && zero_point->size() != scale->size()))
        return ends_at(
                c, n, "expected as many zero points as scales, given ", zero_point->size(), " and ", scale->size());
    const auto are_all = [](const std::vector<float> &values, float value) {
        return std::ranges::all_of(values, [=](float v) { return v == value; });
    };
    std::vector<post_op> steps;
    if (!are_all(*scale, 1)) steps.push_back({kind::divide, std::move(*scale)});
    if (!are_all(*zero_point, 0)) { // else what stores bytes rounds: bounds that are integers change nothing
        steps.push_back({kind::round});
        steps.push_back({kind::add, std::move(*zero_point)}); // exact unless it saturates
    }
    const bool is_signed = to == data_type::s8;
    steps.push_back({kind::saturate, {is_signed ? -128.0F : 0.0F}, {is_signed ? 127.0F : 255.0F}});
    return over(c, n, std::move(steps));
}

// ---- Activations as tables ----

/// Finds a QuantizeLinear or DequantizeLinear by a constant scale and zero point of one value.
layer_part one_scale_behind(const cursor &c, op expected) {
    const auto *n = c.next();
    if (!n || n->what != expected) return ends_before(c, name_of(expected));
    if (n->inputs.front() != c.y) return ends_at_inputs(c, *n);
    for (std::size_t i = 1; i < n->inputs.size(); ++i) {
        if (!n->has(i)) continue;
        const auto &v = c.g().input(*n, i);
        if (!v.known || volume(v.known->shape) != 1)
            return ends_at(c, *n, "'", v.name, "': expected a constant of one value");
    }
    const bool quantizes = expected == op::quantize_linear;
    const auto to = c.g().output(*n).type;
    if (quantizes ? is_byte(to) : to == data_type::f32) return over(c, *n);
    return ends_at_result(c, *n, quantizes ? "u8 or s8" : "f32");
}

/// Finds an activation with what is around it, all or nothing. From bytes these are DequantizeLinear, Tanh or Sigmoid,
/// in float16 or not, and QuantizeLinear; from floats the same without the first one, in float16.
layer_part activation_behind(const cursor &c, bool is_of_bytes) {
    layer_part found {.y = c.y};
    const auto here = [&] { return c.moved_to(found.y); };
    if (is_of_bytes && !go_on(found, one_scale_behind(here(), op::dequantize_linear))) return found;
    const auto *n = here().next();
    const bool is_half = !is_of_bytes || (n && n->is(op::cast));
    if (is_half && !go_on(found, cast_behind(here(), data_type::f16))) return found;
    n = here().next();
    const bool is_curve = n && n->is(op::tanh, op::sigmoid);
    if (go_on(found, is_curve ? over(here(), *n) : ends_before(here(), "Tanh or Sigmoid"))
            && (!is_half || go_on(found, cast_behind(here(), data_type::f32))))
        go_on(found, one_scale_behind(here(), op::quantize_linear));
    return found;
}

// ---- Products ----

/// Returns whether zero points of a product's weights are one for all, with no more dimensions than these.
bool is_for_all(const dims &shape, const dims &weights) {
    return volume(shape) == 1 && shape.size() <= std::max<std::size_t>(weights.size(), 1);
}

/// Returns whether zero points of weights are one for each channel: a vector, or rows beside matrices.
bool is_by_channel(const dims &shape, const dims &weights, bool is_convolution) {
    if (is_convolution) return shape == dims {weights.front()};
    auto rows = weights;
    if (rows.size() > 1) rows[rows.size() - 2] = 1;
    return weights.size() > 1 && (shape == dims {weights.back()} || shape == rows);
}

/// Says why the zero point of x cannot be taken, "" where it can.
std::string why_not_one(const value &v) {
    if (v.is_replaced) return "the zero point of its input is replaced by add_initializer";
    if (v.shape && is_one_value(*v.shape)) return {};
    const bool is_open = !v.shape || std::ranges::any_of(*v.shape, [](std::int64_t extent) { return extent < 0; });
    return is_open ? "whether the zero point of its input is one value is known when it runs"
                   : concat("the zero points of its input have shape ", to_string(*v.shape));
}

/// Fills what is known of a product of integers. Returns why it is no layer, "" where it is.
std::string read_product(start &s) {
    const auto &g = s.g;
    const auto &product = s.product;
    const auto &w = g.input(product, 1);
    if (!w.known) return concat("its weights '", w.name, "' are ", why_unknown(w));
    if (!is_byte(w.known->type)) return concat("its weights are of type ", name_of(w.known->type));
    const auto &shape = w.known->shape;
    if (shape.size() < (s.is_convolution ? 3 : 1)) return concat("its weights have rank ", shape.size());
    if (product.has(3)) {
        const auto &zero_point = g.input(product, 3);
        if (!zero_point.known) return concat("the zero point of its weights is ", why_unknown(zero_point));
        if (const auto &given = zero_point.known->shape; !is_one_value(given)
                && !(!s.is_convolution && is_for_all(given, shape)) && !is_by_channel(given, shape, s.is_convolution))
            return concat("the zero points of its weights have shape ", to_string(given));
    }
    if (!is_byte(g.input(product, 0).type)) return "the type of its input is unknown";
    const auto producer = g.input(product, 0).producer;
    const auto inner = shape[shape.size() == 1 ? 0 : shape.size() - 2];
    if (!s.is_convolution && producer != none && quantizes_rows(g, g.nodes[producer], inner)
            && (!product.has(2) || product.inputs[2] == g.nodes[producer].outputs[2]))
        s.by_rows = &g.nodes[producer];
    else if (product.has(2))
        if (auto reason = why_not_one(g.input(product, 2)); !reason.empty()) return reason;
    s.channels = s.is_convolution ? shape.front() : shape.size() == 1 ? 1 : shape.back();
    if (const auto known = s.is_convolution ? shape : g.output(product).shape) s.rank = known->size();
    return {};
}

/// The input of a product that adds to its sums.
std::size_t bias_input(const node &product) {
    return product.is(op::mat_mul_nbits) ? 5 : 2;
}

/// Says why the bias of a weight-only product cannot be taken, "" where it can.
std::string why_no_bias(const cursor &c, std::size_t bias) {
    if (!c.from->is_convolution) return c.why_not_by_channel(bias, *c.g().input(c.from->product, 0).type);
    const auto &v = c.g().values[bias];
    return v.known && v.known->type == data_type::f32 && v.known->shape == dims {c.from->channels}
            ? ""
            : concat("its bias '", v.name, "' is no constant float for each filter");
}

/// What a DequantizeLinear that goes nowhere else makes of constant s32 without a zero point, or nothing.
std::optional<std::vector<float>> dequantized_bias(const cursor &c, const value &v) {
    const auto &g = c.g();
    if (v.producer == none || !c.is_free(v.producer) || v.is_seen_outside || v.consumers.size() != 1)
        return std::nullopt;
    const auto &n = g.nodes[v.producer];
    if (!n.is(op::dequantize_linear) || n.has(2) || v.type != data_type::f32) return std::nullopt;
    const auto &of = g.input(n, 0).known, &scale = g.input(n, 1).known;
    if (!of || !scale || of->type != data_type::s32 || of->shape != dims {c.from->channels}
            || scale->type != data_type::f32)
        return std::nullopt;
    const auto axis = n.get("axis", std::int64_t {1});
    if (!is_one_value(scale->shape) && (scale->shape != of->shape || (axis != 0 && axis != -1))) return std::nullopt;
    if (n.get("block_size", std::int64_t {0}) != 0) return std::nullopt;
    auto values = values_of<float>(*of); // rounded, as DequantizeLinear does
    const auto scales = values_of<float>(*scale);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] *= scales[scales.size() == 1 ? 0 : i];
    return values;
}

/// Adds the bias of a weight-only product, times Gemm's beta, or Gemm's C that comes with each run. Says why it cannot
/// be taken, "" where it can.
std::string take_bias(layer_match &m, const cursor &c) {
    const auto index = c.from->product.inputs[bias_input(c.from->product)];
    const auto &v = c.g().values[index];
    const auto beta = c.from->product.get("beta", 1.0F);
    auto values = dequantized_bias(c, v);
    if (!values && c.from->product.is(op::gemm) && beta == 1 && is_summand(c, v)) {
        m.tensor = index;
        m.post_ops.push_back({kind::add_tensor});
        return {};
    }
    if (values)
        m.nodes.push_back(v.producer);
    else if (auto reason = why_no_bias(c, index); !reason.empty())
        return reason;
    else
        values = values_of<float>(*v.known);
    if (beta == 0) return {}; // nothing is added, as in BLAS, though a value be infinite or NaN
    if (beta != 1)
        for (auto &value : *values)
            value *= beta;
    m.post_ops.push_back({kind::add, *std::move(values)});
    return {};
}

/// Takes an activation, where the layer ends in what one takes.
void take_activation(layer_match &m, const cursor &c, const table_maker &tabulate) {
    const bool is_of_bytes = m.result == result_type::bytes;
    const auto *n = c.next();
    if (!is_of_bytes && !(n && n->is(op::cast))) return; // it goes on as no activation
    const auto before = m.nodes.size();
    if (!go_on(m, activation_behind(c, is_of_bytes))) return;
    const auto nodes = std::span(m.nodes).subspan(before + (is_of_bytes ? 0 : 1)); // a table of float16 has no Cast
    auto table = tabulate(nodes, is_of_bytes ? *c.here().type : data_type::f16);
    if (is_of_bytes)
        std::ranges::copy(table, m.table.emplace().begin());
    else
        m.post_ops.push_back({kind::look_up, {}, {}, std::move(table)});
    m.result = result_type::bytes;
}

/// Takes what quantizes x, where only this layer takes what it gives.
void take_quantize(const start &s, layer_match &m) {
    const auto producer = s.g.values[m.x].producer;
    if (producer == none || s.is_taken[producer]) return;
    const auto &n = s.g.nodes[producer];
    if (!n.is(op::dynamic_quantize_linear) && &n != s.by_rows) return;
    if (s.g.input(n, 0).is_constant()) return;
    for (const auto output : n.outputs) {
        if (output == none) continue;
        if (output == m.tensor) return;
        const auto &v = s.g.values[output];
        const auto is_ours = [&](std::size_t consumer) { return std::ranges::count(m.nodes, consumer) > 0; };
        if (v.is_seen_outside || !std::ranges::all_of(v.consumers, is_ours)) return;
    }
    const auto is_output = [&](std::size_t taken, std::size_t i) {
        const auto given = n.outputs[i]; // none where the model names no output
        return given == taken || (taken == none && s.g.values[given].consumers.empty());
    };
    if (!is_output(m.x_scale, 1) || !is_output(m.x_zero_point, 2)) return;
    m.nodes.push_back(producer);
    m.quantize = producer;
    m.x = n.inputs.front();
}

/// Whether other products take x as well, and something quantizes it.
bool shares_quantized_x(const graph &g, const node &product) {
    const auto &x = g.input(product, 0);
    if (x.producer == none || !g.nodes[x.producer].is(op::dynamic_quantize_linear, op::dynamic_quantize_rows))
        return false;
    return std::ranges::count_if(x.consumers, [&](std::size_t n) { return is_product(g.nodes[n]); }) > 1;
}

match_result find_integer_layer(start s, layer_match m, const table_maker &tabulate) {
    if (auto reason = read_product(s); !reason.empty()) return {std::nullopt, std::move(reason)};
    s.has_tables = tabulate != nullptr;
    m.scales_by_row = s.by_rows != nullptr;
    s.adds_no_tensor = shares_quantized_x(s.g, s.product) || has_several_matrices(s.g, s.product);
    if (s.product.has(2)) m.x_zero_point = s.product.inputs[2];
    const auto here = [&] { return cursor {&s, m.y, m.tensor != none}; };
    if (go_on(m, bias_behind(here())) && go_on(m, cast_behind(here(), data_type::f32))) {
        m.result = result_type::f32;
        while (go_on(m, post_op_behind(here(), m.post_ops.empty()))) {
        }
        if (const auto *n = here().next(); n && n->is(op::quantize_linear) && go_on(m, quantize_over(here(), *n)))
            m.result = result_type::bytes;
        if (m.result == result_type::f32) take_normalization(m, here());
        if (tabulate && !m.normalization) take_activation(m, here(), tabulate);
    }
    take_quantize(s, m);
    std::ranges::sort(m.nodes);
    return {std::move(m)};
}

match_result find_weight_only_layer(start s, layer_match m) {
    m.weights = weights_of(s.g, s.product);
    if (auto reason = why_not_weight_only(s.g, s.product, m.weights, s.is_taken); !reason.empty())
        return {std::nullopt, std::move(reason)};
    m.nodes.insert(m.nodes.end(), m.weights.nodes.begin(), m.weights.nodes.end());
    s.channels = m.weights.columns;
    if (const auto known =
                    s.product.is(op::mat_mul, op::mat_mul_nbits) ? s.g.input(s.product, 0).shape : m.weights.shape)
        s.rank = known->size();
    if (const auto alpha = s.product.get("alpha", 1.0F); alpha != 1) m.post_ops.push_back({kind::multiply, {alpha}});
    if (s.product.has(bias_input(s.product)))
        if (auto reason = take_bias(m, {&s, m.y}); !reason.empty()) return {std::nullopt, std::move(reason)};
    m.result = result_type::f32;
    const auto here = [&] { return cursor {&s, m.y, m.tensor != none}; };
    const bool is_half = s.g.input(s.product, 0).type == data_type::f16; // then y is rounded at once
    while (!is_half && go_on(m, post_op_behind(here(), m.post_ops.empty()))) {
    }
    if (!is_half) take_normalization(m, here());
    std::ranges::sort(m.nodes);
    return {std::move(m)};
}

} // namespace

bool is_product(const node &n) {
    return n.is(op::conv_integer, op::mat_mul_integer);
}

bool has_several_matrices(const graph &g, const node &product) {
    const auto &weights = g.input(product, 1).known->shape;
    return product.is(op::mat_mul_integer) && weights.size() > 2
            && std::any_of(weights.begin(), weights.end() - 2, [](std::int64_t extent) { return extent != 1; });
}

match_result find_layer(
        const graph &g, std::size_t product, const std::vector<bool> &is_taken, const table_maker &tabulate) {
    const start s {g, is_taken, g.nodes[product]};
    layer_match m {{.nodes = {product}, .y = s.product.outputs.front()}, product};
    m.x = s.product.inputs[0];
    return is_product(s.product) ? find_integer_layer(s, std::move(m), tabulate)
                                 : find_weight_only_layer(s, std::move(m));
}

std::vector<std::size_t> layers_by_node(const graph &g, std::span<const layer_match> layers) {
    std::vector<std::size_t> result(g.nodes.size(), none);
    for (std::size_t i = 0; i < layers.size(); ++i)
        for (const auto index : layers[i].nodes)
            result[index] = i;
    return result;
}

row_scales find_row_scales(const graph &g, std::size_t quantize, std::span<const layer_match> layers,
        std::span<const std::size_t> by_node) {
    row_scales result;
    const auto ends = [&](const auto &...parts) {
        if (result.reason.empty()) result.reason = concat(parts...);
        return result;
    };
    for (const auto output : g.nodes[quantize].outputs) {
        if (output == none) continue;
        const auto &v = g.values[output];
        for (const auto consumer : v.consumers) {
            const auto at = by_node[consumer];
            if (at == none)
                ends(label(g, g.nodes[consumer]), " reads it, which takes no scales of rows");
            else if (std::ranges::count(result.layers, at) == 0)
                result.layers.push_back(at);
        }
        if (v.is_seen_outside) ends("'", v.name, "' is read outside of the graph");
    }
    if (!result.reason.empty() || result.layers.empty()) return result;
    if (g.input(g.nodes[quantize], 0).is_constant()) return ends("its input is constant");
    const auto &outputs = g.nodes[quantize].outputs;
    const auto &first = g.nodes[layers[result.layers.front()].product];
    for (const auto at : result.layers) {
        const auto &l = layers[at];
        const auto &product = g.nodes[l.product];
        if (l.tensor != none && l.quantize != quantize) // layers in one node with it add nothing of a run
            return ends(label(g, product), " adds '", g.values[l.tensor].name, "'");
        if (l.quantize != quantize && l.x != outputs[0])
            return ends(label(g, product), " does not multiply what it gives");
        if (const auto from = l.x_zero_point; from != none && from != outputs[2] && !g.values[from].known)
            return ends("the zero point of ", label(g, product), " comes from elsewhere");
        if (l.x_scale != outputs[1]) return ends("its scale does not multiply the sums of ", label(g, product));
        if (product.what != first.what)
            return ends(label(g, first), " and ", label(g, product), " differ in what a row is");
    }
    return result;
}

} // namespace dynquant::layers::match
