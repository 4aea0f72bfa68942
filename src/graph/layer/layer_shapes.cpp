#include "graph/layer/layer_shapes.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/check.hpp"
#include "graph/execution.hpp"
#include "graph/layer/convolution.hpp"
#include "graph/layer/find_chains.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/lowering.hpp"
#include "graph/op_schema.hpp"
#include "graph/refusal.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/shape.hpp"

namespace dynquant::graph::core {
namespace {

matrices matrices_of(const op_record &product, const char *name, const c_logical_tensor &t, bool is_transposed) {
    if (t.ndims < 2) refuse(product, dnnl_invalid_shape, name, ": expected rank 2 or more, given ", t.ndims);
    const auto extents = dims_of(t), strides = strides_of(t);
    matrices m {{extents.begin(), extents.end() - 2}, {strides.begin(), strides.end() - 2}, extents.end()[-2],
            extents.end()[-1], strides.end()[-2], strides.end()[-1]};
    if (is_transposed) {
        std::swap(m.rows, m.columns);
        std::swap(m.row_stride, m.column_stride);
    }
    return m;
}

class shaper {
  public:
    shaper(const chain &c, logical_tensors inputs, logical_tensors outputs, dnnl_fpmath_mode_t mode)
        : given_(c)
        , inputs_(inputs)
        , outputs_(outputs)
        , rule_(mode == dnnl_fpmath_mode_any ? numerics::any : numerics::strict) {}

    layer_shapes make() {
        s_.lists_inputs = inputs_.size();
        s_.lists_outputs = outputs_.size();
        for (const auto &op : given_.ops)
            add(*op);
        s_.inputs = s_.ports.size();
        finish_y();
        check_layer();
        return std::move(s_);
    }

  private:
    void add(const op_record &given) {
        auto op = std::make_shared<op_record>(given);
        for (size_t i = 0; i < op->inputs.size(); ++i)
            take_input(*op, i);
        if (&given == given_.product.get()) {
            s_.ops.product = op;
            is_convolution(*op) ? convolve(*op) : multiply(*op);
        } else {
            infer_outputs(*op);
        }
        for (const auto &t : op->outputs)
            made_[t.id] = t;
        if (find_schema(*op)) state(*op, given);
        s_.ops.ops.push_back(op);
        last_ = op;
        if (&given == given_.dequantize_x.get()) s_.ops.dequantize_x = op;
        if (&given == given_.dequantize_w.get()) s_.ops.dequantize_w = op;
        if (&given == given_.cast_w.get()) s_.ops.cast_w = op;
        if (&given == given_.quantize_x.get()) s_.ops.quantize_x = op;
        if (std::ranges::count(given_.behind, &given, [](const auto &p) { return p.get(); }) != 0)
            s_.ops.behind.push_back(op);
    }

    void take_input(op_record &op, size_t i) {
        auto &port = op.inputs[i];
        if (const auto made = made_.find(port.id); made != made_.end()) {
            port = made->second;
            return;
        }
        const auto name = input_name(op, i);
        const auto position = substitute(op, name.c_str(), port, "inputs", inputs_);
        if (port.layout_type == dnnl_graph_layout_type_any && dims_known(port)) // as oneDNN's partitions read it
            set_final_shape(port, dims_of(port), row_major(dims_of(port)));
        if (!find_schema(op)) check_operand(op, name, port);
        if (std::ranges::count(s_.ports, port.id, &c_logical_tensor::id) != 0) return;
        s_.ports.push_back(port);
        s_.positions.push_back(position);
    }

    /// Checks an input of an op of another family, as check() does for ops of this one. Its type was read.
    static void check_operand(const op_record &op, const std::string &name, const c_logical_tensor &t) {
        if (!dims_known(t)) refuse(op, dnnl_invalid_shape, name, ": expected known dims, given ", describe_dims(t));
        if (t.layout_type != dnnl_graph_layout_type_strided)
            refuse_as<opaque_layout>(
                    op, dnnl_invalid_arguments, name, ": expected layout strided, given ", to_string(t.layout_type));
        if (!strides_known(t)) refuse(op, dnnl_invalid_shape, name, ": expected known strides, given unknown ones");
        for (const auto stride : strides_of(t))
            if (stride < 0) refuse(op, dnnl_invalid_shape, name, ": expected strides of 0 or more, given ", stride);
    }

    /// The input that has the dims of the op's results.
    const c_logical_tensor &source_of(const op_record &op) const {
        const auto made = std::ranges::find_if(op.inputs, [&](const auto &t) { return made_.contains(t.id); });
        return made == op.inputs.end() ? op.inputs.front() : *made;
    }

    void infer_outputs(op_record &op) const {
        const auto extents = dims_of(source_of(op));
        infer(op, op.outputs.front(), extents);
        for (size_t i = input::scales; i < op.outputs.size(); ++i) // of a DynamicQuantize that computes them
            infer(op, op.outputs[i], parameter_dims(op, extents));
    }

    /// Sets the shape of a tensor within the layer, or of its result before compile's list is looked at. Its layout is
    /// row-major, whatever the op says, as no buffer has it.
    static void infer(const op_record &op, c_logical_tensor &t, const dims &extents) {
        auto inferred = t;
        set_final_shape(inferred, extents, row_major(extents));
        t.layout_type = dnnl_graph_layout_type_any;
        if (const auto wrong = find_contradiction(t, inferred))
            refuse(op, wrong->status, "dst: expected ", wrong->what, ' ', wrong->second, ", given ", wrong->first);
        t = inferred;
    }

    /// Keeps the statement of an op of this family.
    void state(const op_record &op, const op_record &given) {
        auto q = *check(op, stage::compile, rule_);
        if (&given == given_.dequantize_x.get()) s_.of_x = q;
        if (&given == given_.dequantize_w.get()) s_.of_w = q;
        if (&given == given_.quantize_x.get()) s_.quantize_x = q;
    }

    /// `made` as `read` lies: a layer reads what Dequantize takes, and not what it gives.
    static c_logical_tensor lying_as(const c_logical_tensor &made, const c_logical_tensor &read) {
        auto t = made;
        std::ranges::copy(strides_of(read), t.layout.strides);
        return t;
    }

    void multiply(op_record &op) {
        const auto x = lying_as(op.inputs[matmul::src], s_.ops.x()),
                   w = lying_as(op.inputs[matmul::weights], s_.ops.w());
        s_.x = matrices_of(op, "src", x, transposes(op, dnnl_graph_op_attr_transpose_a));
        s_.w = matrices_of(op, "weights", w, transposes(op, dnnl_graph_op_attr_transpose_b));
        if (s_.x.columns != s_.w.rows)
            refuse(op, dnnl_invalid_shape, "weights: expected ", s_.x.columns, " rows, as many as src has columns (",
                    describe_dims(x), "), given ", s_.w.rows, " (", describe_dims(w), ")");
        const auto batch = broadcast_shape(s_.x.batch, s_.w.batch);
        if (!batch)
            refuse(op, dnnl_invalid_shape, "weights: expected batch dims that broadcast with those of src, ",
                    dynquant::to_string(s_.x.batch), ", given ", dynquant::to_string(s_.w.batch));
        s_.y = *batch;
        s_.y.insert(s_.y.end(), {s_.x.rows, s_.w.columns});
        check_sizes(op);
        const auto strides_of_x = broadcast_strides(s_.x.batch, *batch),
                   strides_of_w = broadcast_strides(s_.w.batch, *batch);
        const auto count = volume(s_.y) == 0 ? 0 : *volume(*batch); // without elements, batches may be any number
        for (std::int64_t i = 0; i < count; ++i) {
            s_.x_of.push_back(offset_of(i, *batch, strides_of_x));
            s_.w_of.push_back(offset_of(i, *batch, strides_of_w));
        }
        infer(op, op.outputs.front(), s_.y);
    }

    void convolve(op_record &op) {
        const auto x = lying_as(op.inputs[matmul::src], s_.ops.x()),
                   w = lying_as(op.inputs[matmul::weights], s_.ops.w());
        // The ranks may be others than the graph told.
        if (x.ndims != w.ndims || w.ndims < 3)
            refuse(op, dnnl_invalid_shape, "weights: expected as many dims as src has (", describe_dims(x),
                    "), 3 or more, given ", describe_dims(w));
        if (const auto why = why_no_window(op, w.ndims); !why.empty()) refuse(op, dnnl_invalid_arguments, why);
        const auto of_x = order_of_data(op, x.ndims), of_w = order_of_weights(op, w.ndims);
        auto &c = s_.convolution.emplace();
        c.x = permuted(dims_of(x), of_x);
        c.w = permuted(dims_of(w), of_w);
        c.groups = groups_of(op);
        if (c.groups < 1 || c.w[0] % c.groups != 0)
            refuse(op, dnnl_invalid_shape, "groups: expected a divisor of the ", c.w[0], " filters, given ", c.groups);
        if (c.x[1] % c.groups != 0 || c.x[1] / c.groups != c.w[1])
            refuse(op, dnnl_invalid_shape, "weights: expected filters of ", c.x[1], " / ", c.groups,
                    " channels, those of a group of src (", describe_dims(x), "), given ", c.w[1], " (",
                    describe_dims(w), ")");
        c.window = prefix_errors(op, [&] { return window_over(op, c.x, c.w); });
        c.y = dims_of_result(c.window, c.x, c.w);
        set_order_of_x(x, of_x);
        set_strides_of_weights(permuted(strides_of(w), of_w));
        s_.w = {{}, {}, volume(dims(c.w.begin() + 1, c.w.end())).value_or(most), c.w[0], 0, 0};
        s_.y = permuted_back(c.y, of_x);
        check_sizes(op);
        dims padded;
        for (size_t d = 0; d < c.window.rank(); ++d)
            padded.push_back(c.window.padded(d));
        padded.insert(padded.end(), {c.x[0], c.x[1]});
        if (volume(padded).value_or(most) >= most)
            refuse(op, dnnl_invalid_shape, "src with its padding: expected fewer than 2^44 elements");
        s_.x_of = s_.w_of = {0};
        infer(op, op.outputs.front(), s_.y);
    }

    /// Sets how a convolution takes x: channels first where it lies so, else channels last.
    void set_order_of_x(const c_logical_tensor &x, const std::vector<size_t> &of_x) {
        auto &c = *s_.convolution;
        auto strides = permuted(strides_of(x), of_x), extents = c.x;
        c.x_is_channels_last = !are_row_major(extents, strides);
        if (c.x_is_channels_last) {
            std::rotate(extents.begin() + 1, extents.begin() + 2, extents.end());
            std::rotate(strides.begin() + 1, strides.begin() + 2, strides.end());
        }
        s_.x = {{extents.begin(), extents.end() - 2}, {strides.begin(), strides.end() - 2}, extents.end()[-2],
                extents.end()[-1], strides.end()[-2], strides.end()[-1]};
    }

    void set_strides_of_weights(const dims &strides) {
        auto &c = *s_.convolution;
        std::int64_t of_tap = 0, taps = 1; // the stride of the taps so far
        bool has_one_stride = true;
        for (auto d = c.w.size(); d-- > 2;) {
            if (c.w[d] == 1) continue;
            has_one_stride &= taps == 1 || strides[d] == of_tap * taps;
            if (taps == 1) of_tap = strides[d];
            taps *= c.w[d];
        }
        c.weights.of_filter = strides[0];
        c.weights.of_channel = strides[1];
        c.weights.of_tap = of_tap;
        if (has_one_stride || volume(c.w) == 0) return;
        c.scattered_weights = strides;
        c.weights = layers::constant_weights::of_filters(nullptr, c.w[1], taps);
    }

    void check_sizes(const op_record &op) const {
        for (const auto *t : {&s_.x, &s_.w})
            if (volume({t->count(), t->rows, t->columns}).value_or(most) >= most)
                refuse(op, dnnl_invalid_shape, "expected fewer than 2^44 elements in src and in weights");
        if (volume(s_.y).value_or(most) >= most)
            refuse(op, dnnl_invalid_shape, "dst: expected fewer than 2^44 elements, given dims ",
                    dynquant::to_string(s_.y));
    }

    void finish_y() {
        auto &last = *last_;
        auto &port = last.outputs.front();
        const auto inferred = port;
        const auto position = substitute(last, "dst", port, "outputs", outputs_);
        auto plain = inferred;
        plain.layout_type = dnnl_graph_layout_type_any;
        if (const auto wrong = find_contradiction(plain, port))
            refuse(last, wrong->status, "dst: expected ", wrong->what, ' ', wrong->first, ", given ", wrong->second);
        if (port.layout_type == dnnl_graph_layout_type_opaque)
            refuse_as<opaque_layout>(last, dnnl_invalid_arguments, "dst: expected layout strided or any, given opaque");
        s_.y_strides = strides_known(port) ? strides_of(port) : row_major(s_.y);
        if (overlaps(s_.y, s_.y_strides))
            refuse(last, dnnl_invalid_shape, "dst: expected strides by which no two elements overlap, given ",
                    dynquant::to_string(s_.y_strides));
        port.data_type = inferred.data_type;
        set_final_shape(port, s_.y, s_.y_strides);
        s_.ports.push_back(port);
        s_.positions.push_back(position);
        set_order_of_y();
    }

    /// Sets how the layer gives y: a convolution channels first where it lies so, else channels last.
    void set_order_of_y() {
        s_.order_of_y.resize(s_.y.size());
        std::iota(s_.order_of_y.begin(), s_.order_of_y.end(), 0);
        if (!s_.convolution) return;
        auto order = order_of_data(*s_.ops.product, static_cast<int>(s_.y.size()));
        auto &c = *s_.convolution;
        c.y_is_channels_last = !are_row_major(c.y, permuted(s_.y_strides, order));
        if (c.y_is_channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
        s_.y = permuted(s_.y, order);
        s_.y_strides = permuted(s_.y_strides, order);
        s_.order_of_y = std::move(order);
    }

    /// Refuses ops that are not the layer that they seemed to be, now that all dims are known.
    void check_layer() {
        const auto found = find_chains(s_.ops.ops);
        if (found.chains.empty()) refuse(*s_.ops.product, dnnl_invalid_shape, found.others.begin()->second);
        const auto &c = found.chains.front();
        if (c.tensor) s_.tensor = s_.port_of(*c.tensor);
        if (c.ops.size() == s_.ops.ops.size()) return;
        refuse(*s_.ops.product, dnnl_invalid_shape, c.end);
    }

    static constexpr std::int64_t most = std::int64_t {1} << 44;
    const chain &given_;
    logical_tensors inputs_, outputs_;
    numerics rule_;
    std::map<size_t, c_logical_tensor> made_; // by ops of the chain, by id
    std::shared_ptr<op_record> last_;
    layer_shapes s_;
};

} // namespace

std::vector<size_t> with_batch(size_t rank, const std::vector<size_t> &behind) {
    std::vector<size_t> result(rank - 2);
    std::iota(result.begin(), result.end(), 0);
    result.insert(result.end(), behind.begin(), behind.end());
    return result;
}

std::string input_name(const op_record &op, size_t i) {
    if (const auto *schema = find_schema(op)) return schema->inputs[i].name;
    if (op.kind != dnnl_graph_op_matmul && !is_convolution(op)) return concat("input ", i);
    return i == matmul::src ? "src" : i == matmul::weights ? "weights" : "bias";
}

std::int64_t matrices::offset(std::int64_t i) const {
    return offset_of(i, batch, strides_of_batch);
}

bool matrices::are_dense() const {
    auto extents = batch, strides = strides_of_batch;
    extents.insert(extents.end(), {rows, columns});
    strides.insert(strides.end(), {row_stride, column_stride});
    return are_row_major(extents, strides);
}

bool are_row_major(const dims &extents, const dims &strides) {
    const auto dense = row_major(extents);
    for (size_t d = 0; d < extents.size(); ++d)
        if (extents[d] > 1 && strides[d] != dense[d]) return false;
    return true;
}

size_t layer_shapes::port_of(size_t id) const {
    for (size_t i = 0; i < inputs; ++i)
        if (ports[i].id == id) return i;
    return no_port;
}

layer_shapes make_shapes(const chain &c, logical_tensors inputs, logical_tensors outputs, dnnl_fpmath_mode_t mode) {
    return shaper(c, inputs, outputs, mode).make();
}

} // namespace dynquant::graph::core
