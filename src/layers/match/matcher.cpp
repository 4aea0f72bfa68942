#include "layers/match/matcher.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "layers/match/narrow_weights.hpp"
#include "onnx/element_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers::match {
namespace {

using kind = float_step::kind;
namespace type = onnx::type;

constexpr onnx::type_set bytes = {type::uint8, type::int8};

/// As ONNX shapes single parameters: a scalar, or a vector of one element.
bool is_one_value(const dims &shape) {
    return shape.empty() || shape == dims {1};
}

std::vector<float> floats_of(const constant &c) {
    std::vector<float> values(static_cast<std::size_t>(*volume(c.shape)));
    if (!values.empty()) std::memcpy(values.data(), c.data, values.size() * sizeof(float));
    return values;
}

constexpr const char *own_domain = "dynquant";

/// dynquant.DynamicQuantizeLinear by the rule of ONNX's, but with a scale for each row of `inner` elements.
bool quantizes_rows(const graph &g, const node &n, std::int64_t inner) {
    return g.input(n, 0).type == type::float32 && n.domain == own_domain && n.op_type == "DynamicQuantizeLinear"
            && n.outputs.size() == 3 && n.get("axis", std::int64_t {0}) == -1
            && n.get("block_size", std::int64_t {0}) >= inner && n.get("to", std::int64_t {type::uint8}) == type::uint8
            && n.get("scale_type", std::int64_t {type::float32}) == type::float32
            && n.get("symmetric", std::int64_t {0}) == 0 && n.get("rule", std::string("onnx")) == "onnx";
}

/// Follows the sums from node to node. Each take_...() adds the next nodes to the layer, or says in `end` why not.
class matcher {
  public:
    matcher(const graph &g, std::size_t product, const std::vector<bool> &is_taken, const table_maker &tabulate)
        : g_(g)
        , is_taken_(is_taken)
        , tabulate_(tabulate)
        , product_(g.nodes[product])
        , is_convolution_(product_.op_type == "ConvInteger" || product_.op_type == "Conv") {
        result_.product = product;
        result_.nodes = {product};
    }

    match_result run_narrow() {
        if (auto reason = read_narrow_product(); !reason.empty()) return {std::nullopt, std::move(reason)};
        result_.y = product_.outputs.front();
        result_.result = step_result::f32;
        while (take_step()) {
        }
        std::ranges::sort(result_.nodes);
        return {std::move(result_)};
    }

    match_result run() {
        if (auto reason = read_product(); !reason.empty()) return {std::nullopt, std::move(reason)};
        result_.y = product_.outputs.front();
        if (take_bias() && take_cast_to_float()) {
            while (take_step()) {
            }
            if (take_quantize_result()) result_.end.clear();
            if (tabulate_) take_activation();
        }
        take_quantize();
        std::ranges::sort(result_.nodes);
        return {std::move(result_)};
    }

  private:
    std::string read_product() {
        const auto &w = g_.input(product_, 1);
        if (!w.known) return concat("its weights '", w.name, "' are ", why_unknown(w));
        if (!bytes.contains(w.known->type)) return concat("its weights are of type ", onnx::name_of(w.known->type));
        const auto &shape = w.known->shape;
        if (shape.size() < (is_convolution_ ? 3 : 1)) return concat("its weights have rank ", shape.size());
        if (product_.has(3)) {
            const auto &zero_point = g_.input(product_, 3);
            if (!zero_point.known) return concat("the zero point of its weights is ", why_unknown(zero_point));
            if (const auto &given = zero_point.known->shape; !is_one_value(given) && !is_by_channel(given, shape))
                return concat("the zero points of its weights have shape ", to_string(given));
        }
        if (!bytes.contains(g_.input(product_, 0).type)) return "the type of its input is unknown";
        const auto producer = g_.values[product_.inputs[0]].producer;
        const auto inner = shape[shape.size() == 1 ? 0 : shape.size() - 2];
        if (!is_convolution_ && producer != none && quantizes_rows(g_, g_.nodes[producer], inner)
                && (!product_.has(2) || product_.inputs[2] == g_.nodes[producer].outputs[2])) {
            by_rows_ = &g_.nodes[producer];
            result_.scales_by_row = true;
            if (product_.has(2)) result_.x_zero_point = product_.inputs[2];
        } else if (product_.has(2)) {
            if (auto reason = why_not_one(g_.input(product_, 2)); !reason.empty()) return reason;
            result_.x_zero_point = product_.inputs[2];
        }
        const auto &sums = g_.output(product_).shape;
        channels_ = is_convolution_ ? shape.front() : shape.size() == 1 ? 1 : shape.back();
        is_rank_known_ = is_convolution_ || sums;
        rank_ = is_convolution_ ? shape.size() : sums ? sums->size() : 1; // at least
        result_.x = product_.inputs[0];
        return {};
    }

    std::string read_narrow_product() {
        if (auto reason = why_not_narrow(g_, product_, is_taken_); !reason.empty()) return reason;
        result_.dequantize = dequantize_of(g_, product_);
        result_.nodes.push_back(result_.dequantize);
        if (const auto maker = g_.input(product_, 1).producer; maker != result_.dequantize) // Cast
            result_.nodes.push_back(maker);
        const auto &shape = g_.input(g_.nodes[result_.dequantize], 0).known->shape;
        const auto &x = g_.input(product_, 0);
        channels_ = shape[has_transposed_weights(product_) ? 0 : 1];
        is_rank_known_ = is_convolution_ || product_.is("Gemm") || x.shape;
        rank_ = product_.is("MatMul") ? (x.shape ? x.shape->size() : 1) : shape.size();
        if (product_.has(2)) {
            const auto &bias = g_.input(product_, 2);
            result_.y = product_.outputs.front(); // for messages
            if (is_convolution_) {
                if (!bias.known || bias.known->type != type::float32 || bias.known->shape != dims {channels_})
                    return concat("its bias '", bias.name, "' is no constant float for each filter");
            } else if (auto why = why_not_by_channel(product_.inputs[2], type::float32); !why.empty()) {
                return why;
            }
            result_.steps.push_back({kind::add, floats_of(*bias.known)});
        }
        result_.x = product_.inputs[0];
        return {};
    }

    /// The zero points of weights, one for each channel: a vector, or rows beside matrices.
    bool is_by_channel(const dims &shape, const dims &weights) const {
        if (is_convolution_) return shape == dims {weights.front()};
        auto rows = weights;
        if (rows.size() > 1) rows[rows.size() - 2] = 1;
        return weights.size() > 1 && (shape == dims {weights.back()} || shape == rows);
    }

    /// Why the zero point of x cannot be taken, "" where it can.
    std::string why_not_one(const value &v) const {
        if (v.is_replaced) return "the zero point of its input is replaced by add_initializer";
        if (v.shape && is_one_value(*v.shape)) return {};
        const bool is_open = !v.shape || std::ranges::any_of(*v.shape, [](std::int64_t extent) { return extent < 0; });
        return is_open ? "whether the zero point of its input is one value is known when it runs"
                       : concat("the zero points of its input have shape ", to_string(*v.shape));
    }

    /// One element, of no more dimensions than the sums, which the layer receives where it is no constant.
    bool is_one(const value &v) const {
        return !v.is_replaced && v.shape && v.shape->size() <= rank_
                && std::ranges::all_of(*v.shape, [](std::int64_t extent) { return extent == 1; });
    }

    bool is_scale(std::size_t value) const {
        return by_rows_ ? value == by_rows_->outputs[1] : is_one(g_.values[value]);
    }

    const std::string &name_of_y() const { return g_.values[result_.y].name; }

    template <typename... Parts>
    bool ends(const Parts &...parts) {
        result_.end = concat(parts...);
        return false;
    }

    template <typename... Parts>
    bool ends_at(const node &n, const Parts &...parts) {
        return ends(label(g_, n), ": ", parts...);
    }

    bool ends_before(const node &n, const char *expected) {
        return ends("after '", name_of_y(), "' expected ", expected, ", given ", label(g_, n));
    }

    /// Whether no other layer has a node.
    bool is_free(std::size_t n) const { return !is_taken_[n]; }

    /// The only node that takes the present result, or null.
    const node *next() {
        const auto &v = g_.values[result_.y];
        const auto count = v.consumers.size();
        if (v.is_seen_outside)
            ends("value '", v.name, "' is ", count == 0 ? "" : "also ", "an output of the graph");
        else if (count != 1)
            ends("value '", v.name, "': expected one node that takes it, given ", count);
        else if (const auto &n = g_.nodes[v.consumers.front()]; !is_free(v.consumers.front()))
            ends_at(n, "belongs to another layer");
        else
            return &n;
        return nullptr;
    }

    bool take(const node &n) {
        result_.nodes.push_back(static_cast<std::size_t>(&n - g_.nodes.data()));
        result_.y = n.outputs.front();
        return true;
    }

    /// Add of integers, where there is one.
    bool take_bias() {
        const auto *n = next();
        if (!n) return false;
        if (!n->is("Add")) return true;
        const auto other = other_input(*n);
        if (const auto why = why_not_by_channel(other, type::int32); !why.empty()) return ends_at(*n, why);
        result_.bias = integers_of(*g_.values[other].known);
        return take(*n);
    }

    bool take_cast_to_float() {
        if (!take_cast(type::float32)) return false;
        result_.result = step_result::f32;
        return true;
    }

    bool take_cast(onnx::element_type to) {
        const auto *n = next();
        if (!n) return false;
        if (!n->is("Cast")) return ends_before(*n, "Cast");
        if (n->get("to", std::int64_t {0}) != to) return ends_at(*n, "expected a result of ", onnx::name_of(to));
        return take(*n);
    }

    bool take_step() {
        const auto *n = next();
        if (!n) return take_product_with_itself();
        if (take_function(*n)) return true;
        return result_.dequantize == none && result_.steps.empty() && n->is("Mul") && take_scales(*n, other_input(*n));
    }

    std::size_t other_input(const node &n) const { return n.inputs[n.inputs.front() == result_.y ? 1 : 0]; }

    /// An operator of one element each, whose parameters are constant.
    bool take_function(const node &n) {
        constexpr auto infinity = std::numeric_limits<float>::infinity();
        if (n.is("Relu")) return take_clip(n, {0.0F}, {infinity});
        if (n.is("Clip")) return take_limits(n);
        if (n.is("LeakyRelu")) return add_step(n, {kind::leaky_relu, {n.get("alpha", 0.01F)}});
        if (n.is("HardSigmoid")) {
            add_hard_sigmoid(n.get("alpha", 0.2F), n.get("beta", 0.5F));
            return take(n);
        }
        if (n.is("HardSwish") && !saves_) { // HardSwish-14: x times HardSigmoid with these
            result_.steps.push_back({kind::save});
            add_hard_sigmoid(1.0F / 6, 0.5F);
            return add_step(n, {kind::multiply_saved});
        }
        const bool is_mul = n.is("Mul"), is_div = n.is("Div"), is_sub = n.is("Sub"), is_prelu = n.is("PRelu");
        if (!is_mul && !is_div && !is_sub && !is_prelu && !n.is("Add"))
            return ends_before(n, result_.steps.empty() ? "Mul" : "QuantizeLinear"); // as most layers go on
        if ((is_div || is_sub || is_prelu) && n.inputs.front() != result_.y)
            return ends_at(n, "expected '", name_of_y(), "' as its first input");
        const auto other = other_input(n);
        if (const auto why = why_not_by_channel(other, type::float32); !why.empty()) return ends_at(n, why);
        auto values = floats_of(*g_.values[other].known);
        if (is_sub)
            for (auto &value : values)
                value = -value;
        if (is_mul && result_.steps.size() == result_.multipliers.size()) result_.multipliers.push_back(other);
        const auto what = is_mul ? kind::multiply : is_div ? kind::divide : is_prelu ? kind::leaky_relu : kind::add;
        return add_step(n, {what, std::move(values)});
    }

    /// The present result times what functions make of it.
    bool take_product_with_itself() {
        const auto &v = g_.values[result_.y];
        if (v.is_seen_outside || v.consumers.size() != 2) return false;
        for (const std::size_t first : {std::size_t {0}, std::size_t {1}}) {
            const auto &function = g_.nodes[v.consumers[first]], &product = g_.nodes[v.consumers[1 - first]];
            if (!product.is("Mul") || &function == &product || !is_free(v.consumers[first])) continue;
            const auto before = result_;
            result_.steps.push_back({kind::save});
            saves_ = true; // one value at a time
            bool found = take_function(function);
            for (const auto *n = next(); found && n && n != &product; n = next())
                found = take_function(*n);
            saves_ = false;
            if (found && next() == &product) return add_step(product, {kind::multiply_saved});
            result_ = before;
        }
        return false;
    }

    bool add_step(const node &n, step s) {
        result_.steps.push_back(std::move(s));
        return take(n);
    }

    void add_hard_sigmoid(float alpha, float beta) {
        result_.steps.push_back({kind::multiply, {alpha}});
        result_.steps.push_back({kind::add, {beta}});
        result_.steps.push_back({kind::clip, {0.0F}, {1.0F}});
    }

    bool take_clip(const node &n, std::vector<float> low, std::vector<float> high) {
        return add_step(n, {kind::clip, std::move(low), std::move(high)});
    }

    /// The bounds of Clip are attributes before opset 11. Those that are left out are finite.
    bool take_limits(const node &n) {
        constexpr auto most = std::numeric_limits<float>::max();
        if (n.opset < 11) return take_clip(n, {n.get("min", -most)}, {n.get("max", most)});
        std::vector<float> bounds[] = {{-most}, {most}};
        for (std::size_t i = 0; i < 2; ++i) {
            if (!n.has(i + 1)) continue;
            const auto &bound = g_.input(n, i + 1);
            if (!bound.known || bound.known->type != type::float32 || !is_one_value(bound.known->shape))
                return ends_at(n, "'", bound.name, "': expected a constant float of one value");
            bounds[i] = floats_of(*bound.known);
        }
        return take_clip(n, std::move(bounds[0]), std::move(bounds[1]));
    }

    /// Why a value is none that broadcasts to the sums without changing their shape, one or one for each channel; ""
    /// where it is.
    std::string why_not_by_channel(std::size_t index, onnx::element_type expected) const {
        const auto &v = g_.values[index];
        if (!v.known) return concat("expected a constant beside '", name_of_y(), "', given '", v.name, "'");
        if (v.known->type != expected)
            return concat("'", v.name, "': expected type ", onnx::name_of(expected), ", given ",
                    onnx::name_of(v.known->type));
        const auto &given = v.known->shape;
        if (given.size() <= rank_) {
            // The channel is the second dimension of a convolution's sums and the last one of a product's.
            const auto behind = is_convolution_ ? rank_ - 2 : 0;
            dims of_channels(given.size(), 1);
            if (given.size() > behind) of_channels[given.size() - 1 - behind] = channels_;
            if (volume(given) == 1 || given == of_channels) return {};
        }
        const auto &shape = g_.values[result_.y].shape;
        return concat("'", v.name, "': expected one value, or one for each channel of ",
                shape ? concat("shape ", to_string(*shape)) : "an unknown shape", ", given shape ", to_string(given));
    }

    /// Mul by x_scale, or by the result of another Mul: x_scale times constant scales of the weights.
    bool take_scales(const node &n, std::size_t scales) {
        const auto &v = g_.values[scales];
        if (v.type != type::float32) return false;
        if (v.producer != none && is_free(v.producer) && v.consumers.size() == 1 && !v.is_seen_outside
                && g_.nodes[v.producer].is("Mul"))
            if (const auto &by = g_.nodes[v.producer]; take_scale_product(by, 0) || take_scale_product(by, 1)) {
                result_.nodes.push_back(v.producer);
                return take(n);
            }
        if (!is_scale(scales)) return false;
        result_.x_scale = scales;
        return add_step(n, {kind::scale, {1.0F}});
    }

    /// Input `i` of a Mul is x_scale, and the other one constant.
    bool take_scale_product(const node &n, std::size_t i) {
        const auto other = n.inputs[1 - i];
        if (!is_scale(n.inputs[i]) || !why_not_by_channel(other, type::float32).empty()) return false;
        result_.x_scale = n.inputs[i];
        result_.steps.push_back({kind::scale, floats_of(*g_.values[other].known)});
        return true;
    }

    /// QuantizeLinear of floats to 8 bits, by one scale and zero point or one for each channel.
    bool take_quantize_result() {
        const auto *n = next();
        if (!n || !n->is("QuantizeLinear")) return false;
        if (n->inputs.front() != result_.y) return ends_at(*n, "expected '", name_of_y(), "' as its first input");
        if (n->get("block_size", std::int64_t {0}) != 0) return ends_at(*n, "attribute 'block_size': expected 0");
        if (const auto precision = n->get("precision", std::int64_t {0}); precision != 0 && precision != type::float32)
            return ends_at(*n, "attribute 'precision': expected float, given another");
        const auto to = g_.output(*n).type;
        if (!bytes.contains(to)) return ends_at_result(*n, bytes, to);
        auto scale = axis_values(*n, 1), zero_point = n->has(2) ? axis_values(*n, 2) : std::vector<float> {0.0F};
        if (!scale || !zero_point) {
            const auto &unfit = g_.input(*n, scale ? 2 : 1);
            return ends_at(*n, "'", unfit.name, "': expected a constant of one value, or of one for each channel");
        }
        // Others ONNX Runtime refuses.
        if (scale->empty() || zero_point->empty() || (n->has(2) && zero_point->size() != scale->size()))
            return ends_at(
                    *n, "expected as many zero points as scales, given ", zero_point->size(), " and ", scale->size());
        const auto are_all = [](const std::vector<float> &values, float value) {
            return std::ranges::all_of(values, [=](float v) { return v == value; });
        };
        if (!are_all(*scale, 1)) result_.steps.push_back({kind::divide, std::move(*scale)});
        if (!are_all(*zero_point, 0)) { // else what stores bytes rounds: bounds that are integers change nothing
            result_.steps.push_back({kind::round});
            result_.steps.push_back({kind::add, std::move(*zero_point)}); // exact unless it saturates
        }
        const bool is_signed = to == type::int8;
        result_.result = step_result::bytes;
        return add_step(*n, {kind::saturate, {is_signed ? -128.0F : 0.0F}, {is_signed ? 127.0F : 255.0F}});
    }

    bool ends_at_result(const node &n, onnx::type_set expected, onnx::element_type given) {
        return ends_at(n, "expected a result of ", onnx::names_of(expected), ", given ", onnx::name_of(given));
    }

    /// The scale or the zero point of a QuantizeLinear: one value, or one for each channel.
    std::optional<std::vector<float>> axis_values(const node &n, std::size_t input) const {
        const auto &v = g_.input(n, input);
        if (!v.known || v.known->shape.size() > 1) return std::nullopt;
        const auto count = *volume(v.known->shape);
        if (count != 1) {
            // Where the rank is unknown, only -1 is surely the last dimension.
            const auto rank = static_cast<std::int64_t>(is_rank_known_ ? rank_ : 0);
            const auto axis = n.get("axis", std::int64_t {1});
            if (count != channels_ || (axis < 0 ? axis + rank : axis) != (is_convolution_ ? 1 : rank - 1))
                return std::nullopt;
        }
        if (v.known->type == type::float32) return floats_of(*v.known);
        if (!bytes.contains(v.known->type)) return std::nullopt;
        const auto values = integers_of(*v.known);
        return std::vector<float>(values.begin(), values.end());
    }

    /// An activation with what is around it, all or nothing. From bytes: DequantizeLinear, Tanh or Sigmoid, in float16
    /// or not, and QuantizeLinear. From floats: the same without the first one, in float16.
    void take_activation() {
        auto before = result_;
        const bool is_of_bytes = result_.result == step_result::bytes;
        const auto from = is_of_bytes ? g_.values[result_.y].type : type::float16;
        bool is_half = !is_of_bytes;
        if (is_half) {
            const auto *n = next();
            if (!n || !n->is("Cast")) { // it goes on as no activation
                result_ = std::move(before);
                return;
            }
        }
        auto first = result_.nodes.size();
        const auto take_all = [&] {
            if (is_of_bytes) {
                if (!take_one_scale("DequantizeLinear", {type::float32})) return false;
                const auto *n = next();
                is_half = n && n->is("Cast");
            }
            if (is_half && !take_cast(type::float16)) return false;
            if (!is_of_bytes) ++first;
            return take_curve() && (!is_half || take_cast(type::float32)) && take_one_scale("QuantizeLinear", bytes);
        };
        if (!take_all()) {
            before.end = std::move(result_.end);
            result_ = std::move(before);
            return;
        }
        result_.end.clear();
        auto table = tabulate_(std::span(result_.nodes).subspan(first), from);
        if (is_of_bytes)
            std::ranges::copy(table, result_.table.emplace().begin());
        else
            result_.steps.push_back({kind::look_up, {}, {}, std::move(table)});
        result_.result = step_result::bytes;
    }

    bool take_curve() {
        const auto *n = next();
        return n && (n->is("Tanh") || n->is("Sigmoid") ? take(*n) : ends_before(*n, "Tanh or Sigmoid"));
    }

    /// QuantizeLinear or DequantizeLinear by a constant scale and zero point of one value.
    bool take_one_scale(const char *op_type, onnx::type_set to) {
        const auto *n = next();
        if (!n) return false;
        if (!n->is(op_type)) return ends_before(*n, op_type);
        if (n->inputs.front() != result_.y) return ends_at(*n, "expected '", name_of_y(), "' as its first input");
        for (std::size_t i = 1; i < n->inputs.size(); ++i) {
            if (!n->has(i)) continue;
            const auto &v = g_.input(*n, i);
            if (!v.known || volume(v.known->shape) != 1)
                return ends_at(*n, "'", v.name, "': expected a constant of one value");
        }
        if (const auto given = g_.output(*n).type; !to.contains(given)) return ends_at_result(*n, to, given);
        return take(*n);
    }

    /// The node that quantizes x, where only this layer takes what it gives.
    void take_quantize() {
        const auto producer = g_.values[result_.x].producer;
        if (producer == none || !is_free(producer)) return;
        const auto &n = g_.nodes[producer];
        if (!n.is("DynamicQuantizeLinear") && &n != by_rows_) return;
        if (g_.input(n, 0).is_constant()) return;
        for (const auto output : n.outputs) {
            if (output == none) continue;
            const auto &v = g_.values[output];
            const auto is_ours = [&](std::size_t consumer) { return std::ranges::count(result_.nodes, consumer) > 0; };
            if (v.is_seen_outside || !std::ranges::all_of(v.consumers, is_ours)) return;
        }
        const auto is_output = [&](std::size_t taken, std::size_t i) {
            return taken == none ? g_.values[n.outputs[i]].consumers.empty() : taken == n.outputs[i];
        };
        if (!is_output(result_.x_scale, 1) || !is_output(result_.x_zero_point, 2)) return;
        result_.nodes.push_back(producer);
        result_.quantize = producer;
        result_.x = n.inputs.front();
    }

    const graph &g_;
    const std::vector<bool> &is_taken_;
    const table_maker &tabulate_;
    const node &product_;
    bool is_convolution_;
    const node *by_rows_ = nullptr; // quantizes x, with a scale for each row
    std::int64_t channels_ = 0;
    std::size_t rank_ = 0; // of the sums
    bool is_rank_known_ = false;
    bool saves_ = false; // within a product of a value with a function of it
    layer_match result_;
};

} // namespace

bool is_product(const node &n) {
    return n.is("ConvInteger") || n.is("MatMulInteger") || (n.domain == own_domain && n.op_type == "MatMulInteger");
}

match_result find_layer(
        const graph &g, std::size_t product, const std::vector<bool> &is_taken, const table_maker &tabulate) {
    matcher m(g, product, is_taken, tabulate);
    return is_product(g.nodes[product]) ? m.run() : m.run_narrow();
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
