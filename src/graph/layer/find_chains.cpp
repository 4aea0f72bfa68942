#include "graph/layer/find_chains.hpp"

#include <algorithm>
#include <set>

#include "graph/layer/read_graph.hpp"
#include "graph/op_schema.hpp"
#include "layers/match/matcher.hpp"

namespace dynquant::graph::core {
namespace {

namespace match = layers::match;

class finder {
  public:
    explicit finder(const std::vector<op_pointer> &ops)
        : ops_(ops)
        , read_(read_graph(ops, no_constants()))
        , is_taken_(read_.g.nodes.size()) {
        for (size_t i = 0; i < ops.size(); ++i) {
            for (const auto &t : ops[i]->outputs)
                producers_[t.id] = i;
            for (const auto &t : ops[i]->inputs)
                consumers_[t.id].push_back(i);
        }
    }

    found_chains find() {
        found_chains result;
        for (const auto &[position, why] : read_.why_no_layer)
            result.others[ops_[position]->id] = why;
        for (const auto &[position, product] : read_.products) {
            const auto m = match::find_layer(read_.g, product, is_taken_);
            auto c = m.found ? make_chain(position, *m.found) : std::nullopt;
            if (c)
                result.chains.push_back(std::move(*c));
            else
                result.others[ops_[position]->id] = m.found ? m.found->end : m.reason;
        }
        return result;
    }

  private:
    std::optional<chain> make_chain(size_t product, const match::layer_match &m) {
        std::map<size_t, std::ptrdiff_t> taken; // nodes of each op
        for (const auto n : m.nodes)
            ++taken[read_.op_of[n]];
        const auto is_whole = [&](size_t op) { return taken[op] == std::ranges::count(read_.op_of, op); };
        if (!is_whole(product)) return std::nullopt;
        chain c;
        c.end = m.end;
        c.product = ops_[product];
        const auto producer_of = [&](size_t id) { return ops_[producers_.at(id)]; };
        if (!m.is_weight_only()) c.dequantize_x = producer_of(c.product->inputs[matmul::src].id);
        c.dequantize_w = producer_of(c.product->inputs[matmul::weights].id);
        if (c.dequantize_w->kind == dnnl_graph_op_type_cast) {
            c.cast_w = c.dequantize_w;
            c.dequantize_w = producer_of(c.cast_w->inputs.front().id);
        }
        for (const auto &[op, count] : taken)
            if (op > product) {
                if (!is_whole(op)) break;
                c.behind.push_back(ops_[op]);
                for (const auto &t : ops_[op]->inputs)
                    if (m.tensor != match::none && t.id == read_.ids.at(m.tensor)) c.tensor = t.id;
            }
        if (c.dequantize_x) take_quantize(c);
        take_cast(c);
        if (c.quantize_x) c.ops.push_back(c.quantize_x);
        if (c.dequantize_x) c.ops.push_back(c.dequantize_x);
        if (c.dequantize_w != c.dequantize_x) c.ops.push_back(c.dequantize_w);
        if (c.cast_w) c.ops.push_back(c.cast_w);
        c.ops.push_back(c.product);
        c.ops.insert(c.ops.end(), c.behind.begin(), c.behind.end());
        for (size_t n = 0; n < is_taken_.size(); ++n)
            if (std::ranges::count(c.ops, ops_[read_.op_of[n]]) != 0) is_taken_[n] = true;
        return c;
    }

    /// Takes what quantizes x where nobody else reads what it gives.
    void take_quantize(chain &c) const {
        const auto found = producers_.find(c.x().id);
        if (found == producers_.end() || c.dequantize_w == c.dequantize_x) return;
        const auto &q = ops_[found->second];
        if (is_of_another(found->second) || q->is_left_to_onednn) return; // another ends with it
        if (q->kind != dnnl_graph_op_quantize && q->kind != dnnl_graph_op_dynamic_quantize) return;
        if (!is_read_by_one(c.dequantize_x->outputs.front().id)) return;
        for (const auto &t : q->outputs)
            if (!is_read_by_one(t.id) || ops_[consumers_.at(t.id).front()] != c.dequantize_x) return;
        c.quantize_x = q;
    }

    /// Takes what rounds the layer's result, where nobody else reads it before.
    void take_cast(chain &c) const {
        const auto &y = c.last().outputs.front();
        if (y.data_type != dnnl_f32 || !is_read_by_one(y.id)) return;
        const auto &cast = ops_[consumers_.at(y.id).front()];
        if (cast->kind == dnnl_graph_op_type_cast && !cast->is_left_to_onednn && is_float(cast->outputs.front()))
            c.behind.push_back(cast);
    }

    bool is_of_another(size_t op) const {
        for (size_t n = 0; n < is_taken_.size(); ++n)
            if (read_.op_of[n] == op && is_taken_[n]) return true;
        return false;
    }

    bool is_read_by_one(size_t id) const {
        const auto found = consumers_.find(id);
        return found != consumers_.end() && found->second.size() == 1;
    }

    const std::vector<op_pointer> &ops_;
    layer_graph read_;
    std::vector<bool> is_taken_;         // nodes
    std::map<size_t, size_t> producers_; // positions of ops by id of a logical tensor
    std::map<size_t, std::vector<size_t>> consumers_;
};

} // namespace

found_chains find_chains(const std::vector<op_pointer> &ops) {
    return finder(ops).find();
}

} // namespace dynquant::graph::core
