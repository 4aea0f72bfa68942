// Reshape and Transpose around the heads of attention.
#include <algorithm>
#include <cstring>
#include <vector>

#include "layers/match/matcher.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers::match {
namespace {

using integers = std::vector<std::int64_t>;

/// Takes nodes next to a layer, through values that nothing else takes.
struct walk {
    const graph &g;
    const std::vector<bool> &is_taken;

    bool is_between(std::size_t v) const { return !g.values[v].is_seen_outside && g.values[v].consumers.size() == 1; }

    /// The node of an operator that gives a value to one node alone, or none.
    std::size_t before(std::size_t v, op what) const {
        const auto n = g.values[v].producer;
        return n != none && is_between(v) && g.nodes[n].is(what) && !is_taken[n] ? n : none;
    }

    /// The node of an operator that alone takes a value, as its first input, or none.
    std::size_t behind(std::size_t v, op what) const {
        if (!is_between(v)) return none;
        const auto n = g.values[v].consumers.front();
        return g.nodes[n].is(what) && !is_taken[n] && g.nodes[n].inputs.front() == v ? n : none;
    }

    /// What a Reshape's shape is, if it is constant and has so many extents, and 0 stands for those of its x.
    integers shape_of(std::size_t reshape, std::size_t rank) const {
        const auto &n = g.nodes[reshape];
        const auto &known = g.input(n, 1).known;
        if (!known || known->shape != dims {static_cast<std::int64_t>(rank)}) return {};
        integers to(rank);
        std::memcpy(to.data(), known->data, rank * sizeof to.front());
        const bool has_zeros = std::ranges::count(to, 0) > 0;
        return has_zeros && n.get("allowzero", std::int64_t {0}) != 0 ? integers {} : to;
    }
};

/// Whether a Reshape to `to` keeps the first two extents of `from`, where all behind them, in either, are as many
/// elements.
bool keeps_two(const integers &to, const dims &from) {
    const auto keeps = [&](std::size_t d) { return to[d] == 0 || (to[d] > 0 && to[d] == from[d]); };
    return (keeps(0) && (keeps(1) || to[1] == -1)) || (to[0] == -1 && keeps(1));
}

/// The extents, of which one may be -1, of a number of elements; or {0, 0}.
std::pair<std::int64_t, std::int64_t> factors_of(std::int64_t all, std::int64_t a, std::int64_t b) {
    if (a == -1 && b > 0) a = all / b;
    if (b == -1 && a > 0) b = all / a;
    const bool are_factors = a > 0 && b > 0 && volume({a, b}) == all;
    return are_factors ? std::pair {a, b} : std::pair<std::int64_t, std::int64_t> {};
}

void split(const walk &w, layer_match &m, std::int64_t columns) {
    if (m.tensor != none || m.normalization || m.result == result_type::s32) return;
    const auto &from = w.g.values[m.y].shape;
    const auto reshape = w.behind(m.y, op::reshape);
    if (!from || from->size() != 3 || reshape == none) return;
    const auto transpose = w.behind(w.g.nodes[reshape].outputs.front(), op::transpose);
    const auto to = w.shape_of(reshape, 4);
    if (transpose == none || to.empty() || !keeps_two(to, *from)) return;
    const auto order = w.g.nodes[transpose].get("perm", integers {});
    const bool is_transposed = order == integers {0, 2, 3, 1};
    const auto heads = factors_of(columns, to[2], to[3]).first;
    if ((!is_transposed && order != integers {0, 2, 1, 3}) || heads == 0) return;
    m.y_heads = heads;
    m.y_heads_are_transposed = is_transposed;
    m.nodes.insert(m.nodes.end(), {reshape, transpose});
    m.y = w.g.nodes[transpose].outputs.front();
}

void join(const walk &w, layer_match &m, std::int64_t inner) {
    if (m.quantize == none) return;
    const auto reshape = w.before(m.x, op::reshape);
    if (reshape == none) return;
    const auto transpose = w.before(w.g.nodes[reshape].inputs.front(), op::transpose);
    if (transpose == none || w.g.nodes[transpose].get("perm", integers {}) != integers {0, 2, 1, 3}) return;
    const auto &x = w.g.input(w.g.nodes[transpose], 0);
    const auto to = w.shape_of(reshape, 3);
    if (x.is_constant() || x.type != data_type::f32 || to.empty()) return;
    const auto from = x.shape && x.shape->size() == 4 ? *x.shape : dims(4, -1);
    // Where the heads are not known, extents of 0 alone keep the rows; the run says if they are not as many.
    const bool are_known = from[1] > 0 && from[3] > 0;
    if (are_known && volume({from[1], from[3]}) != inner) return; // other rows, or an error of ONNX Runtime's
    const bool is_row = to[2] == inner || (to[2] == -1 && are_known);
    if (!is_row || (!are_known && std::ranges::count(to, -1) > 0)) return;
    if (!keeps_two(to, {from[0], from[2], from[1], from[3]})) return;
    m.x_has_heads = true;
    m.nodes.insert(m.nodes.end(), {reshape, transpose});
    m.x = w.g.nodes[transpose].inputs.front();
}

} // namespace

void take_heads(const graph &g, layer_match &m, const std::vector<bool> &is_taken) {
    const auto &product = g.nodes[m.product];
    const auto &weights = g.input(product, 1).known->shape;
    if (!product.is(op::mat_mul_integer) || weights.size() != 2) return;
    const walk w {g, is_taken};
    split(w, m, weights[1]);
    join(w, m, weights[0]);
    std::ranges::sort(m.nodes);
}

} // namespace dynquant::layers::match
