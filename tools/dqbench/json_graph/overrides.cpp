// The table of the options that rewrite graphs, and those of them that change types and dim 0.
#include <algorithm>
#include <functional>
#include <set>

#include "json_graph/link.hpp"
#include "json_graph/names.hpp"
#include "json_graph/rewrite.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench::json_graph {

using dynquant::concat;

namespace {

/// Quantize, Dequantize and the two dynamic ops.
bool is_one_of_the_four(const std::string &kind) {
    return kind.ends_with("uantize");
}

/// ID:WORD[+ID:WORD...], where the words are names. Those of `suggested` are offered for others.
std::map<std::uint64_t, std::string> parse_words(
        std::string_view text, const std::vector<std::string> &names, const std::vector<std::string> &suggested) {
    std::map<std::uint64_t, std::string> result;
    if (text.empty()) return result;
    for (const auto &entry : split(text, '+')) {
        const auto colon = entry.find(':');
        if (colon == entry.npos) throw usage_error(concat("expected ID:WORD, given '", entry, "'"));
        const auto id = parse_id(std::string_view(entry).substr(0, colon));
        auto word = entry.substr(colon + 1);
        if (std::ranges::find(names, word) == names.end())
            throw usage_error(concat("expected a word of oneDNN Graph after ID:, given '", word, "'",
                    dynquant::suggest(word, suggested)));
        if (!result.emplace(id, std::move(word)).second)
            throw usage_error(concat("expected each id once, given ", id, " again"));
    }
    return result;
}

std::map<std::uint64_t, std::string> parse_words(std::string_view text, const std::vector<std::string> &names) {
    return parse_words(text, names, names);
}

const std::vector<std::string> &kinds_or_undef() {
    static const std::vector<std::string> names = [] {
        auto all = op_kinds();
        all.emplace_back("undef");
        return all;
    }();
    return names;
}

/// New kinds of ops that are none of the four.
std::map<std::uint64_t, std::string> parse_kinds(std::string_view text) {
    auto suggested = kinds_or_undef();
    std::erase_if(suggested, is_one_of_the_four);
    return parse_words(text, kinds_or_undef(), suggested);
}

std::map<std::uint64_t, std::string> parse_types(std::string_view text) {
    if (text.find(':') != text.npos || text.empty()) return parse_words(text, data_types());
    if (text != "undef" && text != "f32" && text != "bf16" && text != "f16")
        throw usage_error(concat("expected undef, f32, bf16 or f16 for a graph of floats, or ID:TYPE[+ID:TYPE...], "
                                 "given '",
                text, "'"));
    return {};
}

std::int64_t parse_minibatch(std::string_view text) {
    return text.empty() ? 0 : parse_integer(text, 0, INT64_MAX);
}

/// Calls f for every tensor of each id. Throws usage_error for ids that the graph does not have.
void for_each_tensor(graph &g, const std::map<std::uint64_t, std::string> &words,
        const std::function<void(tensor &, const std::string &)> &f) {
    std::set<std::uint64_t> seen;
    for (auto &o : g.ops)
        for (auto *list : {&o.inputs, &o.outputs})
            for (auto &t : *list) {
                const auto found = words.find(t.id);
                if (found == words.end()) continue;
                f(t, found->second);
                seen.insert(t.id);
            }
    for (const auto &entry : words)
        if (!seen.count(entry.first)) throw usage_error(concat("there is no tensor ", entry.first, " in ", g.file));
}

void set_types(graph &g, const std::string &text) {
    const auto types = parse_types(text);
    if (types.empty() && !text.empty() && text != "undef")
        for (const auto &o : g.ops)
            if (o.supported_kind)
                throw usage_error(concat("expected ID:TYPE[+ID:TYPE...] for a graph with integers, as with ",
                        describe(o), ", given ", text));
    for_each_tensor(g, types, [](tensor &t, const std::string &type) { t.type = type; });
}

/// dqbench lists ops of other kinds and runs none, so that nothing depends on their kinds.
void check_kinds(const graph &g, const std::string &text) {
    for (const auto &entry : parse_kinds(text)) {
        const auto found = std::ranges::find(g.ops, entry.first, &op::id);
        if (found == g.ops.end()) throw usage_error(concat("there is no op ", entry.first, " in ", g.file));
        if (is_one_of_the_four(found->kind) || is_one_of_the_four(entry.second))
            throw usage_error(
                    concat("expected binary and eltwise ops, given ", describe(*found), " and ", entry.second));
    }
}

bool is_one_of(const std::string &word, std::initializer_list<const char *> words) {
    return std::ranges::find(words, word) != words.end();
}

/// Whether dim 0 of input i is the batch where it is that of the results. This is benchdnn's rule, except that
/// benchdnn takes a batch of Subtract's first input alone.
bool may_have_batch(const op &o, std::size_t i) {
    const auto rank = [&](std::size_t input) {
        const auto &extents = o.inputs.at(input).extents;
        return extents ? extents->size() : 0;
    };
    if (is_one_of(
                o.kind, {"Add", "BiasAdd", "Divide", "Maximum", "Minimum", "Multiply", "Subtract", "SquaredDifference"})
            && o.inputs.size() > 1) {
        if (rank(0) != rank(1)) return i == (rank(0) > rank(1) ? 0 : 1);
        return i == 0 || rank(1) == 0 || o.inputs[1].extents->front() != 1;
    }
    if (o.kind == "PReLU" && i == 1) return rank(0) == rank(1);
    if (o.kind == "MatMul" && i == 1) return rank(0) > 2;
    return i == 0 || o.kind == "Concat";
}

/// Whether dim 0 of a tensor is the batch: it may be that of each op that reads it, and the op's results are the same.
class batch_finder {
  public:
    explicit batch_finder(const graph &g)
        : g_(g) {}

    bool has_batch(std::uint64_t id) {
        if (!visited_.insert(id).second) return true; // a cycle, or asked before: then false has ended the search
        for (const auto &o : g_.ops)
            for (std::size_t i = 0; i < o.inputs.size(); ++i) {
                if (o.inputs[i].id != id) continue;
                if (!may_have_batch(o, i)) return false;
                for (const auto &result : o.outputs)
                    if (!has_batch(result.id)) return false;
            }
        return true;
    }

  private:
    const graph &g_;
    std::set<std::uint64_t> visited_;
};

/// The inputs that have a batch.
std::vector<std::uint64_t> inputs_with_batch(const graph &g) {
    std::set<std::uint64_t> produced;
    for (const auto &o : g.ops)
        for (const auto &t : o.outputs)
            produced.insert(t.id);
    std::vector<std::uint64_t> ids;
    for (const auto &o : g.ops)
        for (const auto &t : o.inputs)
            if (!produced.count(t.id) && t.extents && !t.extents->empty() && batch_finder(g).has_batch(t.id))
                ids.push_back(t.id);
    return ids;
}

bool is_read(const graph &g, std::uint64_t id) {
    return std::ranges::any_of(g.ops, [&](const op &o) { return std::ranges::count(o.inputs, id, &tensor::id) != 0; });
}

/// Whether dim 0 of src becomes that of the result.
bool keeps_dim_0(const op &o, const tensor &src, const tensor &result) {
    if (is_one_of(o.kind, {"StaticReshape", "StaticTranspose"}) || o.kind.starts_with("Reduce")) return false;
    return result.extents && !result.extents->empty() && src.extents && !src.extents->empty()
            && result.extents->front() == src.extents->front();
}

/// Sets the batch of the inputs that have one, and of what is computed from them.
void set_minibatch(graph &g, std::int64_t size) {
    auto ids = inputs_with_batch(g);
    if (ids.empty()) throw usage_error(concat("expected inputs with a batch, given none in ", g.file));
    std::set<std::uint64_t> reached(ids.begin(), ids.end());
    for (std::size_t next = 0; next < ids.size(); ++next)
        for (const auto &o : g.ops) {
            const auto src = std::ranges::find(o.inputs, ids[next], &tensor::id);
            if (src == o.inputs.end()) continue;
            for (const auto &result : o.outputs) {
                if (reached.count(result.id)) continue;
                if (keeps_dim_0(o, *src, result)) {
                    reached.insert(result.id);
                    ids.push_back(result.id);
                } else if (is_read(g, result.id)) {
                    g.notes.push_back(concat(g.file, ": --mb: the batch does not go beyond ", describe(o),
                            ": write the dims of what follows by --in-shapes"));
                }
            }
        }
    for (auto &o : g.ops)
        for (auto *list : {&o.inputs, &o.outputs})
            for (auto &t : *list) {
                if (!reached.count(t.id) || !t.extents || t.extents->empty()) continue;
                auto extents = *t.extents;
                extents[0] = size;
                t.strides = strides_in_order_of(t, extents);
                t.extents = extents;
            }
}

} // namespace

const std::vector<rewriting> &rewritings() {
    static const std::vector<rewriting> table {
            {"in-shapes", "ID:SHAPE[*STRIDES][+...]",
                    "new dims and strides for inputs and outputs of the graphs after it",
                    [](std::string_view value) { parse_in_shapes(value); }},
            {"op-attrs", "ID:NAME:VALUE[*NAME:VALUE][+...]", "new attributes for ops of the graphs after it",
                    [](std::string_view value) { parse_op_attrs(value); }},
            {"op-kind", "ID:KIND[+...]", "kinds of ops that are none of the four: without effect",
                    [](std::string_view value) { parse_kinds(value); }},
            {"tensor-property", "ID:PROPERTY[+...]", "properties of tensors: without effect",
                    [](std::string_view value) { parse_words(value, property_types()); }},
            {"dt", "ID:TYPE[+...]", "after --graph: new data types for tensors of the graphs after it",
                    [](std::string_view value) { parse_types(value); }},
            {"mb", "N", "dim 0 of the inputs that have a batch; 0 leaves it as it is",
                    [](std::string_view value) { parse_minibatch(value); }},
    };
    return table;
}

bool rewrites::has(std::string_view name) {
    return std::ranges::any_of(rewritings(), [&](const rewriting &each) { return name == each.name; });
}

void rewrites::set(std::string_view name, std::string_view list) {
    for (const auto &each : rewritings())
        if (name == each.name) std::ranges::for_each(split(list, ','), each.check);
    set_unchecked(name, list);
}

void rewrites::set_unchecked(std::string_view name, std::string_view list) {
    values_[std::string(name)] = split(list, ',');
}

namespace {

/// Rewrites by one value of each option.
graph rewritten(const graph &as_written, const std::map<std::string, std::string> &values, bool links) {
    graph g = as_written;
    const auto with = [&](const char *name, const std::function<void(const std::string &)> &f) {
        const auto found = values.find(name);
        if (found == values.end() || found->second.empty()) return;
        try {
            f(found->second);
        } catch (const usage_error &e) {
            throw usage_error(concat("--", name, ": ", e.what()));
        }
    };
    new_shapes shapes;
    new_attributes attributes;
    bool by_minibatch = false;
    with("op-attrs", [&](const std::string &value) { rewrite(g, attributes = parse_op_attrs(value)); });
    with("in-shapes", [&](const std::string &value) { rewrite(g, shapes = parse_in_shapes(value)); });
    with("mb", [&](const std::string &value) {
        const auto size = parse_minibatch(value);
        by_minibatch = size > 0;
        if (by_minibatch) set_minibatch(g, size);
    });
    if (links) link(as_written, shapes, attributes, by_minibatch, g);
    with("dt", [&](const std::string &value) { set_types(g, value); });
    with("tensor-property", [&](const std::string &value) {
        for_each_tensor(g, parse_words(value, property_types()), [](const tensor &, const std::string &) {});
    });
    with("op-kind", [&](const std::string &value) { check_kinds(g, value); });
    std::string arguments = g.notes.empty() ? "" : "--graph "; // without it they would be refused
    for (const auto &each : rewritings())
        with(each.name, [&](const std::string &value) {
            arguments +=
                    concat(each.name == std::string_view("dt") ? "--graph " : "", "--", each.name, '=', value, ' ');
        });
    g.arguments = arguments + g.arguments;
    return g;
}

} // namespace

std::vector<graph> rewrites::apply(const graph &g, bool links) const {
    std::vector<std::map<std::string, std::string>> combinations(1);
    for (const auto &each : rewritings()) {
        const auto given = values_.find(each.name);
        if (given == values_.end()) continue;
        std::vector<std::map<std::string, std::string>> product;
        for (const auto &before : combinations)
            for (const auto &value : given->second) {
                product.push_back(before);
                product.back()[each.name] = value;
            }
        combinations = std::move(product);
    }
    std::vector<graph> all;
    for (const auto &values : combinations)
        all.push_back(rewritten(g, values, links));
    return all;
}

} // namespace dqbench::json_graph
