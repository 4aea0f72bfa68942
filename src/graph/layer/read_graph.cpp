#include "graph/layer/read_graph.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "elements/ceil_div.hpp"
#include "elements/table.hpp"
#include "graph/attributes.hpp"
#include "graph/layer/convolution.hpp"
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

/// What of a Dequantize or Quantize no layer has, or "". types: of its integers, or narrow floats. rounds: the floats
/// may be of 16 bits.
std::string why_not_read(const op_record &o, type_list types, bool rounds = false) {
    const auto wrong = [](const char *port, const char *expected, const c_logical_tensor &t) {
        return concat(port, ": expected ", expected, ", given ", name_of(t.data_type));
    };
    const auto &integers = is_dequantize(o) ? o.inputs.front() : o.outputs.front();
    const auto &floats = is_dequantize(o) ? o.outputs.front() : o.inputs.front();
    if (!is_one_of(integers.data_type, types))
        return wrong(is_dequantize(o) ? "src" : "dst", types.size() > 2 ? "8 or 4 bits" : "s8 or u8", integers);
    // The graph rounds each element to a narrower type.
    if (rounds ? !is_float(floats) : floats.data_type != dnnl_f32)
        return wrong(is_dequantize(o) ? "dst" : "src", rounds ? "f32, f16 or bf16" : "f32", floats);
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
            if (o->kind == dnnl_graph_op_matmul || is_convolution(*o))
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
            case dnnl_graph_op_convolution:
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
                if (has_channels_of_product(o)) return read_function(o, op::add);
                break;
            case dnnl_graph_op_prelu:
                if (!takes_channels(o) || has_channels_of_product(o)) return read_function(o, op::prelu);
                break;
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
        if (const auto found = on_chain_.find(t.id); found != on_chain_.end()) return found->second.shape;
        const auto *maker = dequantize_of(t);
        return maker && dims_known(maker->inputs.front()) ? std::optional(dims_of(maker->inputs.front()))
                                                          : std::nullopt;
    }

    /// What comes from a product. Its dims are in the order of the op, and perhaps unknown.
    struct chained {
        dims shape;
        const op_record *product;

        int rank() const { return static_cast<int>(shape.size()); }
        size_t channel() const { return static_cast<size_t>(channel_dim(*product, rank())); }
    };

    /// Whether a vector is one for the channels, which data_format places.
    static bool takes_channels(const op_record &o) {
        const auto *by_channel = find_attribute<bool>(o, dnnl_graph_op_attr_per_channel_broadcast);
        return o.kind == dnnl_graph_op_bias_add || (o.kind == dnnl_graph_op_prelu && (!by_channel || *by_channel));
    }
    bool has_channels_of_product(const op_record &o) const {
        const auto from = on_chain_.find(o.inputs.front().id);
        if (from == on_chain_.end()) return false;
        const auto *format = find_attribute<std::string>(o, dnnl_graph_op_attr_data_format);
        const bool is_last = !format || *format == "NXC";
        return from->second.channel() == (is_last ? from->second.shape.size() - 1 : 1);
    }

    /// The shape by which an operand broadcasts to what comes from a product.
    std::optional<dims> operand_shape(const op_record &o, const c_logical_tensor &t, const chained &from) const {
        auto shape = shape_of(t);
        if (!shape || shape->size() != 1 || !takes_channels(o)) return shape;
        dims along(from.shape.size(), 1);
        along[from.channel()] = shape->front();
        return along;
    }

    /// Such a shape in the order of the matcher's sums. One of more dims than these stays: no layer has it.
    static dims in_order_of_sums(dims shape, const chained &from) {
        const auto order = order_of_data(*from.product, from.rank());
        if (shape.empty() || shape.size() > order.size() || std::ranges::is_sorted(order)) return shape;
        shape.insert(shape.begin(), from.shape.size() - std::min(shape.size(), from.shape.size()), 1);
        return permuted(shape, order);
    }

    /// Whether it may be of each run, as a residual is: it differs from row to row, or has all elements of the product.
    /// Others are parameters by channel, which seldom change.
    bool is_summand(const op_record &o, const c_logical_tensor &t, const chained &from) const {
        const auto shape = operand_shape(o, t, from);
        if (o.kind != dnnl_graph_op_add || t.data_type != dnnl_f32 || !is_known(shape) || !is_known(from.shape)
                || multiplied_.contains(t.id) || shape->size() > from.shape.size())
            return false;
        const auto first = from.shape.size() - shape->size();
        bool is_by_channel = true;
        for (size_t d = 0; d < shape->size(); ++d)
            is_by_channel &= d + first == from.channel() || (*shape)[d] == 1;
        return !is_by_channel || (*shape == from.shape && t.property != dnnl_graph_tensor_property_constant);
    }

    size_t operand(const op_record &o, size_t input, const chained &from) {
        const auto &t = o.inputs[input];
        const auto index =
                is_operand(t) ? add_floats(o, input, in_order_of_sums(*operand_shape(o, t, from), from)) : value_of(t);
        result_.ids[index] = t.id;
        if (is_summand(o, t, from)) {
            auto &value = result_.g.values[index];
            value.is_summand = true;
            value.shape = in_order_of_sums(*operand_shape(o, t, from), from);
        }
        return index;
    }

    /// The dims of what a function gives; unknown ones where an operand may broadcast them.
    dims shape_behind(const op_record &o, const chained &from) const {
        std::optional<dims> result = from.shape;
        for (const auto &t : o.inputs) {
            const auto shape = operand_shape(o, t, from);
            result = is_known(shape) && is_known(result) ? broadcast_shape(*shape, *result) : std::nullopt;
        }
        return result.value_or(dims(from.shape.size(), unknown));
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
            on_chain_.emplace(o.outputs.front().id,
                    chained {shape_behind(o, on_chain_.at(from->id)), on_chain_.at(from->id).product});
    }

    /// Without broadcasting all inputs have one shape, for which numpy's rule is the same.
    bool is_numpy_broadcast(const op_record &o) const {
        const auto *broadcast = find_attribute<std::string>(o, dnnl_graph_op_attr_auto_broadcast);
        if (!broadcast || *broadcast == "numpy") return true;
        const auto first = shape_of(o.inputs.front());
        return is_known(first) && std::ranges::all_of(o.inputs, [&](const auto &t) { return shape_of(t) == first; });
    }

    // ---- Products ----

    const op_record *dequantize_of(const c_logical_tensor &t) const {
        const auto found = producers_.find(t.id);
        const auto *producer = found == producers_.end() ? nullptr : ops_[found->second].get();
        return producer && is_dequantize(*producer) && !producer->is_left_to_onednn ? producer : nullptr;
    }

    /// The Dequantize of weights, behind which a TypeCast may round.
    const op_record *dequantize_of_weights(const c_logical_tensor &t) const {
        const auto found = producers_.find(t.id);
        if (found == producers_.end()) return nullptr;
        const auto &cast = *ops_[found->second];
        const bool is_cast = cast.kind == dnnl_graph_op_type_cast && !cast.is_left_to_onednn && is_float(t);
        return dequantize_of(is_cast ? cast.inputs.front() : t);
    }

    bool is_read_as_product(const op_record &o) {
        const auto *x = dequantize_of(o.inputs[matmul::src]), *w = dequantize_of_weights(o.inputs[matmul::weights]);
        if (!x && !w) return false;
        auto why = !w ? std::string("weights: expected the result of Dequantize or DynamicDequantize")
                : x   ? (is_convolution(o) ? why_no_convolution(o, *x, *w) : why_no_product(o, *x, *w))
                      : why_not_weight_only(o, *w);
        if (why.empty() && o.inputs.size() > matmul::bias && !dims_known(o.inputs[matmul::bias]))
            why = concat("bias: expected known dims, given ", describe_dims(o.inputs[matmul::bias]));
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
    static std::string why_no_matrices(
            const op_record &o, const c_logical_tensor &xt, const c_logical_tensor &wt, bool rounds = false) {
        if (!dims_known(wt) || wt.ndims < 2)
            return concat("weights: expected known dims, at least 2, given ", describe_dims(wt));
        if (!rank_known(xt) || xt.ndims < 2) // a vector would be multiplied otherwise
            return concat("src: expected a known rank of 2 or more, given ", rank_known(xt) ? concat(xt.ndims) : "?");
        if (const auto &y = o.outputs.front(); rounds ? !is_float(y) : y.data_type != dnnl_f32)
            return concat("dst: expected f32", rounds ? ", f16 or bf16" : "", ", given ", name_of(y.data_type));
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

    std::string why_no_convolution(const op_record &o, const op_record &x, const op_record &w) const {
        for (const auto *d : {&x, &w})
            if (const auto why = why_not_read(*d, {data_type::s8, data_type::u8}); !why.empty())
                return concat(label(*d), ": ", why);
        const auto &wt = w.inputs.front(), &xt = x.inputs.front(), &y = o.outputs.front();
        if (!dims_known(wt) || wt.ndims < 3)
            return concat("weights: expected known dims, at least 3, given ", describe_dims(wt));
        if (xt.ndims != wt.ndims)
            return concat("src: expected rank ", wt.ndims, ", that of weights, given ", describe_dims(xt));
        if (y.data_type != dnnl_f32) return concat("dst: expected f32, given ", name_of(y.data_type));
        if (auto why = why_no_window(o, wt.ndims); !why.empty()) return why;
        const auto of_x = varying_dims(x, xt), of_w = varying_dims(w, wt);
        if (!of_x) return concat(label(x), ": expected known dims of src, given ", describe_dims(xt));
        for (size_t d = 1; d < of_x->size(); ++d)
            if (of_x->at(d)) return concat(label(x), ": expected one scale for all of an image, given several");
        for (size_t d = 0; d < of_w->size(); ++d)
            if (of_w->at(d) && d != static_cast<size_t>(column_dim(o, wt.ndims)))
                return concat(label(w), ": expected one scale for all of a filter, given several");
        try {
            shape_of_sums(o, xt, wt);
        } catch (const dynquant::error &e) { // of the window, not oneDNN's
            return e.what();
        }
        return {};
    }

    /// ONNX's dims; unknown ones where those of x are. Throws for a window that does not fit.
    static dims shape_of_sums(const op_record &o, const c_logical_tensor &xt, const c_logical_tensor &wt) {
        const auto order = order_of_data(o, xt.ndims);
        if (!dims_known(xt)) return dims(static_cast<size_t>(xt.ndims), unknown);
        const auto x = permuted(dims_of(xt), order), w = permuted(dims_of(wt), order_of_weights(o, wt.ndims));
        return dims_of_result(window_over(o, x, w), x, w);
    }

    void set_window(const op_record &o, match::node &n) const {
        auto window = window_of(o);
        n.attributes["group"] = groups_of(o);
        n.attributes["auto_pad"] = std::move(window.auto_pad);
        n.attributes["strides"] = std::move(window.strides);
        n.attributes["dilations"] = std::move(window.dilations);
        n.attributes["pads"] = std::move(window.pads);
    }

    void read_product(const op_record &o, const op_record &x, const op_record &w) {
        const auto &wt = w.inputs.front(), &y = o.outputs.front();
        const auto column = column_dim(o, wt.ndims);
        const auto varying = *varying_dims(w, wt);
        const auto counts = !varying.empty() && varying[static_cast<size_t>(column)] ? wt.dims[column] : 1;
        const auto shape_of_w = is_convolution(o) ? permuted(dims_of(wt), order_of_weights(o, wt.ndims))
                                                  : dims {wt.dims[2 * wt.ndims - 3 - column], wt.dims[column]};
        const auto shape =
                is_convolution(o) ? shape_of_sums(o, x.inputs.front(), wt) : shape_of_product(o, x.inputs.front(), wt);

        const auto weights = add_value("weights", from_onednn(wt.data_type), shape_of_w);
        result_.g.values[weights].known = match::constant {from_onednn(wt.data_type), shape_of_w, nullptr};
        std::vector<size_t> inputs {value_of(x.inputs.front()), weights};
        if (has_zps(x) || has_zps(w))
            inputs.push_back(has_zps(x) ? add_value("zps of x", data_type::s32, dims {1}) : none);
        if (has_zps(w))
            inputs.push_back(add_constant(concat("zps of ", label(w)), data_type::s32, dims {counts},
                    constants_.integers(w, input::zps, counts)));
        const auto sums = add_value("sums", data_type::s32, shape);
        const auto node = result_.products[position_] =
                add_node(is_convolution(o) ? op::conv_integer : op::mat_mul_integer, std::move(inputs), sums);
        if (is_convolution(o)) set_window(o, result_.g.nodes[node]);
        const chained result {permuted_back(shape, order_of_data(o, static_cast<int>(shape.size()))), &o};
        const auto floats = inner_value(y), scale = inner_value(y),
                   x_scale = add_value("scale of x", data_type::f32, dims {1});
        add_node(op::cast, {sums}, floats);
        add_node(op::mul, {x_scale, add_floats(w, input::scales, by_channel(counts, result))}, scale);
        const auto products = before_bias(o);
        add_node(op::mul, {floats, scale}, products);
        read_bias(o, products, result);
    }

    /// The shape of one value for each channel, as the matcher's sums have them.
    static dims by_channel(std::int64_t count, const chained &of) {
        dims shape {count};
        if (is_convolution(*of.product)) shape.resize(of.shape.size() - 1, 1);
        return shape;
    }

    /// What the bias is added to; the product's result where it has none.
    size_t before_bias(const op_record &o) {
        const auto &y = o.outputs.front();
        return o.inputs.size() > matmul::bias ? inner_value(y) : value_of(y);
    }

    void read_bias(const op_record &o, size_t products, chained result) {
        const auto &y = o.outputs.front();
        if (o.inputs.size() > matmul::bias) {
            const auto &bias = o.inputs[matmul::bias];
            auto as_f32 = bias;
            if (is_float(bias)) as_f32.data_type = dnnl_f32;
            const auto shape_of_bias = [&] {
                return is_convolution(o) && bias.ndims == 1 ? by_channel(bias.dims[0], result) : dims_of(bias);
            };
            add_node(op::add,
                    {products, is_operand(as_f32) ? add_floats(o, matmul::bias, shape_of_bias()) : value_of(bias)},
                    value_of(y));
        }
        if (y.data_type == dnnl_f32) on_chain_.emplace(y.id, std::move(result)); // each op behind would round, too
    }

    // ---- Products of floats by narrow weights ----

    std::string why_not_weight_only(const op_record &o, const op_record &w) const {
        if (is_convolution(o)) return "src: expected the result of Dequantize or DynamicDequantize";
        const auto why_not = why_not_read(w,
                {data_type::s8, data_type::u8, data_type::s4, data_type::u4, data_type::f8_e4m3, data_type::f8_e5m2},
                true);
        if (!why_not.empty()) return concat(label(w), ": ", why_not);
        const auto &wt = w.inputs.front(), &xt = o.inputs[matmul::src];
        if (auto why = why_no_matrices(o, xt, wt, true); !why.empty()) return why;
        if (!is_float(xt)) return concat("src: expected f32, f16 or bf16, given ", name_of(xt.data_type));
        if (xt.id == o.inputs[matmul::weights].id) return "src: expected other floats than the weights themselves";
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
        if (counts.size() == 2)
            attributes["block_size"] = parameters.block == 0 ? std::max<std::int64_t>(inner, 1) : parameters.block;
        if (parameters.column_group > 1) attributes[match::column_group] = parameters.column_group;
        const auto shape = shape_of_product(o, o.inputs[matmul::src], wt);
        const auto products = before_bias(o);
        result_.g.values[products].shape = shape;
        result_.products[position_] = add_node(op::mat_mul, {floats_of(o.inputs[matmul::src]), real}, products);
        read_bias(o, products, {shape, &o});
    }

    /// x as the layer multiplies it: f32, of which other types are made.
    size_t floats_of(const c_logical_tensor &t) {
        if (t.data_type == dnnl_f32) return value_of(t);
        return add_value(
                std::to_string(t.id), data_type::f32, rank_known(t) ? std::optional(dims_of(t)) : std::nullopt);
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
        const auto &from = on_chain_.at(src.id);
        // A layer quantizes with one scale, or with one for each channel.
        std::int64_t count = 1;
        for (size_t d = 0; d < varying->size(); ++d)
            if ((*varying)[d]) {
                if (d != from.channel() || src.dims[d] == unknown) return false;
                count = src.dims[d];
            }
        const auto shape = by_channel(count, from);
        auto at = value_of(src);
        const auto behind = [&](op what, size_t operand) {
            const auto to = inner_value(dst);
            add_node(what, {at, operand}, to);
            at = to;
        };
        behind(op::div, add_floats(o, input::scales, shape));
        if (has_zps(o)) behind(op::add, add_floats(o, input::zps, shape));
        add_node(op::quantize_linear, {at, add_constant("one", data_type::f32, dims {}, std::vector<float> {1.0F})},
                value_of(dst));
        return true;
    }

    std::span<const op_pointer> ops_;
    const constant_source &constants_;
    std::map<size_t, size_t> producers_; // positions of ops, by id of a logical tensor
    std::map<size_t, size_t> values_;    // by id of a logical tensor
    std::map<size_t, chained> on_chain_; // floats that come from a product, by id
    std::set<size_t> multiplied_;        // ids of what MatMuls multiply
    size_t position_ = 0;                // of the op that is read
    layer_graph result_;
};

} // namespace

layer_graph read_graph(std::span<const op_pointer> ops, const constant_source &constants) {
    return reader(ops, constants).read();
}

} // namespace dynquant::graph::core
