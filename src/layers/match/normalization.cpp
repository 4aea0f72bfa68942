#include "layers/match/normalization.hpp"

#include <cstring>
#include <limits>
#include <optional>

namespace dynquant::layers::match {
namespace {

/// What operators of normalization have as inputs, where 0 stands for none, and the epsilon of those without one.
struct normalization_form {
    op what;
    bool has_mean, adds; // adds: the first two inputs
    std::size_t scale, bias, bias_of_sum;
    float epsilon;
};

constexpr normalization_form normalization_forms[] = {
        {op::layer_normalization, true, false, 1, 2, 0, 1e-5F},
        {op::rms_normalization, false, false, 1, 0, 0, 1e-5F},
        {op::skip_layer_normalization, true, true, 2, 3, 4, 1e-12F},
        {op::skip_rms_normalization, false, true, 2, 0, 3, 1e-12F},
};

/// Floats of each channel.
bool is_parameter(const cursor &c, const value &v) {
    return v.known && v.known->type == data_type::f32 && v.known->shape == dims {c.from->channels};
}

bool is_taken(const graph &g, const node &n, std::size_t output) {
    if (output >= n.outputs.size() || n.outputs[output] == none) return false;
    const auto &v = g.values[n.outputs[output]];
    return v.is_seen_outside || !v.consumers.empty();
}

layer_part normalization_over(const cursor &c, const node &n, const normalization_form &form) {
    const auto rank = c.here().shape ? std::ssize(*c.here().shape) : 0; // not the sums', where an Add gives more
    if (const auto axis = n.get("axis", std::int64_t {-1}); axis != -1 && axis != rank - 1)
        return ends_at(c, n, "attribute 'axis': expected -1, given ", axis);
    if (is_taken(c.g(), n, 1) || is_taken(c.g(), n, 2))
        return ends_at(c, n, "expected nobody to take its mean or deviation");
    auto found = over(c, n);
    if (form.adds) {
        found.tensor = c.other_input(n);
        if (c.adds_tensor || !is_summand(c, c.g().values[found.tensor]))
            return ends_at(c, n, "'", c.g().values[found.tensor].name, "': expected another tensor of ",
                    c.from->channels, " columns", c.adds_tensor ? ", and no Add of one before" : "");
        found.post_ops = {{post_op_kind::add_tensor}};
    }
    auto &by = found.normalization.emplace();
    by.has_mean = form.has_mean;
    by.epsilon = n.get("epsilon", form.epsilon);
    std::vector<float> bias_of_sum;
    const std::pair<std::size_t, std::vector<float> *> parameters[] = {
            {form.scale, &by.scale}, {form.bias, &by.bias}, {form.bias_of_sum, &bias_of_sum}};
    for (const auto &[input, values] : parameters) {
        if (input == 0 || !n.has(input)) continue;
        const auto &v = c.g().input(n, input);
        if (!is_parameter(c, v))
            return ends_at(c, n, "'", v.name, "': expected a constant of ", c.from->channels, " floats");
        *values = values_of<float>(*v.known);
    }
    if (!bias_of_sum.empty()) found.post_ops.push_back({post_op_kind::add, std::move(bias_of_sum)});
    if (form.adds && is_taken(c.g(), n, 3)) found.before = n.outputs[3];
    if (!form.adds && !c.next()) found.before = c.y;
    return found;
}

/// Whether a node gives the means along the last dimension, which stays.
bool is_row_mean(const graph &g, const node &n) {
    if (!n.is(op::reduce_mean) || n.get("keepdims", std::int64_t {1}) == 0) return false;
    auto axes = n.get("axes", std::vector<std::int64_t> {});
    if (n.has(1)) { // from opset 18 on, in int64
        const auto &known = g.input(n, 1).known;
        if (!known || volume(known->shape) != 1) return false;
        axes.resize(1);
        std::memcpy(axes.data(), known->data, sizeof axes.front());
    }
    const auto &shape = g.input(n, 0).shape;
    return axes.size() == 1 && (axes.front() == -1 || (shape && axes.front() == std::ssize(*shape) - 1));
}

/// The nodes of a normalization as exporters write them for older opsets, from the value that they normalize.
class composed_normalization {
  public:
    explicit composed_normalization(const cursor &c)
        : c_(c)
        , g_(c.g()) {}

    /// The layer's part, or nothing where one of the nodes is another, or other nodes take what is between them.
    std::optional<layer_part> find() {
        auto &by = found_.normalization.emplace();
        const auto x = c_.y, difference = subtract_mean(x);
        by.has_mean = difference != x;
        const auto *const square = find_square(difference);
        const auto uses = square ? std::ranges::count(square->inputs, difference) : 0;
        if (!square || (by.has_mean && uses_of(difference) != uses + 1)) return std::nullopt;
        const auto *const mean = only(square, op::reduce_mean);
        if (!mean || !is_row_mean(g_, *mean)) return std::nullopt;
        const auto *const sum = only(mean, op::add);
        const auto epsilon = sum ? one_float(beside(*sum, mean->outputs.front())) : std::nullopt;
        const auto *const root = epsilon ? only(sum, op::sqrt) : nullptr;
        const auto *const normalized = root ? find_quotient(difference, *root) : nullptr;
        const auto *const scaled = normalized ? only(normalized, op::mul) : nullptr;
        if (!scaled || !take_parameter(beside(*scaled, normalized->outputs.front()), by.scale)) return std::nullopt;
        by.epsilon = *epsilon;
        found_.y = scaled->outputs.front();
        if (const auto *const shifted = peek_only(*scaled, op::add);
                by.has_mean && shifted && take_parameter(beside(*shifted, found_.y), by.bias)) {
            take(*shifted);
            found_.y = shifted->outputs.front();
        }
        const auto is_ours = [&](std::size_t n) { return std::ranges::count(found_.nodes, n) != 0; };
        if (c_.here().is_seen_outside || !std::ranges::all_of(c_.here().consumers, is_ours)) found_.before = x;
        return std::move(found_);
    }

  private:
    /// Counts the nodes that take a value: infinitely many where it is seen outside.
    std::ptrdiff_t uses_of(std::size_t index) const {
        const auto &v = g_.values[index];
        return v.is_seen_outside ? std::numeric_limits<std::ptrdiff_t>::max() : std::ssize(v.consumers);
    }

    const value &beside(const node &n, std::size_t input) const {
        return g_.values[n.inputs[n.inputs.front() == input ? 1 : 0]];
    }

    void take(const node &n) { found_.nodes.push_back(static_cast<std::size_t>(&n - g_.nodes.data())); }

    const node *consumer(std::size_t index, op what) const {
        for (const auto n : g_.values[index].consumers)
            if (g_.nodes[n].is(what) && c_.is_free(n)) return &g_.nodes[n];
        return nullptr;
    }

    /// The only node that takes the result of another one.
    const node *peek_only(const node &n, op what) const {
        return uses_of(n.outputs.front()) == 1 ? consumer(n.outputs.front(), what) : nullptr;
    }

    const node *only(const node *n, op what) {
        const auto *const found = peek_only(*n, what);
        if (found) take(*found);
        return found;
    }

    /// x - mean, or x where nothing is subtracted.
    std::size_t subtract_mean(std::size_t x) {
        const auto *const difference = consumer(x, op::sub);
        if (!difference || difference->inputs.front() != x) return x;
        const auto mean = difference->inputs[1], maker = g_.values[mean].producer;
        if (maker == none || !c_.is_free(maker) || !is_row_mean(g_, g_.nodes[maker]) || uses_of(mean) != 1
                || g_.nodes[maker].inputs.front() != x)
            return x;
        take(g_.nodes[maker]);
        take(*difference);
        return difference->outputs.front();
    }

    const node *find_square(std::size_t of) {
        for (const auto n : g_.values[of].consumers) {
            const auto &square = g_.nodes[n];
            const bool is_power =
                    square.is(op::pow) && square.inputs.front() == of && one_float(g_.input(square, 1)) == 2;
            const bool is_product = square.is(op::mul) && std::ranges::count(square.inputs, of) == 2;
            if (!c_.is_free(n) || !(is_power || is_product)) continue;
            take(square);
            return &square;
        }
        return nullptr;
    }

    /// What divides by the root: a quotient, or a product with the root's reciprocal.
    const node *find_quotient(std::size_t difference, const node &root) {
        const auto divisor = root.outputs.front();
        if (const auto *const quotient = peek_only(root, op::div)) {
            take(*quotient);
            if (quotient->inputs[1] != divisor) return nullptr;
            if (quotient->inputs.front() == difference) return quotient;
            return one_float(g_.input(*quotient, 0)) == 1 ? find_product(difference, *quotient) : nullptr;
        }
        const auto *const reciprocal = only(&root, op::reciprocal);
        return reciprocal ? find_product(difference, *reciprocal) : nullptr;
    }

    const node *find_product(std::size_t difference, const node &factor) {
        const auto *const product = only(&factor, op::mul);
        return product && std::ranges::count(product->inputs, difference) == 1 ? product : nullptr;
    }

    bool take_parameter(const value &v, std::vector<float> &to) const {
        if (!is_parameter(c_, v)) return false;
        to = values_of<float>(*v.known);
        return true;
    }

    const cursor &c_;
    const graph &g_;
    layer_part found_;
};

} // namespace

void take_normalization(layer_part &layer, const cursor &c) {
    if (c.from->is_convolution) return;
    for (const auto consumer : c.here().consumers) {
        const auto &n = c.g().nodes[consumer];
        const auto *const form = std::ranges::find(normalization_forms, n.what, &normalization_form::what);
        if (form == std::end(normalization_forms) || !c.is_free(consumer)) continue;
        if (form->adds ? &n != c.next() : n.inputs.front() != c.y) continue;
        if (go_on(layer, normalization_over(c, n, *form))) layer.end = label(c.g(), n) + ": ends a layer";
        return;
    }
    if (auto composed = composed_normalization(c).find()) {
        const auto &last = c.g().nodes[composed->nodes.back()];
        go_on(layer, *std::move(composed));
        layer.end = label(c.g(), last) + ": ends a layer";
    }
}

} // namespace dynquant::layers::match
