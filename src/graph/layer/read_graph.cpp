#include "graph/layer/read_graph.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "elements/ceil_div.hpp"
#include "elements/table.hpp"
#include "graph/attributes.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "graph/refusal.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/onednn_type.hpp"

namespace dynquant::graph::core {
namespace {

namespace match = layers::match;
using match::none;
using match::op;

bool is_dequantize(const op_record &o) {
    return o.kind == dnnl_graph_op_dequantize || o.kind == dnnl_graph_op_dynamic_dequantize;
}

using type_list = std::initializer_list<data_type>;

bool is_one_of(dnnl_data_type_t type, type_list types) {
    const auto known = from_onednn(type);
    return known && std::ranges::find(types, *known) != types.end();
}

bool has_zps(const op_record &o) {
    return o.inputs.size() > input::zps || o.attributes.contains(dnnl_graph_op_attr_zps);
}

/// What of a Dequantize or Quantize no layer has, or "". types: of its integers, or narrow floats.
std::string why_not_read(const op_record &o, type_list types) {
    const auto wrong = [](const char *port, const char *expected, const c_logical_tensor &t) {
        return concat(port, ": expected ", expected, ", given ", name_of(t.data_type));
    };
    const auto &integers = is_dequantize(o) ? o.inputs.front() : o.outputs.front();
    const auto &floats = is_dequantize(o) ? o.outputs.front() : o.inputs.front();
    if (!is_one_of(integers.data_type, types))
        return wrong(is_dequantize(o) ? "src" : "dst", types.size() > 2 ? "8 or 4 bits" : "s8 or u8", integers);
    // The graph rounds each element to a narrower type.
    if (floats.data_type != dnnl_f32) return wrong(is_dequantize(o) ? "dst" : "src", "f32", floats);
    if (o.inputs.size() > input::scales
            && !is_one_of(o.inputs[input::scales].data_type, {data_type::f32, data_type::f16, data_type::bf16}))
        return wrong("scales", "f32, f16 or bf16", o.inputs[input::scales]);
    if (o.inputs.size() > input::zps && o.inputs[input::zps].data_type != dnnl_s32
            && !is_one_of(o.inputs[input::zps].data_type, types))
        return wrong("zps", types.size() > 2 ? "8 or 4 bits, or s32" : "s8, u8 or s32", o.inputs[input::zps]);
    return {};
}

class reader {
  public:
    reader(std::span<const op_pointer> ops, const constant_source &constants)
        : ops_(ops)
        , constants_(constants) {
        for (size_t i = 0; i < ops.size(); ++i)
            for (const auto &t : ops[i]->outputs)
                producers_[t.id] = i;
        for (const auto &o : ops)
            if (o->kind == dnnl_graph_op_matmul)
                for (size_t i = 0; i < std::min<size_t>(o->inputs.size(), matmul::bias); ++i)
                    multiplied_.insert(o->inputs[i].id);
    }

    layer_graph read() {
        for (position_ = 0; position_ < ops_.size(); ++position_)
            read(*ops_[position_]);
        auto &values = result_.g.values;
        for (auto &v : values)
            v.is_seen_outside = v.consumers.empty();
        return std::move(result_);
    }

  private:
    void read(const op_record &o) {
        if (o.is_left_to_onednn) return read_function(o, op::other);
        switch (o.kind) {
            case dnnl_graph_op_matmul:
                if (is_read_as_product(o)) return;
                break;
            case dnnl_graph_op_quantize:
            case dnnl_graph_op_dynamic_quantize:
                if (is_read_as_quantize(o)) return;
                break;
            case dnnl_graph_op_relu: return read_function(o, op::relu);
            case dnnl_graph_op_clamp: return read_function(o, op::clip, {"min", "max"});
            case dnnl_graph_op_leaky_relu: return read_function(o, op::leaky_relu, {"alpha"});
            case dnnl_graph_op_hard_sigmoid: return read_function(o, op::hard_sigmoid, {"alpha", "beta"});
            case dnnl_graph_op_hard_swish: return read_function(o, op::hard_swish);
            case dnnl_graph_op_add: return read_function(o, op::add);
            case dnnl_graph_op_multiply: return read_function(o, op::mul);
            case dnnl_graph_op_subtract: return read_function(o, op::sub);
            case dnnl_graph_op_divide: return read_function(o, op::div);
            case dnnl_graph_op_bias_add:
                if (has_channels_last(o, true)) return read_function(o, op::add);
                break;
            case dnnl_graph_op_prelu: {
                const auto *by_channel = find_attribute<bool>(o, dnnl_graph_op_attr_per_channel_broadcast);
                if (has_channels_last(o, !by_channel || *by_channel)) return read_function(o, op::prelu);
                break;
            }
            default: break;
        }
        read_function(o, op::other);
    }

    // ---- Nodes and values ----

    size_t add_node(op what, std::vector<size_t> inputs, size_t output) {
        const auto &o = *ops_[position_];
        const auto index = result_.g.nodes.size();
        for (const auto input : inputs)
            if (input != none) result_.g.values[input].consumers.push_back(index);
        if (output != none) result_.g.values[output].producer = index;
        match::node n;
        n.what = what;
        n.name = concat(o.id, o.name.empty() ? "" : " '" + o.name + "'");
        n.op_type = kind_name(o.kind) ? kind_name(o.kind) : "";
        n.inputs = std::move(inputs);
        if (output != none) n.outputs = {output};
        result_.g.nodes.push_back(std::move(n));
        result_.op_of.push_back(position_);
        return index;
    }

    size_t add_value(std::string name, std::optional<data_type> type, std::optional<dims> shape) {
        match::value v;
        v.name = std::move(name);
        v.type = type;
        v.shape = std::move(shape);
        result_.g.values.push_back(std::move(v));
        return result_.g.values.size() - 1;
    }

    size_t value_of(const c_logical_tensor &t) {
        const auto found = values_.find(t.id);
        if (found != values_.end()) return found->second;
        std::optional<dims> shape;
        if (rank_known(t)) shape = dims_of(t);
        const auto index = add_value(std::to_string(t.id), from_onednn(t.data_type), shape);
        result_.ids[index] = t.id;
        return values_[t.id] = index;
    }

    /// Adds a float that only nodes of one op pass on.
    size_t inner_value(const c_logical_tensor &like) { return add_value(std::to_string(like.id), data_type::f32, {}); }

    template <typename T>
    size_t add_constant(std::string name, data_type type, dims shape, const std::vector<T> &elements) {
        auto &bytes = result_.data.emplace_back(elements.size() * sizeof(T));
        if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
        const auto index = add_value(std::move(name), type, shape);
        result_.g.values[index].known = match::constant {type, std::move(shape), bytes.data()};
        return index;
    }
    /// Reads no elements of what varies along several dims: no layer has it, and it may be large.
    size_t add_floats(const op_record &o, size_t input, const dims &shape) {
        const bool is_vector = std::ranges::count_if(shape, [](auto extent) { return extent > 1; }) <= 1;
        return add_constant(concat("input ", input), data_type::f32, shape,
                constants_.floats(o, input, is_vector ? *volume(shape) : 0));
    }

    // ---- Functions of what comes from a product ----

    bool is_on_chain(const c_logical_tensor &t) const { return on_chain_.contains(t.id); }

    /// A parameter of an operator, which the matcher wants to be constant. What is multiplied too is within a layer,
    /// not at its ports.
    bool is_operand(const c_logical_tensor &t) const {
        return !is_on_chain(t) && t.data_type == dnnl_f32 && dims_known(t) && is_known(dims_of(t))
                && !multiplied_.contains(t.id);
    }

    /// The shape that the tensor or what makes it tells: programs leave the dims of what an op gives to oneDNN.
    std::optional<dims> shape_of(const c_logical_tensor &t) const {
        if (dims_known(t)) return dims_of(t);
        if (const auto found = on_chain_.find(t.id); found != on_chain_.end()) return found->second;
        const auto *maker = dequantize_of(t);
        return maker && dims_known(maker->inputs.front()) ? std::optional(dims_of(maker->inputs.front()))
                                                          : std::nullopt;
    }

    /// Whether it may be of each run, as a residual is: it has several rows, or all elements of the product. Others are
    /// parameters by column, which seldom change.
    bool is_summand(const op_record &o, const c_logical_tensor &t, const dims &product) const {
        const auto shape = shape_of(t);
        if (o.kind != dnnl_graph_op_add || t.data_type != dnnl_f32 || !is_known(shape) || multiplied_.contains(t.id))
            return false;
        const bool has_one_row = shape->empty() || volume(dims(shape->begin(), shape->end() - 1)) == 1;
        return !has_one_row || (*shape == product && t.property != dnnl_graph_tensor_property_constant);
    }

    size_t operand(const op_record &o, size_t input, const dims &product) {
        const auto &t = o.inputs[input];
        const auto index = is_operand(t) ? add_floats(o, input, dims_of(t)) : value_of(t);
        result_.ids[index] = t.id;
        if (is_summand(o, t, product)) {
            auto &value = result_.g.values[index];
            value.is_summand = true;
            value.shape = shape_of(t);
        }
        return index;
    }

    /// The dims of what a function gives; unknown ones where an operand may broadcast them.
    dims shape_behind(const op_record &o, const dims &product) const {
        std::optional<dims> result = product;
        for (const auto &t : o.inputs) {
            const auto shape = shape_of(t);
            result = is_known(shape) && is_known(result) ? broadcast_shape(*shape, *result) : std::nullopt;
        }
        return result.value_or(dims(product.size(), unknown));
    }

    void read_function(const op_record &o, op what, std::initializer_list<const char *> attributes = {}) {
        const auto from = std::ranges::find_if(o.inputs, [&](const auto &t) { return is_on_chain(t); });
        const bool is_function =
                what != op::other && o.outputs.size() == 1 && from != o.inputs.end() && is_numpy_broadcast(o);
        std::vector<size_t> inputs;
        for (size_t i = 0; i < o.inputs.size(); ++i)
            inputs.push_back(is_function ? operand(o, i, on_chain_.at(from->id)) : value_of(o.inputs[i]));
        const auto output = o.outputs.empty() ? none : value_of(o.outputs.front());
        const auto index = add_node(is_function ? what : op::other, std::move(inputs), output);
        for (size_t i = 1; i < o.outputs.size(); ++i)
            result_.g.nodes[index].outputs.push_back(value_of(o.outputs[i]));
        for (const auto *name : attributes) {
            static constexpr std::pair<std::string_view, dnnl_graph_op_attr_t> of_onednn[] = {
                    {"alpha", dnnl_graph_op_attr_alpha}, {"beta", dnnl_graph_op_attr_beta},
                    {"max", dnnl_graph_op_attr_max}, {"min", dnnl_graph_op_attr_min}};
            const auto attr =
                    std::ranges::find(of_onednn, std::string_view(name), [](const auto &p) { return p.first; });
            if (const auto *list = find_attribute<std::vector<float>>(o, attr->second); list && !list->empty())
                result_.g.nodes[index].attributes[name] = list->front();
        }
        if (is_function && o.outputs.front().data_type == dnnl_f32)
            on_chain_.emplace(o.outputs.front().id, shape_behind(o, on_chain_.at(from->id)));
    }

    /// Without broadcasting all inputs have one shape, for which numpy's rule is the same.
    bool is_numpy_broadcast(const op_record &o) const {
        const auto *broadcast = find_attribute<std::string>(o, dnnl_graph_op_attr_auto_broadcast);
        if (!broadcast || *broadcast == "numpy") return true;
        const auto first = shape_of(o.inputs.front());
        return is_known(first) && std::ranges::all_of(o.inputs, [&](const auto &t) { return shape_of(t) == first; });
    }

    /// by_channel: whether a vector is one for the channels, which data_format places.
    static bool has_channels_last(const op_record &o, bool by_channel) {
        if (!by_channel) return true;
        const auto *format = find_attribute<std::string>(o, dnnl_graph_op_attr_data_format);
        const auto &x = o.inputs.front();
        return !format || *format == "NXC" || (rank_known(x) && x.ndims == 2);
    }

    // ---- Products ----

    const op_record *dequantize_of(const c_logical_tensor &t) const {
        const auto found = producers_.find(t.id);
        const auto *producer = found == producers_.end() ? nullptr : ops_[found->second].get();
        return producer && is_dequantize(*producer) && !producer->is_left_to_onednn ? producer : nullptr;
    }

    bool is_read_as_product(const op_record &o) {
        if (o.inputs.size() < 2 || o.outputs.size() != 1) return false;
        const auto *x = dequantize_of(o.inputs[matmul::src]), *w = dequantize_of(o.inputs[matmul::weights]);
        if (!x && !w) return false;
        auto why = !w ? std::string("weights: expected the result of Dequantize or DynamicDequantize")
                : x   ? why_no_product(o, *x, *w)
                      : why_not_weight_only(o, *w);
        if (!why.empty()) {
            result_.why_no_layer[position_] = std::move(why);
            return false;
        }
        if (x)
            read_product(o, *x, *w);
        else
            read_weight_only(o, *w);
        return true;
    }

    /// xt, wt: what is multiplied, perhaps before Dequantize.
    static std::string why_no_matrices(const op_record &o, const c_logical_tensor &xt, const c_logical_tensor &wt) {
        if (!dims_known(wt) || wt.ndims < 2)
            return concat("weights: expected known dims, at least 2, given ", describe_dims(wt));
        if (!rank_known(xt) || xt.ndims < 2) // a vector would be multiplied otherwise
            return concat("src: expected a known rank of 2 or more, given ", rank_known(xt) ? concat(xt.ndims) : "?");
        if (o.outputs.front().data_type != dnnl_f32)
            return concat("dst: expected f32, given ", name_of(o.outputs.front().data_type));
        return {};
    }

    std::string why_no_product(const op_record &o, const op_record &x, const op_record &w) const {
        for (const auto *d : {&x, &w})
            if (const auto why = why_not_read(*d, {data_type::s8, data_type::u8}); !why.empty())
                return concat(label(*d), ": ", why);
        const auto &wt = w.inputs.front(), &xt = x.inputs.front();
        if (const auto why = why_no_matrices(o, xt, wt); !why.empty()) return why;
        const auto of_x = varying_dims(x, xt), of_w = varying_dims(w, wt);
        if (!of_x) return concat(label(x), ": expected known dims of src, given ", describe_dims(xt));
        const auto x_inner = xt.ndims - (transposes(o, dnnl_graph_op_attr_transpose_a) ? 2 : 1);
        if (!of_x->empty() && of_x->at(static_cast<size_t>(x_inner)))
            return concat(label(x), ": expected one scale for all of a row of MatMul's src, given several");
        const auto w_inner = wt.ndims - (transposes(o, dnnl_graph_op_attr_transpose_b) ? 1 : 2);
        if (!of_w->empty() && of_w->at(static_cast<size_t>(w_inner)))
            return concat(label(w), ": expected one scale for all of a column of MatMul's weights, given several");
        return {};
    }

    void read_product(const op_record &o, const op_record &x, const op_record &w) {
        const auto &wt = w.inputs.front();
        const bool is_transposed = transposes(o, dnnl_graph_op_attr_transpose_b);
        const auto inner = wt.dims[wt.ndims - (is_transposed ? 1 : 2)];
        const auto column = wt.ndims - (is_transposed ? 2 : 1);
        const auto varying = *varying_dims(w, wt);
        const auto counts = !varying.empty() && varying[static_cast<size_t>(column)] ? wt.dims[column] : 1;
        const auto &y = o.outputs.front();

        const auto weights = add_value("weights", from_onednn(wt.data_type), dims {inner, wt.dims[column]});
        result_.g.values[weights].known =
                match::constant {from_onednn(wt.data_type), {inner, wt.dims[column]}, nullptr};
        std::vector<size_t> inputs {value_of(x.inputs.front()), weights};
        if (has_zps(x) || has_zps(w))
            inputs.push_back(has_zps(x) ? add_value("zps of x", data_type::s32, dims {1}) : none);
        if (has_zps(w))
            inputs.push_back(add_constant(concat("zps of ", label(w)), data_type::s32, dims {counts},
                    constants_.integers(w, input::zps, counts)));
        const auto shape = shape_of_product(o, x.inputs.front(), wt);
        const auto sums = add_value("sums", data_type::s32, shape);
        result_.products[position_] = add_node(op::mat_mul_integer, std::move(inputs), sums);
        const auto floats = inner_value(y), scale = inner_value(y),
                   x_scale = add_value("scale of x", data_type::f32, dims {1});
        add_node(op::cast, {sums}, floats);
        add_node(op::mul, {x_scale, add_floats(w, input::scales, {counts})}, scale);
        const auto products = before_bias(o);
        add_node(op::mul, {floats, scale}, products);
        read_bias(o, products, shape);
    }

    /// What the bias is added to; the product's result where it has none.
    size_t before_bias(const op_record &o) {
        const auto &y = o.outputs.front();
        return o.inputs.size() > matmul::bias ? inner_value(y) : value_of(y);
    }

    void read_bias(const op_record &o, size_t products, const dims &shape) {
        const auto &y = o.outputs.front();
        if (o.inputs.size() > matmul::bias) {
            const auto &bias = o.inputs[matmul::bias];
            add_node(op::add,
                    {products, is_operand(bias) ? add_floats(o, matmul::bias, dims_of(bias)) : value_of(bias)},
                    value_of(y));
        }
        on_chain_.emplace(y.id, shape);
    }

    // ---- Products of floats by narrow weights ----

    std::string why_not_weight_only(const op_record &o, const op_record &w) const {
        const auto why_not = why_not_read(w,
                {data_type::s8, data_type::u8, data_type::s4, data_type::u4, data_type::f8_e4m3, data_type::f8_e5m2});
        if (!why_not.empty()) return concat(label(w), ": ", why_not);
        const auto &wt = w.inputs.front(), &xt = o.inputs[matmul::src];
        if (auto why = why_no_matrices(o, xt, wt); !why.empty()) return why;
        if (xt.data_type != dnnl_f32) return concat("src: expected f32, given ", name_of(xt.data_type));
        if (!traits(*from_onednn(wt.data_type)).integral && has_zps(w))
            return concat(label(w), ": expected no zps of floats");
        if (matrix_parameters(o, w).are_groups_of_columns)
            return concat(label(w), ": expected groups along the inner dim of MatMul's weights alone");
        return {};
    }

    void read_weight_only(const op_record &o, const op_record &w) {
        const auto &wt = w.inputs.front();
        const bool is_transposed = transposes(o, dnnl_graph_op_attr_transpose_b);
        const auto inner = wt.dims[wt.ndims - (is_transposed ? 1 : 2)],
                   columns = wt.dims[wt.ndims - (is_transposed ? 2 : 1)];
        const matrix_parameters parameters(o, w);
        const auto &counts = parameters.counts;
        const auto weights = add_value("weights", from_onednn(wt.data_type), dims {inner, columns});
        result_.g.values[weights].known = match::constant {from_onednn(wt.data_type), {inner, columns}, nullptr};
        const auto count = *volume(counts);
        std::vector<size_t> inputs {weights,
                add_constant(concat("scales of ", label(w)), data_type::f32, counts,
                        constants_.floats(w, input::scales, count))};
        if (has_zps(w))
            inputs.push_back(add_constant(
                    concat("zps of ", label(w)), data_type::s32, counts, constants_.integers(w, input::zps, count)));
        const auto real = inner_value(w.outputs.front());
        const auto dequantize = add_node(op::dequantize_linear, std::move(inputs), real);
        auto &attributes = result_.g.nodes[dequantize].attributes;
        attributes["axis"] = std::int64_t {counts.size() == 1 && parameters.by_column ? 1 : 0};
        if (counts.size() == 2) attributes["block_size"] = parameters.block;
        const auto shape = shape_of_product(o, o.inputs[matmul::src], wt);
        const auto products = before_bias(o);
        result_.g.values[products].shape = shape;
        result_.products[position_] = add_node(op::mat_mul, {value_of(o.inputs[matmul::src]), real}, products);
        read_bias(o, products, shape);
    }

    /// With batches. The tensors are those that Dequantize reads; the rank of x is known.
    static dims shape_of_product(const op_record &o, const c_logical_tensor &xt, const c_logical_tensor &wt) {
        if (const auto &y = o.outputs.front(); dims_known(y)) return dims_of(y);
        const auto batch_of = [](const c_logical_tensor &t) {
            const auto extents = dims_of(t);
            return dims(extents.begin(), extents.end() - 2);
        };
        auto shape = dims_known(xt) ? broadcast_shape(batch_of(xt), batch_of(wt)) : std::nullopt;
        if (!shape) return dims(static_cast<size_t>(std::max(xt.ndims, wt.ndims)), unknown);
        shape->push_back(xt.dims[xt.ndims - (transposes(o, dnnl_graph_op_attr_transpose_a) ? 1 : 2)]);
        shape->push_back(wt.dims[wt.ndims - (transposes(o, dnnl_graph_op_attr_transpose_b) ? 2 : 1)]);
        return *shape;
    }

    // ---- Quantize ----

    bool is_read_as_quantize(const op_record &o) {
        const auto &src = o.inputs.front(), &dst = o.outputs.front();
        if (!is_on_chain(src) || computes_scales(o) || !why_not_read(o, {data_type::s8, data_type::u8}).empty())
            return false;
        const auto varying = varying_dims(o, src);
        if (!varying) return false;
        // A layer quantizes with one scale, or with one for each column, which is the last dim of MatMul's dst.
        std::int64_t count = 1;
        for (size_t d = 0; d < varying->size(); ++d)
            if ((*varying)[d]) {
                if (d + 1 != varying->size() || src.dims[d] == unknown) return false;
                count = src.dims[d];
            }
        auto at = value_of(src);
        const auto behind = [&](op what, size_t operand) {
            const auto to = inner_value(dst);
            add_node(what, {at, operand}, to);
            at = to;
        };
        behind(op::div, add_floats(o, input::scales, {count}));
        if (has_zps(o)) behind(op::add, add_floats(o, input::zps, {count}));
        add_node(op::quantize_linear, {at, add_constant("one", data_type::f32, dims {}, std::vector<float> {1.0F})},
                value_of(dst));
        return true;
    }

    std::span<const op_pointer> ops_;
    const constant_source &constants_;
    std::map<size_t, size_t> producers_; // positions of ops, by id of a logical tensor
    std::map<size_t, size_t> values_;    // by id of a logical tensor
    std::map<size_t, dims> on_chain_;    // of floats that come from a product, by id: its dims
    std::set<size_t> multiplied_;        // ids of what MatMuls multiply
    size_t position_ = 0;                // of the op that is read
    layer_graph result_;
};

} // namespace

layer_graph read_graph(std::span<const op_pointer> ops, const constant_source &constants) {
    return reader(ops, constants).read();
}

} // namespace dynquant::graph::core
