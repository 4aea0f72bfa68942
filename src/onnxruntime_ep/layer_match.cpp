#include "onnxruntime_ep/layer_match.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "onnx/element_type.hpp"
#include "onnxruntime/tensor.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime_ep {
namespace {

using layers::match::constant;
using kind = layers::float_step::kind;
namespace type = onnx::type;

bool is_byte(onnx::element_type t) {
    return t == type::uint8 || t == type::int8;
}

/// As ONNX shapes single parameters: a scalar, or a vector of one element.
bool is_one_value(const dims &shape) {
    return shape.empty() || shape == dims {1};
}

std::vector<float> floats_of(const constant &c) {
    std::vector<float> values(static_cast<std::size_t>(*volume(c.shape)));
    if (!values.empty()) std::memcpy(values.data(), c.data, values.size() * sizeof(float));
    return values;
}

/// Follows the sums from node to node.
class matcher {
  public:
    matcher(const graph &g, std::size_t product, const std::vector<bool> &is_taken)
        : g_(g)
        , is_taken_(is_taken)
        , product_(g.nodes[product])
        , is_convolution_(product_.op_type == "ConvInteger") {
        result_.product = product;
        result_.nodes = {product};
    }

    match_result run() {
        if (auto reason = read_product(); !reason.empty()) return {std::nullopt, std::move(reason)};
        result_.y = product_.outputs.front();
        if (take_cast()) {
            while (take_step()) {
            }
            take_quantize_result();
        }
        take_quantize();
        std::ranges::sort(result_.nodes);
        return {std::move(result_)};
    }

  private:
    std::string read_product() {
        const auto &w = g_.input(product_, 1);
        if (!w.known) return concat("its weights '", w.name, "' are ", why_unknown(w));
        if (!is_byte(w.known->type)) return concat("its weights are of type ", onnx::name_of(w.known->type));
        const auto rank = w.known->shape.size();
        if (is_convolution_ ? rank < 3 || rank > 5 : rank != 2) return concat("its weights have rank ", rank);
        if (product_.has(3)) {
            const auto &zero_point = g_.input(product_, 3);
            if (!zero_point.known) return concat("the zero point of its weights is ", why_unknown(zero_point));
            if (const auto &shape = zero_point.known->shape;
                    !is_one_value(shape) && !is_by_channel(shape, w.known->shape))
                return concat("the zero points of its weights have shape ", to_string(shape));
        }
        const auto &x = g_.input(product_, 0);
        if (!is_byte(x.type)) return "the type of its input is unknown";
        if (x.is_constant()) return "its input is constant"; // which fused nodes do not receive
        if (product_.has(2)) {
            if (auto reason = why_not_one(g_.input(product_, 2)); !reason.empty()) return reason;
            result_.x_zero_point = product_.inputs[2];
        }
        channels_ = w.known->shape[is_convolution_ ? 0 : 1];
        rank_ = is_convolution_ ? rank : std::max<std::size_t>(rank_of_output(), 1);
        result_.x = product_.inputs[0];
        return {};
    }

    /// Of the product; 0 where it is unknown.
    std::size_t rank_of_output() const {
        const auto &shape = g_.output(product_).shape;
        return shape ? shape->size() : 0;
    }

    static const char *why_unknown(const value &v) {
        return v.is_replaced ? "replaced by add_initializer" : "no constant";
    }

    /// The zero points of weights, one for each channel: a vector, or a row beside a matrix.
    bool is_by_channel(const dims &shape, const dims &weights) const {
        return is_convolution_ ? shape == dims {weights[0]}
                               : shape == dims {weights[1]} || shape == dims {1, weights[1]};
    }

    /// Why the zero point of x cannot be taken, "" where it can.
    std::string why_not_one(const value &v) const {
        if (v.is_replaced) return "the zero point of its input is replaced by add_initializer";
        if (v.shape && is_one_value(*v.shape)) return {};
        const bool is_open = !v.shape || std::ranges::any_of(*v.shape, [](std::int64_t extent) { return extent < 0; });
        return is_open ? "whether the zero point of its input is one value is known when it runs"
                       : concat("the zero points of its input have shape ", to_string(*v.shape));
    }

    /// One element, of no more dimensions than the sums, which the fused node receives where it is no constant.
    bool is_one(const value &v) const {
        return !v.is_replaced && v.shape && v.shape->size() <= std::max<std::size_t>(rank_, 1)
                && std::ranges::all_of(*v.shape, [](std::int64_t extent) { return extent == 1; });
    }

    /// Whether no other layer has a node.
    bool is_free(std::size_t n) const { return !is_taken_[n]; }

    /// The only node that takes the present result, or null.
    const node *next() const {
        const auto &v = g_.values[result_.y];
        const bool is_only = !v.is_seen_outside && v.consumers.size() == 1 && is_free(v.consumers.front());
        return is_only ? &g_.nodes[v.consumers.front()] : nullptr;
    }

    bool take(const node &n) {
        result_.nodes.push_back(static_cast<std::size_t>(&n - g_.nodes.data()));
        result_.y = n.outputs.front();
        return true;
    }

    bool take_cast() {
        const auto *n = next();
        if (!n || !n->is("Cast") || n->get("to", std::int64_t {0}) != type::float32) return false;
        take(*n);
        result_.result = layers::step_result::f32;
        return true;
    }

    bool take_step() {
        const auto *n = next();
        if (!n) return take_product_with_itself();
        if (take_function(*n)) return true;
        return result_.steps.empty() && n->is("Mul") && take_scales(*n, other_input(*n));
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
        const bool commutes = n.is("Mul") || n.is("Add");
        if (!commutes && !((n.is("Div") || n.is("Sub")) && n.inputs.front() == result_.y)) return false;
        auto values = channel_values(other_input(n));
        if (!values) return false;
        if (n.is("Sub"))
            for (auto &value : *values)
                value = -value;
        const auto what = n.is("Mul") ? kind::multiply : n.is("Div") ? kind::divide : kind::add;
        return add_step(n, {what, std::move(*values)});
    }

    /// The present result times what functions make of it.
    bool take_product_with_itself() {
        const auto &v = g_.values[result_.y];
        if (v.is_seen_outside || v.consumers.size() != 2) return false;
        for (const std::size_t first : {std::size_t {0}, std::size_t {1}}) {
            const auto &function = g_.nodes[v.consumers[first]], &product = g_.nodes[v.consumers[1 - first]];
            if (!product.is("Mul") || &function == &product) continue;
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

    bool add_step(const node &n, layers::step step) {
        result_.steps.push_back(std::move(step));
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
            if (!bound.known || bound.known->type != type::float32 || !is_one_value(bound.known->shape)) return false;
            bounds[i] = floats_of(*bound.known);
        }
        return take_clip(n, std::move(bounds[0]), std::move(bounds[1]));
    }

    /// Floats that broadcast to the sums without changing their shape: one, or one for each channel.
    std::optional<std::vector<float>> channel_values(std::size_t index) const {
        const auto &v = g_.values[index];
        if (!v.known || v.known->type != type::float32) return std::nullopt;
        const auto &shape = v.known->shape;
        if (shape.size() > rank_) return std::nullopt;
        if (volume(shape) != 1) {
            // The channel is the second dimension of a convolution's sums and the last one of a product's.
            const auto behind = is_convolution_ ? rank_ - 2 : 0;
            dims of_channels(shape.size(), 1);
            if (shape.size() > behind) of_channels[shape.size() - 1 - behind] = channels_;
            if (shape != of_channels) return std::nullopt;
        }
        return floats_of(*v.known);
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
        if (!is_one(v)) return false;
        result_.x_scale = scales;
        return add_step(n, {kind::multiply, {1.0F}}); // exact
    }

    /// Input `i` of a Mul is x_scale, and the other one constant.
    bool take_scale_product(const node &n, std::size_t i) {
        if (!is_one(g_.input(n, i))) return false;
        auto values = channel_values(n.inputs[1 - i]);
        if (!values) return false;
        result_.x_scale = n.inputs[i];
        result_.steps.push_back({kind::multiply, std::move(*values)});
        return true;
    }

    /// QuantizeLinear of floats to 8 bits, by one scale and zero point or one for each channel.
    void take_quantize_result() {
        const auto *n = next();
        if (!n || !n->is("QuantizeLinear") || n->inputs.front() != result_.y) return;
        if (n->get("block_size", std::int64_t {0}) != 0) return;
        if (const auto precision = n->get("precision", std::int64_t {0}); precision != 0 && precision != type::float32)
            return;
        const auto to = g_.output(*n).type;
        if (!is_byte(to)) return;
        auto scale = axis_values(*n, 1), zero_point = n->has(2) ? axis_values(*n, 2) : std::vector<float> {0.0F};
        if (!scale || !zero_point || scale->empty() || zero_point->empty()) return;
        if (n->has(2) && zero_point->size() != scale->size()) return; // which ONNX Runtime refuses
        const bool is_signed = to == type::int8;
        result_.steps.push_back({kind::divide, std::move(*scale)});
        result_.steps.push_back({kind::round});
        result_.steps.push_back({kind::add, std::move(*zero_point)}); // exact unless it saturates
        add_step(*n, {kind::saturate, {is_signed ? -128.0F : 0.0F}, {is_signed ? 127.0F : 255.0F}});
        result_.result = layers::step_result::bytes;
    }

    /// The scale or the zero point of a QuantizeLinear: one value, or one for each channel.
    std::optional<std::vector<float>> axis_values(const node &n, std::size_t input) const {
        const auto &v = g_.input(n, input);
        if (!v.known || v.known->shape.size() > 1) return std::nullopt;
        const auto count = *volume(v.known->shape);
        if (count != 1) {
            // 0: unknown, where only -1 is surely the last dimension
            const auto rank = static_cast<std::int64_t>(is_convolution_ ? rank_ : rank_of_output());
            const auto axis = n.get("axis", std::int64_t {1});
            if (count != channels_ || (axis < 0 ? axis + rank : axis) != (is_convolution_ ? 1 : rank - 1))
                return std::nullopt;
        }
        if (v.known->type == type::float32) return floats_of(*v.known);
        if (!is_byte(v.known->type)) return std::nullopt;
        std::vector<float> values;
        for (std::int64_t i = 0; i < count; ++i)
            values.push_back(static_cast<float>(onnxruntime::byte_at(v.known->data + i, v.known->type == type::int8)));
        return values;
    }

    /// The node that quantizes x, where only this layer takes what it gives.
    void take_quantize() {
        const auto producer = g_.values[result_.x].producer;
        if (producer == none || !g_.nodes[producer].is("DynamicQuantizeLinear")) return;
        const auto &n = g_.nodes[producer];
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
    const node &product_;
    bool is_convolution_;
    std::int64_t channels_ = 0;
    std::size_t rank_ = 0;
    bool saves_ = false; // within a product of a value with a function of it
    layer_match result_;
};

} // namespace

bool is_product(const node &n) {
    return n.is("ConvInteger") || n.is("MatMulInteger");
}

match_result match_layer(const graph &g, std::size_t product, const std::vector<bool> &is_taken) {
    return matcher(g, product, is_taken).run();
}

} // namespace dynquant::onnxruntime_ep
