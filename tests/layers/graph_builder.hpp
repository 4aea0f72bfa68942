// Graphs by names, for tests of what is found in them.
#pragma once

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "layers/match/matcher.hpp"
#include "layers/match/weight_only_weights.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers::match {

using kind = post_op_kind;
using names = std::vector<std::string>;

/// A graph by names. A value is made where it is first named: of floats, unless it was added before.
class builder {
  public:
    graph g;

    std::size_t add(const std::string &name, std::optional<data_type> t, std::optional<dims> shape) {
        auto &v = g.values[at(name)];
        v.type = t;
        v.shape = std::move(shape);
        return at(name);
    }

    template <typename T>
    void add_constant(const std::string &name, data_type t, const dims &shape, const std::vector<T> &elements) {
        auto &bytes = *data_.emplace_back(std::make_shared<std::vector<std::byte>>(elements.size() * sizeof(T)));
        if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
        g.values[add(name, t, shape)].known = constant {t, shape, bytes.data()};
    }

    void add_floats(const std::string &name, const dims &shape, float first = 0.5F) {
        std::vector<float> elements(volume_of(shape));
        std::iota(elements.begin(), elements.end(), first);
        add_constant(name, data_type::f32, shape, elements);
    }

    void add_integers(const std::string &name, const dims &shape) {
        std::vector<std::int32_t> elements(volume_of(shape));
        std::iota(elements.begin(), elements.end(), -3);
        add_constant(name, data_type::s32, shape, elements);
    }

    void add_bytes(const std::string &name, const dims &shape, std::uint8_t value = 3, data_type t = data_type::u8) {
        add_constant(name, t, shape, std::vector<std::uint8_t>(volume_of(shape), value));
    }

    node &then(const char *op, const names &inputs, const names &outputs) {
        node n;
        n.name = op + ("_" + std::to_string(g.nodes.size()));
        n.op_type = op;
        n.what = operator_named(op);
        for (const auto &name : inputs) {
            n.inputs.push_back(at(name));
            if (n.inputs.back() != none) g.values[n.inputs.back()].consumers.push_back(g.nodes.size());
        }
        for (const auto &name : outputs) {
            n.outputs.push_back(at(name));
            if (n.outputs.back() != none) g.values[n.outputs.back()].producer = g.nodes.size();
        }
        return g.nodes.emplace_back(std::move(n));
    }

    void cast(const std::string &x, const std::string &y, std::optional<data_type> to = data_type::f32) {
        add(y, to, g.values[at(x)].shape);
        then("Cast", {x}, {y});
    }

    /// "" is none.
    std::size_t at(const std::string &name) {
        if (name.empty()) return none;
        for (std::size_t i = 0; i < g.values.size(); ++i)
            if (g.values[i].name == name) return i;
        g.values.push_back({name, data_type::f32});
        return g.values.size() - 1;
    }

    value &operator[](const std::string &name) { return g.values[at(name)]; }

    /// The layer of the first product.
    match_result find(const table_maker &tabulate = {}) const {
        for (std::size_t i = 0; i < g.nodes.size(); ++i)
            if (is_product(g.nodes[i]) || is_weight_only_product(g, g.nodes[i]))
                return find_layer(g, i, std::vector<bool>(g.nodes.size()), tabulate);
        return {std::nullopt, "no product"};
    }

  private:
    static std::size_t volume_of(const dims &shape) { return static_cast<std::size_t>(*volume(shape)); }

    std::vector<std::shared_ptr<std::vector<std::byte>>> data_; // which copies of the builder share
};

inline std::vector<kind> kinds_of(const layer_match &m) {
    std::vector<kind> kinds;
    for (const auto &s : m.post_ops)
        kinds.push_back(s.what);
    return kinds;
}

} // namespace dynquant::layers::match
