#include "onnxruntime/provider/claims.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "layers/match/weight_only_weights.hpp"
#include "onnxruntime/provider/compiled.hpp"
#include "onnxruntime/provider/left_to_ort.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

using layers::match::layer_match, layers::match::match_result;

/// ONNX Runtime runs nodes whose results nobody takes, but gives a fused node no such output.
bool is_used(const value &v) {
    return v.is_seen_outside || !v.consumers.empty();
}

constexpr const char *crops = "its auto_pad may leave out elements of its input";

/// Whether the padding of auto_pad may be negative: strides go beyond what a window meets. ONNX Runtime, up to 1.32.0,
/// begins later in x then, where layers begin at its first element.
bool may_crop(const node &convolution, const dims &weights) {
    using integers = std::vector<std::int64_t>;
    if (!convolution.get("auto_pad", std::string()).starts_with("SAME")) return false;
    const auto strides = convolution.get("strides", integers {}), dilations = convolution.get("dilations", integers {});
    for (std::size_t i = 0; i < strides.size() && i + 2 < weights.size(); ++i)
        if (strides[i] > 1 + (weights[i + 2] - 1) * (i < dilations.size() ? dilations[i] : 1)) return true;
    return false;
}

/// A layer that can be claimed.
match_result find_claimable_layer(const graph &g, std::size_t product, const std::vector<bool> &is_claimed) {
    const auto &n = g.nodes[product];
    auto result = find_layer(g, product, is_claimed);
    if (!result.found) return result;
    if (g.input(n, 0).is_constant()) return {std::nullopt, "its input is constant"}; // fused nodes do not receive it
    const auto &weights = g.input(n, 1).known->shape;
    if (weights.size() < 2 || (has_several_matrices(g, n) && volume(weights) == 0))
        return {std::nullopt, concat("its weights have shape ", to_string(weights))};
    if (n.is(op::conv_integer) && may_crop(n, weights)) return {std::nullopt, crops};
    if (has_several_matrices(g, n) && result.found->scales_by_row)
        return {std::nullopt, "its weights are several matrices, and rows have scales of their own"};
    take_heads(g, *result.found, is_claimed);
    return result;
}

/// What src/onnx says of an operator of an opset that it does not know, else "".
std::string unknown(const graph &g, const node &n) {
    try {
        onnx::output_types(onnx_node(g, n));
    } catch (const error &e) {
        if (e.status == status::unimplemented) return e.what();
    }
    return {}; // what else is wrong is reported when the session is made
}

/// The names of products and single nodes, or their operators where they have none, and what is behind products but
/// the Cast and Mul that each layer has.
std::string name_of(const graph &g, const claimed &c) {
    std::string name = "dynquant";
    const auto add_operator = [&](const node &n) {
        name += '_';
        for (const char letter : n.op_type)
            name += static_cast<char>(std::tolower(letter));
    };
    const auto add = [&](const node &n) { n.name.empty() ? add_operator(n) : void(name += concat('_', n.name)); };
    if (c.layers.empty()) add(g.nodes[c.nodes.front()]);
    for (const auto &l : c.layers) {
        add(g.nodes[l.product]);
        for (const auto i : l.nodes)
            if (i > l.product && !g.nodes[i].is(op::cast) && !g.nodes[i].is(op::mul)) add_operator(g.nodes[i]);
    }
    return printable(name);
}

/// ONNX Runtime looks at the whole graph for each node that it fuses: 6.4 of 7.0 s for 1600 layers, 0.34 of 0.47 s for
/// 400. So where there are more layers than these, those that follow one another become nodes of some layers each. In
/// others a profile shows each layer.
constexpr std::size_t most_layers_without_chains = 128, longest_chain = 16;

/// Whether a run gives a layer nothing but its x, and takes nothing but its y.
bool takes_only_x(const graph &g, const layer_match &m) {
    if (m.tensor != none || m.before != none) return false;
    const auto &product = g.nodes[m.product];
    if (product.is(op::mat_mul_integer) && g.input(product, 1).known->shape.size() > 2) return false; // see y_of()
    return m.quantize != none
            || (m.x_scale == none && (m.x_zero_point == none || g.values[m.x_zero_point].known.has_value()));
}

class finder {
  public:
    finder(const graph &g, const options &o, const std::function<void(const std::string &)> &say)
        : g_(g)
        , options_(o)
        , say_(say)
        , is_claimed_(g.nodes.size()) {
        claim_integer_layers();
        if (o.weight_only != weight_only_policy::off) claim_weight_only_layers();
        group();
        claim_nodes();
    }

    std::vector<claimed> claims;

  private:
    bool claims_all() const { return options_.claim == claim_policy::all; }

    /// From the last product to the first: an Add of what two of them give belongs to the later one.
    void claim_integer_layers() {
        for (std::size_t i = g_.nodes.size(); i-- > 0;) {
            if (!layers::match::is_product(g_.nodes[i])) continue;
            auto m = find_claimable_layer(g_, i, is_claimed_);
            if (m.found && m.found->nodes.size() == 1 && !claims_all()) m.reason = fast_in_ort_product(g_, g_.nodes[i]);
            if (!take(i, m)) continue;
            if (has_several_matrices(g_, g_.nodes[i]))
                add({m.found->nodes, {*m.found}});
            else
                layers_.push_back(*std::move(m.found));
        }
        std::ranges::reverse(layers_);
    }

    void claim_weight_only_layers() {
        for (std::size_t i = g_.nodes.size(); i-- > 0;) {
            if (!layers::match::is_weight_only_product(g_, g_.nodes[i])) continue;
            auto m = find_layer(g_, i, is_claimed_);
            if (m.found) m.reason = fused_by_ort(g_, *m.found);
            if (m.found && g_.nodes[i].is(op::conv) && may_crop(g_.nodes[i], m.found->weights.shape)) m.reason = crops;
            if (m.found && m.reason.empty()) m.reason = choose_x(*m.found);
            if (!take(i, m)) continue;
            add({m.found->nodes, {*m.found}});
            if (const auto block = m.found->weights.x_block; block != 0)
                say_(concat("quantizes the input of ", describe(g_.nodes[i]), " in blocks of ", block));
        }
    }

    /// Decides whether a weight-only layer quantizes x. Says why it is left to ONNX Runtime then, "" where it is not.
    std::string choose_x(layer_match &m) const {
        auto &w = m.weights;
        const auto there = matmul_nbits_in_ort_of(g_, m, options_);
        if (there.quantizes_x) w.x_block = there.block;
        if (there.quantizes_x && !layers::match::is_block_of_x(there.block))
            return concat("ONNX Runtime quantizes its input by blocks of ", there.block, ", more than 256");
        const bool is_open = w.dequantize != none || g_.nodes[m.product].get("accuracy_level", std::int64_t {0}) == 0;
        if (options_.weight_only == weight_only_policy::int8_x && is_open && w.x_block == 0
                && may_quantize_x(g_, g_.nodes[m.product], w))
            w.x_block = w.block;
        return claims_all() || has_outer_weights(g_, m) ? "" : fast_in_ort_weight_only(g_, m, there);
    }

    void claim_nodes() {
        for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
            const auto &n = g_.nodes[i];
            if (is_claimed_[i] || !n.is(op::quantize_linear, op::dequantize_linear, op::dynamic_quantize_linear))
                continue;
            std::string reason = is_used(g_.output(n)) ? fused_by_ort(g_, n, is_claimed_) : "nothing takes its y";
            if (reason.empty() && n.opset < 13 && n.has(1) && volume(g_.input(n, 1).shape.value_or(dims {0})) != 1)
                reason = "before opset 13 its scale is one value"; // ONNX Runtime takes others, as an axis
            if (reason.empty()) reason = unknown(g_, n);
            if (reason.empty() && !claims_all()) reason = fast_in_ort_quantization(g_, n);
            if (reason.empty())
                add({{i}, {}});
            else
                leave(n, reason);
        }
    }

    /// Whether a product's layer becomes one node: there is no reason against it. Its nodes then are claimed.
    bool take(std::size_t product, match_result &m) {
        if (m.found && !is_used(g_.values[m.found->y])) m.reason = "nothing takes its y";
        if (!m.reason.empty()) {
            leave(g_.nodes[product], m.reason);
            return false;
        }
        for (const auto index : m.found->nodes)
            is_claimed_[index] = true;
        return true;
    }

    /// Claims layers one by one, or several with what quantizes their x. A layer alone may quantize x by rows, but has
    /// no inputs for scales of rows.
    void group() {
        const auto by_node = layers::match::layers_by_node(g_, layers_);
        std::vector<bool> is_alone(layers_.size(), true);
        for (std::size_t q = 0; q < g_.nodes.size(); ++q) {
            const auto &n = g_.nodes[q];
            if (!n.is(op::dynamic_quantize_linear, op::dynamic_quantize_rows)) continue;
            const bool wants_rows = options_.scales == activation_scales::per_row && n.is(op::dynamic_quantize_linear);
            const auto [readers, reason] = find_row_scales(g_, q, layers_, by_node);
            if (wants_rows && !reason.empty()) say_(concat("keeps one scale of ", describe(n), ": ", reason));
            if (!reason.empty() || readers.empty()) continue;
            const auto is_by_row = [&](std::size_t i) { return layers_[i].scales_by_row; };
            if (n.is(op::dynamic_quantize_rows) && !std::ranges::all_of(readers, is_by_row)) continue;
            if (wants_rows)
                for (const auto i : readers)
                    layers_[i].scales_by_row = true;
            if (layers_[readers.front()].quantize != none) continue;
            claimed c {{q}, {}, true};
            is_claimed_[q] = true;
            for (const auto i : readers) {
                is_alone[i] = false;
                c.nodes.insert(c.nodes.end(), layers_[i].nodes.begin(), layers_[i].nodes.end());
                c.layers.push_back(layers_[i]);
            }
            std::ranges::sort(c.nodes);
            add(std::move(c));
        }
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            const auto &l = layers_[i];
            if (!is_alone[i]) continue;
            if (l.scales_by_row && l.quantize == none) {
                leave(g_.nodes[l.product], "its rows have scales of their own, which other nodes take, too");
                for (const auto index : l.nodes)
                    is_claimed_[index] = false;
            } else {
                add(chain_from(i, by_node, is_alone));
            }
        }
    }

    claimed chain_from(std::size_t at, const std::vector<std::size_t> &by_node, std::vector<bool> &is_alone) const {
        claimed c;
        while (at != none && c.layers.size() < longest_chain) {
            is_alone[at] = false;
            c.nodes.insert(c.nodes.end(), layers_[at].nodes.begin(), layers_[at].nodes.end());
            c.layers.push_back(layers_[at]);
            at = next_of_chain(at, by_node, is_alone);
        }
        return c;
    }

    /// The layer that takes what another one gives, where nothing else takes that and the two take nothing else, or
    /// none.
    std::size_t next_of_chain(
            std::size_t at, const std::vector<std::size_t> &by_node, const std::vector<bool> &is_alone) const {
        const auto &y = g_.values[layers_[at].y];
        if (layers_.size() <= most_layers_without_chains || y.is_seen_outside || y.consumers.size() != 1) return none;
        const auto next = by_node[y.consumers.front()];
        const bool follows = next != none && is_alone[next] && layers_[next].x == layers_[at].y;
        return follows && takes_only_x(g_, layers_[at]) && takes_only_x(g_, layers_[next]) ? next : none;
    }

    void add(claimed c) {
        std::string names;
        for (const auto index : c.nodes)
            names += concat(names.empty() ? "" : ", ", describe(g_.nodes[index]));
        say_(concat("claims ", names));
        c.name = name_of(g_, c);
        c.y = (c.layers.empty() ? g_.output(g_.nodes[c.nodes.front()]) : g_.values[c.layers.back().y]).name;
        claims.push_back(std::move(c));
    }

    void leave(const node &n, const std::string &reason) const { say_(concat("leaves ", describe(n), ": ", reason)); }

    const graph &g_;
    const options &options_;
    const std::function<void(const std::string &)> &say_;
    std::vector<bool> is_claimed_;
    std::vector<layer_match> layers_; // of integers
};

} // namespace

std::vector<claimed> find_claims(
        const graph &g, const options &o, const std::function<void(const std::string &)> &say) {
    return std::move(finder(g, o, say).claims);
}

} // namespace dynquant::onnxruntime
