#include "layers/match/matcher.hpp"

#include <algorithm>
#include <limits>

#include "elements/table.hpp"
#include "layers/match/narrow_weights.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers::match {
namespace {

using kind = float_step::kind;
bool is_byte(std::optional<data_type> type) {
    return type == data_type::u8 || type == data_type::s8;
}

bool is_f32(std::optional<data_type> type) {
    return type == data_type::f32;
}

/// As ONNX shapes single parameters: a scalar, or a vector of one element.
bool is_one_value(const dims &shape) {
    return shape.empty() || shape == dims {1};
}

constexpr const char *own_domain = "dynquant";

/// dynquant.DynamicQuantizeLinear by the rule of ONNX's, but with a scale for each row of `inner` elements.
bool quantizes_rows(const graph &g, const node &n, std::int64_t inner) {
    return g.input(n, 0).type == data_type::f32 && n.domain == own_domain && n.op_type == "DynamicQuantizeLinear"
            && n.outputs.size() == 3 && n.get("axis", std::int64_t {0}) == -1
            && n.get("block_size", std::int64_t {0}) >= inner && g.output(n).type == data_type::u8
            && g.values[n.outputs[1]].type == data_type::f32 && n.get("symmetric", std::int64_t {0}) == 0
            && n.get("rule", std::string("onnx")) == "onnx";
}

/// A product in a graph, from which a layer starts: what is fixed for all that follows its sums.
struct start {
    const graph &g;
    const std::vector<bool> &is_taken;
    const node &product;
    bool is_convolution = product.op_type == "ConvInteger" || product.op_type == "Conv";
    const node *by_rows = nullptr; // quantizes x, with a scale for each row
    // Of the sums:
    std::int64_t channels = 0;
    std::size_t rank = 0; // where it is not known: at least
    bool is_rank_known = false;
};

/// The place in a graph that a layer has come to: a value behind its product. Asking changes nothing.
struct cursor {
    const start *from = nullptr;
    std::size_t y = none;

    const graph &g() const { return from->g; }
    const value &here() const { return g().values[y]; }

    /// Whether no other layer has a node.
    bool is_free(std::size_t n) const { return !from->is_taken[n]; }

    /// Returns the only node that takes the value, or null.
    const node *next() const { return why_no_next().empty() ? &g().nodes[here().consumers.front()] : nullptr; }

    std::string why_no_next() const {
        const auto &v = here();
        const auto count = v.consumers.size();
        if (v.is_seen_outside)
            return concat("value '", v.name, "' is ", count == 0 ? "" : "also ", "an output of the graph");
        if (count != 1) return concat("value '", v.name, "': expected one node that takes it, given ", count);
        if (is_free(v.consumers.front())) return {};
        return concat(label(g(), g().nodes[v.consumers.front()]), ": belongs to another layer");
    }

    std::size_t other_input(const node &n) const { return n.inputs[n.inputs.front() == y ? 1 : 0]; }

    /// One element, of no more dimensions than the sums, which the layer receives where it is no constant.
    bool is_x_scale(std::size_t index) const {
        if (from->by_rows) return index == from->by_rows->outputs[1];
        const auto &v = g().values[index];
        return !v.is_replaced && v.shape && v.shape->size() <= from->rank
                && std::ranges::all_of(*v.shape, [](std::int64_t extent) { return extent == 1; });
    }

    /// Says why a value is none that broadcasts to the sums without changing their shape, one or one for each channel;
    /// "" where it is.
    std::string why_not_by_channel(std::size_t index, data_type expected) const {
        const auto &v = g().values[index];
        if (!v.known) return concat("expected a constant beside '", here().name, "', given '", v.name, "'");
        if (v.known->type != expected)
            return concat("'", v.name, "': expected type ", name_of(expected), ", given ", name_of(v.known->type));
        const auto &given = v.known->shape;
        if (given.size() <= from->rank) {
            // The channel is the second dimension of a convolution's sums and the last one of a product's.
            const auto behind = from->is_convolution ? from->rank - 2 : 0;
            dims of_channels(given.size(), 1);
            if (given.size() > behind) of_channels[given.size() - 1 - behind] = from->channels;
            if (volume(given) == 1 || given == of_channels) return {};
        }
        return concat("'", v.name, "': expected one value, or one for each channel of ",
                here().shape ? concat("shape ", to_string(*here().shape)) : "an unknown shape", ", given shape ",
                to_string(given));
    }
};

/// Nodes from a cursor on that a layer can have, and the steps that they are; or why there are none.
struct path {
    cursor at = {}; // behind the nodes
    std::vector<std::size_t> nodes = {};
    std::vector<step> steps = {};
    std::size_t x_scale = none;
    std::vector<std::size_t> multipliers = {}; // as a layer_match has them, and so is the bias
    std::vector<std::int32_t> bias = {};
    std::string end = {}; // why it goes no further; "" where that was not asked

    /// Goes on by `next`, which begins at its end. Returns whether that has nodes.
    bool then(path next) {
        end = std::move(next.end);
        if (!end.empty()) return false;
        if (steps.size() == multipliers.size())
            multipliers.insert(multipliers.end(), next.multipliers.begin(), next.multipliers.end());
        at = next.at;
        nodes.insert(nodes.end(), next.nodes.begin(), next.nodes.end());
        std::ranges::move(next.steps, std::back_inserter(steps));
        if (next.x_scale != none) x_scale = next.x_scale;
        if (!next.bias.empty()) bias = std::move(next.bias);
        return true;
    }
};

path over(const cursor &c, const node &n, std::vector<step> steps = {}) {
    return {{c.from, n.outputs.front()}, {static_cast<std::size_t>(&n - c.g().nodes.data())}, std::move(steps)};
}

template <typename... Parts>
path ends(const Parts &...parts) {
    return {.end = concat(parts...)};
}

template <typename... Parts>
path ends_at(const cursor &c, const node &n, const Parts &...parts) {
    return ends(label(c.g(), n), ": ", parts...);
}

/// Nothing is next, or another operator than expected.
path ends_before(const cursor &c, const char *expected) {
    const auto *n = c.next();
    return n ? ends("after '", c.here().name, "' expected ", expected, ", given ", label(c.g(), *n))
             : ends(c.why_no_next());
}

path ends_at_result(const cursor &c, const node &n, const char *expected) {
    return ends_at(c, n, "expected a result of ", expected, ", given ", name_of(c.g().output(n).type));
}

path ends_at_inputs(const cursor &c, const node &n) {
    return ends_at(c, n, "expected '", c.here().name, "' as its first input");
}

// ---- Operators of one element each, whose parameters are constant ----

template <kind what>
path by_channel(const cursor &c, const node &n) {
    const auto other = c.other_input(n);
    if (const auto why = c.why_not_by_channel(other, data_type::f32); !why.empty()) return ends_at(c, n, why);
    auto found = over(c, n, {{what, values_of<float>(*c.g().values[other].known)}});
    if (what == kind::multiply) found.multipliers = {other};
    return found;
}

/// Where the order of the inputs matters.
template <kind what>
path by_second_input(const cursor &c, const node &n) {
    return n.inputs.front() == c.y ? by_channel<what>(c, n) : ends_at_inputs(c, n);
}

path subtract(const cursor &c, const node &n) {
    auto found = by_second_input<kind::add>(c, n);
    for (auto &s : found.steps)
        for (auto &value : s.a)
            value = -value;
    return found;
}

path relu(const cursor &c, const node &n) {
    return over(c, n, {{kind::clip, {0.0F}, {std::numeric_limits<float>::infinity()}}});
}

path leaky_relu(const cursor &c, const node &n) {
    return over(c, n, {{kind::leaky_relu, {n.get("alpha", 0.01F)}}});
}

/// The bounds of Clip are attributes before opset 11. Those that are left out are finite.
path clip(const cursor &c, const node &n) {
    constexpr auto most = std::numeric_limits<float>::max();
    if (n.opset < 11) return over(c, n, {{kind::clip, {n.get("min", -most)}, {n.get("max", most)}}});
    std::vector<float> bounds[] = {{-most}, {most}};
    for (std::size_t i = 0; i < 2; ++i) {
        if (!n.has(i + 1)) continue;
        const auto &bound = c.g().input(n, i + 1);
        if (!bound.known || bound.known->type != data_type::f32 || !is_one_value(bound.known->shape))
            return ends_at(c, n, "'", bound.name, "': expected a constant float of one value");
        bounds[i] = values_of<float>(*bound.known);
    }
    return over(c, n, {{kind::clip, std::move(bounds[0]), std::move(bounds[1])}});
}

path hard_sigmoid(const cursor &c, const node &n) {
    return over(c, n,
            {{kind::multiply, {n.get("alpha", 0.2F)}}, {kind::add, {n.get("beta", 0.5F)}},
                    {kind::clip, {0.0F}, {1.0F}}});
}

/// HardSwish-14 is x times HardSigmoid with these.
path hard_swish(const cursor &c, const node &n) {
    return over(c, n,
            {{kind::save}, {kind::multiply, {1.0F / 6}}, {kind::add, {0.5F}}, {kind::clip, {0.0F}, {1.0F}},
                    {kind::multiply_saved}});
}

struct function {
    const char *op_type;
    path (*path_over)(const cursor &, const node &);
};

constexpr function functions[] = {
        {"Add", by_channel<kind::add>},
        {"Clip", clip},
        {"Div", by_second_input<kind::divide>},
        {"HardSigmoid", hard_sigmoid},
        {"HardSwish", hard_swish},
        {"LeakyRelu", leaky_relu},
        {"Mul", by_channel<kind::multiply>},
        {"PRelu", by_second_input<kind::leaky_relu>},
        {"Relu", relu},
        {"Sub", subtract},
};

/// expected: as most layers go on, if the node is no function.
path function_over(const cursor &c, const node &n, const char *expected) {
    const auto *const found = std::ranges::find_if(functions, [&](const function &f) { return n.is(f.op_type); });
    return found == std::end(functions) ? ends_before(c, expected) : found->path_over(c, n);
}

// ---- Other steps ----

/// Finds the value times what functions make of it.
std::optional<path> product_with_itself(const cursor &c) {
    const auto &v = c.here();
    if (v.is_seen_outside || v.consumers.size() != 2) return std::nullopt;
    for (const std::size_t first : {0, 1}) {
        const auto *n = &c.g().nodes[v.consumers[first]];
        const auto &product = c.g().nodes[v.consumers[1 - first]];
        if (!product.is("Mul") || n == &product || !c.is_free(v.consumers[first])) continue;
        path found {c, {}, {{kind::save}}};
        while (n && n != &product && found.then(function_over(found.at, *n, "Mul")))
            n = found.at.next();
        // One value is saved at a time.
        if (n != &product || std::ranges::count(found.steps, kind::save, &step::what) > 1) continue;
        found.then(over(found.at, product, {{kind::multiply_saved}}));
        return found;
    }
    return std::nullopt;
}

/// Finds a Mul by x's scale, or by the result of another Mul: x's scale times constant scales of the weights.
std::optional<path> scale_over(const cursor &c, const node &n) {
    auto found = over(c, n, {{kind::scale, {1.0F}}});
    auto &x_scale = found.x_scale = c.other_input(n);
    const auto &v = c.g().values[x_scale];
    if (v.type != data_type::f32) return std::nullopt;
    const auto made_by = v.producer;
    if (made_by != none && c.is_free(made_by) && c.g().nodes[made_by].is("Mul") && cursor {c.from, x_scale}.next())
        for (const std::size_t i : {0, 1}) {
            const auto scale = c.g().nodes[made_by].inputs[i], other = c.g().nodes[made_by].inputs[1 - i];
            if (!c.is_x_scale(scale) || !c.why_not_by_channel(other, data_type::f32).empty()) continue;
            found.steps.front().a = values_of<float>(*c.g().values[other].known);
            found.nodes.push_back(made_by);
            x_scale = scale;
            break;
        }
    return c.is_x_scale(x_scale) ? std::optional(std::move(found)) : std::nullopt;
}

path step_behind(const path &layer) {
    const auto &c = layer.at;
    const bool is_first = layer.steps.empty();
    const auto *n = c.next();
    if (!n) return product_with_itself(c).value_or(ends_before(c, ""));
    auto found = function_over(c, *n, is_first ? "Mul" : "QuantizeLinear");
    if (found.end.empty() || !is_first || !n->is("Mul") || !is_product(c.from->product)) return found;
    return scale_over(c, *n).value_or(std::move(found));
}

/// Finds an Add of integers, or nothing: then the sums have no bias.
path bias_behind(const cursor &c) {
    const auto *n = c.next();
    if (!n || !n->is("Add")) return {c};
    const auto other = c.other_input(*n);
    if (const auto why = c.why_not_by_channel(other, data_type::s32); !why.empty()) return ends_at(c, *n, why);
    auto found = over(c, *n);
    found.bias = values_of<std::int32_t>(*c.g().values[other].known);
    return found;
}

path cast_behind(const cursor &c, data_type to) {
    const auto *n = c.next();
    if (!n || !n->is("Cast")) return ends_before(c, "Cast");
    return c.g().output(*n).type == to ? over(c, *n) : ends_at_result(c, *n, to_string(to));
}

/// The scale or the zero point of a QuantizeLinear: one value, or one for each channel.
std::optional<std::vector<float>> axis_values(const start &s, const node &n, std::size_t input) {
    const auto &v = s.g.input(n, input);
    if (!v.known || v.known->shape.size() > 1) return std::nullopt;
    const auto count = *volume(v.known->shape);
    if (count != 1) {
        // Where the rank is unknown, only -1 is surely the last dimension.
        const auto rank = static_cast<std::int64_t>(s.is_rank_known ? s.rank : 0);
        const auto axis = n.get("axis", std::int64_t {1});
        if (count != s.channels || (axis < 0 ? axis + rank : axis) != (s.is_convolution ? 1 : rank - 1))
            return std::nullopt;
    }
    if (v.known->type != data_type::f32 && !is_byte(v.known->type)) return std::nullopt;
    return values_of<float>(*v.known);
}

/// A QuantizeLinear of floats to 8 bits, by one scale and zero point or one for each channel.
path quantize_over(const cursor &c, const node &n) {
    if (n.inputs.front() != c.y) return ends_at_inputs(c, n);
    if (n.get("block_size", std::int64_t {0}) != 0) return ends_at(c, n, "attribute 'block_size': expected 0");
    if (const auto precision = n.get("precision", std::int64_t {0});
            precision != 0 && precision != traits(data_type::f32).onnx)
        return ends_at(c, n, "attribute 'precision': expected f32, given another");
    const auto to = c.g().output(n).type;
    if (!is_byte(to)) return ends_at_result(c, n, "u8 or s8");
    auto scale = axis_values(*c.from, n, 1),
         zero_point = n.has(2) ? axis_values(*c.from, n, 2) : std::vector<float> {0.0F};
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
    std::vector<step> steps;
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

/// QuantizeLinear or DequantizeLinear by a constant scale and zero point of one value.
path one_scale_behind(
        const cursor &c, const char *op_type, bool is_result(std::optional<data_type>), const char *type) {
    const auto *n = c.next();
    if (!n || !n->is(op_type)) return ends_before(c, op_type);
    if (n->inputs.front() != c.y) return ends_at_inputs(c, *n);
    for (std::size_t i = 1; i < n->inputs.size(); ++i) {
        if (!n->has(i)) continue;
        const auto &v = c.g().input(*n, i);
        if (!v.known || volume(v.known->shape) != 1)
            return ends_at(c, *n, "'", v.name, "': expected a constant of one value");
    }
    return is_result(c.g().output(*n).type) ? over(c, *n) : ends_at_result(c, *n, type);
}

/// An activation with what is around it, all or nothing. From bytes: DequantizeLinear, Tanh or Sigmoid, in float16 or
/// not, and QuantizeLinear. From floats: the same without the first one, in float16.
path activation_behind(const cursor &c, bool is_of_bytes) {
    path found {c};
    if (is_of_bytes && !found.then(one_scale_behind(c, "DequantizeLinear", is_f32, "f32"))) return found;
    const auto *n = found.at.next();
    const bool is_half = !is_of_bytes || (n && n->is("Cast"));
    if (is_half && !found.then(cast_behind(found.at, data_type::f16))) return found;
    n = found.at.next();
    const bool is_curve = n && (n->is("Tanh") || n->is("Sigmoid"));
    if (found.then(is_curve ? over(found.at, *n) : ends_before(found.at, "Tanh or Sigmoid"))
            && (!is_half || found.then(cast_behind(found.at, data_type::f32))))
        found.then(one_scale_behind(found.at, "QuantizeLinear", is_byte, "u8 or s8"));
    return found;
}

// ---- Products ----

/// The zero points of weights, one for each channel: a vector, or rows beside matrices.
bool is_by_channel(const dims &shape, const dims &weights, bool is_convolution) {
    if (is_convolution) return shape == dims {weights.front()};
    auto rows = weights;
    if (rows.size() > 1) rows[rows.size() - 2] = 1;
    return weights.size() > 1 && (shape == dims {weights.back()} || shape == rows);
}

/// Why the zero point of x cannot be taken, "" where it can.
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
        if (const auto &given = zero_point.known->shape;
                !is_one_value(given) && !is_by_channel(given, shape, s.is_convolution))
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
    const auto &sums = g.output(product).shape;
    s.channels = s.is_convolution ? shape.front() : shape.size() == 1 ? 1 : shape.back();
    s.is_rank_known = s.is_convolution || sums;
    s.rank = s.is_convolution ? shape.size() : sums ? sums->size() : 1;
    return {};
}

/// Why the bias of a narrow product cannot be taken, "" where it can.
std::string why_no_bias(const cursor &c, std::size_t bias) {
    if (!c.from->is_convolution) return c.why_not_by_channel(bias, data_type::f32);
    const auto &v = c.g().values[bias];
    return v.known && v.known->type == data_type::f32 && v.known->shape == dims {c.from->channels}
            ? ""
            : concat("its bias '", v.name, "' is no constant float for each filter");
}

/// Takes an activation, where the layer ends in what one takes.
void take_activation(path &found, layer_match &m, const table_maker &tabulate) {
    const bool is_of_bytes = m.result == step_result::bytes;
    const auto *n = found.at.next();
    if (!is_of_bytes && !(n && n->is("Cast"))) return; // it goes on as no activation
    auto activation = activation_behind(found.at, is_of_bytes);
    if (activation.end.empty()) {
        const auto nodes = std::span(activation.nodes).subspan(is_of_bytes ? 0 : 1); // a table of float16 has no Cast
        auto table = tabulate(nodes, is_of_bytes ? *found.at.here().type : data_type::f16);
        if (is_of_bytes)
            std::ranges::copy(table, m.table.emplace().begin());
        else
            activation.steps.push_back({kind::look_up, {}, {}, std::move(table)});
        m.result = step_result::bytes;
    }
    found.then(std::move(activation));
}

/// Takes what quantizes x, where only this layer takes what it gives.
void take_quantize(const start &s, layer_match &m) {
    const auto producer = s.g.values[m.x].producer;
    if (producer == none || s.is_taken[producer]) return;
    const auto &n = s.g.nodes[producer];
    if (!n.is("DynamicQuantizeLinear") && &n != s.by_rows) return;
    if (s.g.input(n, 0).is_constant()) return;
    for (const auto output : n.outputs) {
        if (output == none) continue;
        const auto &v = s.g.values[output];
        const auto is_ours = [&](std::size_t consumer) { return std::ranges::count(m.nodes, consumer) > 0; };
        if (v.is_seen_outside || !std::ranges::all_of(v.consumers, is_ours)) return;
    }
    const auto is_output = [&](std::size_t taken, std::size_t i) {
        return taken == none ? s.g.values[n.outputs[i]].consumers.empty() : taken == n.outputs[i];
    };
    if (!is_output(m.x_scale, 1) || !is_output(m.x_zero_point, 2)) return;
    m.nodes.push_back(producer);
    m.quantize = producer;
    m.x = n.inputs.front();
}

match_result layer_of(const start &s, layer_match m, path found) {
    m.product = static_cast<std::size_t>(&s.product - s.g.nodes.data());
    m.nodes = std::move(found.nodes);
    m.x = s.product.inputs[0];
    m.x_scale = found.x_scale;
    m.y = found.at.y;
    m.bias = std::move(found.bias);
    m.steps = std::move(found.steps);
    m.multipliers = std::move(found.multipliers);
    m.end = std::move(found.end);
    if (m.dequantize == none) take_quantize(s, m);
    std::ranges::sort(m.nodes);
    return {std::move(m)};
}

match_result find_integer_layer(start s, const table_maker &tabulate) {
    if (auto reason = read_product(s); !reason.empty()) return {std::nullopt, std::move(reason)};
    layer_match m;
    m.scales_by_row = s.by_rows != nullptr;
    if (s.product.has(2)) m.x_zero_point = s.product.inputs[2];
    auto found = over({&s, none}, s.product);
    if (found.then(bias_behind(found.at)) && found.then(cast_behind(found.at, data_type::f32))) {
        m.result = step_result::f32;
        while (found.then(step_behind(found))) {
        }
        if (const auto *n = found.at.next(); n && n->is("QuantizeLinear") && found.then(quantize_over(found.at, *n)))
            m.result = step_result::bytes;
        if (tabulate) take_activation(found, m, tabulate);
    }
    return layer_of(s, std::move(m), std::move(found));
}

match_result find_narrow_layer(start s) {
    if (auto reason = why_not_narrow(s.g, s.product, s.is_taken); !reason.empty())
        return {std::nullopt, std::move(reason)};
    layer_match m;
    m.dequantize = dequantize_of(s.g, s.product);
    m.result = step_result::f32;
    const auto &shape = s.g.input(s.g.nodes[m.dequantize], 0).known->shape;
    const auto &x = s.g.input(s.product, 0).shape;
    s.channels = shape[has_transposed_weights(s.product) ? 0 : 1];
    s.is_rank_known = x || !s.product.is("MatMul");
    s.rank = !s.product.is("MatMul") ? shape.size() : x ? x->size() : 1;
    auto found = over({&s, none}, s.product);
    found.nodes.push_back(m.dequantize);
    if (const auto maker = s.g.input(s.product, 1).producer; maker != m.dequantize)
        found.nodes.push_back(maker); // Cast
    if (s.product.has(2)) {
        const auto bias = s.product.inputs[2];
        if (auto reason = why_no_bias(found.at, bias); !reason.empty()) return {std::nullopt, std::move(reason)};
        found.steps = {{kind::add, values_of<float>(*s.g.values[bias].known)}};
    }
    while (found.then(step_behind(found))) {
    }
    return layer_of(s, std::move(m), std::move(found));
}

} // namespace

bool is_product(const node &n) {
    return n.is("ConvInteger") || n.is("MatMulInteger") || (n.domain == own_domain && n.op_type == "MatMulInteger");
}

match_result find_layer(
        const graph &g, std::size_t product, const std::vector<bool> &is_taken, const table_maker &tabulate) {
    const start s {g, is_taken, g.nodes[product]};
    return is_product(s.product) ? find_integer_layer(s, tabulate) : find_narrow_layer(s);
}

row_scales find_row_scales(const graph &g, std::size_t quantize, std::span<const layer_match> layers) {
    row_scales result;
    const auto ends = [&](const auto &...parts) {
        if (result.reason.empty()) result.reason = concat(parts...);
        return result;
    };
    for (const auto output : g.nodes[quantize].outputs) {
        if (output == none) continue;
        const auto &v = g.values[output];
        for (const auto consumer : v.consumers) {
            const auto is_in = [&](const layer_match &m) { return std::ranges::count(m.nodes, consumer) > 0; };
            const auto found = std::ranges::find_if(layers, is_in);
            if (found == layers.end())
                ends(label(g, g.nodes[consumer]), " reads it, which belongs to no claimed layer");
            else if (const auto at = static_cast<std::size_t>(found - layers.begin());
                     std::ranges::count(result.layers, at) == 0)
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
        if (l.quantize != quantize && l.x != outputs[0])
            return ends(label(g, product), " does not multiply what it gives");
        if (const auto from = l.x_zero_point; from != none && from != outputs[2] && !g.values[from].known)
            return ends("the zero point of ", label(g, product), " comes from elsewhere");
        if (l.x_scale != outputs[1]) return ends("its scale does not multiply the sums of ", label(g, product));
        if (product.op_type != first.op_type)
            return ends(label(g, first), " and ", label(g, product), " differ in what a row is");
    }
    return result;
}

} // namespace dynquant::layers::match
