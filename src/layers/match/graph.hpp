// A model's graph as plain values: what finding layers needs of it, whoever holds the model. A reader makes it: of a
// graph of ONNX Runtime (src/onnxruntime/provider/read_graph.hpp), or of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynquant/quantization.hpp"
#include "elements/copyable_variant.hpp"
#include "elements/load_store.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers::match {

/// An index of a node or a value; `none` stands for an optional input that is left out.
inline constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

/// An initializer that no run can replace. Its data lives as long as the model that the graph was read of.
struct constant {
    std::optional<data_type> type;
    dims shape;
    const std::byte *data;
};

struct value {
    std::string name;
    std::optional<data_type> type = {};      // none: no tensor, or of a type that no layer has
    std::optional<dims> shape = {};          // none: of unknown rank; an extent of -1 is known at run time only
    std::optional<constant> known = {};      // of a constant
    bool is_replaced = false;                // a constant whose value cannot be read
    bool is_summand = false;                 // floats that a layer may take at each run, to add them to its sums
    std::size_t producer = none;             // the node that gives it
    std::vector<std::size_t> consumers = {}; // nodes that take it, once for each input
    bool is_seen_outside = false;            // an output of the graph, or taken by a subgraph
    std::size_t subgraph_consumers = 0;      // nodes whose subgraphs take it
    bool is_of_outer_graph = false;          // which this one is a branch or a body of

    bool is_constant() const { return known || is_replaced; }
};

using attribute = copyable_variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>>;

/// The operators that the matcher asks for. Each means what ONNX's operator of that name does, whatever the reader's
/// graph calls it; dynamic_quantize_rows is DynamicQuantizeLinear with a scale for each row of `block_size` elements,
/// and bias_gelu, fast_gelu, quick_gelu, mat_mul_nbits and the skip_ ones are com.microsoft's.
enum class op {
    other,
    dynamic_quantize_rows,
    bias_gelu,
    mat_mul_nbits,
    skip_layer_normalization,
    skip_rms_normalization, // SkipSimplifiedLayerNormalization
    fast_gelu,
    quick_gelu,
#define DYNQUANT_OPERATOR(enumerator, name) enumerator,
#include "layers/match/operators.inc"
#undef DYNQUANT_OPERATOR
};

/// Returns op::other for a name that ONNX has not, or no layer.
op operator_named(std::string_view onnx_name);

const char *name_of(op what);

/// The attribute of a DequantizeLinear by blocks, which ONNX's has not: how many columns share a scale, too.
inline constexpr const char *column_group = "column_group";

struct node {
    op what = op::other;
    std::string name, op_type, domain;                // as the model has them: for messages, and for readers
    int opset = 0;                                    // likewise, or an older one with the same operator
    std::vector<std::size_t> inputs, outputs;         // values
    std::map<std::string, attribute> attributes = {}; // ONNX's; of other types than `attribute` holds: left out

    template <typename... Ops>
    bool is(Ops... any_of) const {
        return ((what == any_of) || ...);
    }

    /// Whether input `i` is there.
    bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != none; }

    template <typename T>
    T get(const char *attribute_name, T otherwise) const {
        const auto found = attributes.find(attribute_name);
        if (found == attributes.end()) return otherwise;
        const auto *held = std::get_if<T>(&found->second);
        return held ? *held : otherwise;
    }
};

struct graph {
    std::vector<node> nodes; // in an order in which they can run
    std::vector<value> values;

    const value &input(const node &n, std::size_t i) const { return values[n.inputs[i]]; }
    const value &output(const node &n) const { return values[n.outputs.front()]; }
};

/// "node 'fc1' (MatMulInteger)", or "node of 'y' (MatMulInteger)" for a node without a name, as the model writes names.
std::string label(const graph &g, const node &n);

/// What a value is that is not known.
const char *why_unknown(const value &v);

/// "f32", or "another" where it is none.
std::string name_of(std::optional<data_type> type);

/// T holds each value of the constant's type.
template <typename T>
std::vector<T> values_of(const constant &c) {
    std::vector<T> values(static_cast<std::size_t>(*volume(c.shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<T>(load(c.type.value(), c.data, static_cast<std::int64_t>(i)));
    return values;
}

/// A constant of one element in f32, which adds no dimensions to what it meets; or nothing.
std::optional<float> one_float(const value &v);

} // namespace dynquant::layers::match
