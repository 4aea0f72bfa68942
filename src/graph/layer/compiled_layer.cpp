#include "graph/layer/compiled_layer.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "elements/load_store.hpp"
#include "graph/execution.hpp"
#include "graph/layer/exact_product.hpp"
#include "graph/layer/layer_shapes.hpp"
#include "graph/layer/read_graph.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "graph/refusal.hpp"
#include "kernels/kernels.hpp"
#include "layers/gemm/unpacked/unpacked_product.hpp"
#include "layers/match/describe.hpp"
#include "parallel/newest.hpp"
#include "parallel/pool.hpp"
#include "quantization/environment.hpp"
#include "quantization/names.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/verbose.hpp"

namespace dynquant::graph::core {
namespace {

namespace match = layers::match;
using std::byte;

std::atomic<bool> packed_weights_are_kept = true;

constexpr size_t none = static_cast<size_t>(-1);

size_t size_of(const c_logical_tensor &t) {
    return static_cast<size_t>(traits(*from_onednn(t.data_type)).bits / 8);
}

/// Bytes from the first to the last element.
size_t bytes_spanned(const c_logical_tensor &t) {
    if (volume(dims_of(t)) == 0) return 0;
    return static_cast<size_t>(last_offset(dims_of(t), strides_of(t)).value_or(0) + 1) * size_of(t);
}

/// For each matrix and each of its rows or columns, the index of its parameter. The dims of q's src are those of the
/// matrices' tensor.
std::vector<std::int64_t> parameter_indices(const quantization &q, size_t along) {
    const auto &extents = q.src.dims;
    const auto &block = q.scales.block;
    const auto counts = parameter_dims(extents, block);
    const auto strides = row_major(counts);
    dims order(extents.begin(), extents.end() - 2);
    order.push_back(extents[along]);
    std::vector<std::int64_t> result(static_cast<size_t>(volume(order).value_or(0)));
    for (size_t i = 0; i < result.size(); ++i) {
        auto rest = static_cast<std::int64_t>(i);
        std::int64_t at = 0;
        for (size_t d = order.size(); d-- > 0; rest /= order[d]) {
            const auto dim = d + 1 == order.size() ? along : d;
            at += rest % order[d] / block[dim] * strides[dim];
        }
        result[i] = at;
    }
    return result;
}

/// Scales or zero points of one side of MatMul, in the order in which layers take them.
struct side_parameters {
    std::vector<std::int64_t> indices; // of each row, or of each column of each matrix
    bool are_one = false;              // the same for all
    bool are_in_order = false;
    std::vector<float> scales;             // known ones, as `indices` order them; empty: given at the run
    std::vector<std::int32_t> zero_points; // likewise
    bool has_zero_points = false;

    side_parameters() = default;
    side_parameters(const quantization &q, size_t along) {
        indices = parameter_indices(q, along);
        are_one = std::ranges::all_of(parameter_dims(q.src.dims, q.scales.block), [](auto n) { return n <= 1; });
        if (are_one) indices = {0};
        are_in_order = true;
        for (size_t i = 0; i < indices.size(); ++i)
            are_in_order &= indices[i] == static_cast<std::int64_t>(i);
        has_zero_points = q.zero_points.has_value();
        for (const auto index : indices) {
            if (!q.scales.values.empty())
                scales.push_back(static_cast<float>(q.scales.values.at(static_cast<size_t>(index))));
            if (has_zero_points && !q.zero_points->values.empty())
                zero_points.push_back(static_cast<std::int32_t>(q.zero_points->values.at(static_cast<size_t>(index))));
        }
    }

    size_t count() const { return indices.size(); }
};

/// The largest |v - zero point| of a byte v.
std::int64_t largest_difference(bool is_signed, std::span<const std::int32_t> zero_points) {
    const std::int64_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    std::int64_t most = zero_points.empty() ? std::max(-low, high) : 0;
    for (const std::int64_t zp : zero_points)
        most = std::max({most, std::abs(low - zp), std::abs(high - zp)});
    return most;
}

/// What depends on the data of constant inputs: the layers of each matrix of weights.
struct binding {
    std::vector<byte> key;   // the bytes of the inputs that are constants of layers
    const void *w = nullptr; // null: weights are not kept
    struct part {
        layers::layer_description description;
        std::vector<layers::post_op_view> steps;            // of the description
        std::unique_ptr<const layers::packed_layer> packed; // null: not kept
        std::unique_ptr<const layers::layer> layer;         // likewise
        std::int64_t largest_w = 0;
    };
    std::vector<part> parts; // for each matrix of weights
};

class compiled_layer : public compiled {
  public:
    compiled_layer(std::string label, layer_shapes shapes, kernels::kernel_list kernels)
        : label_(std::move(label))
        , s_(std::move(shapes))
        , of_x_(s_.of_x,
                  s_.of_x.src.dims.size() - (transposes(*s_.ops.product, dnnl_graph_op_attr_transpose_a) ? 1 : 2))
        , of_w_(s_.of_w,
                  s_.of_w.src.dims.size() - (transposes(*s_.ops.product, dnnl_graph_op_attr_transpose_b) ? 2 : 1))
        , x_is_signed_(s_.ops.x().data_type == dnnl_s8)
        , w_is_signed_(s_.ops.w().data_type == dnnl_s8)
        , y_bytes_(size_of(s_.ports.back())) {
        const auto &ops = s_.ops;
        const auto port = [&](const op_record &op, size_t i) {
            return op.inputs.size() > i ? s_.port_of(op.inputs[i].id) : none;
        };
        w_ = port(*ops.dequantize_w, input::src);
        if (ops.quantize_x) {
            for (size_t i = 0; i < ops.quantize_x->inputs.size(); ++i)
                quantize_inputs_[i] = port(*ops.quantize_x, i);
            computes_scales_ = core::computes_scales(*ops.quantize_x);
            computed_count_ = static_cast<size_t>(
                    volume(parameter_dims(s_.of_x.src.dims, s_.quantize_x->scales.block)).value_or(0));
            options opts;
            opts.name = core::label(*ops.quantize_x);
            quantize_ = prefix_errors(*ops.quantize_x, [&] { return kernels::prepare(*s_.quantize_x, opts, kernels); });
        } else {
            x_ = port(*ops.dequantize_x, input::src);
        }
        if (!computes_scales_) {
            x_scales_ = port(*ops.dequantize_x, input::scales);
            x_zps_ = port(*ops.dequantize_x, input::zps);
        }
        x_is_dense_ = s_.x.are_dense();
        y_is_dense_ = s_.y_strides == row_major(s_.y) || volume(s_.y) == 0;
        keeps_weights_ =
                w_ != none && s_.ports[w_].property == dnnl_graph_tensor_property_constant && packed_weights_are_kept;
        list_constants();
        y_count_ = static_cast<std::int64_t>(s_.x_of.size());
        is_joined_ = s_.w.count() == 1;
        rows_ = is_joined_ ? s_.x.count() * s_.x.rows : s_.x.rows;
    }

    std::string label() const override { return label_; }
    operation_info info() const override { return {kernel_kind::native, to_string(targets::strongest(features_))}; }
    const c_logical_tensor *find_port(size_t id) const override {
        const auto found = std::ranges::find(s_.ports, id, &c_logical_tensor::id);
        return found == s_.ports.end() ? nullptr : &*found;
    }

    void execute(dnnl_stream_t stream, tensors inputs, tensors outputs) const override {
        const auto &f =
                begin_execution(label_, stream, {s_.lists_inputs, s_.lists_outputs}, {inputs.size(), outputs.size()});
        auto m = idle_.take([] { return std::make_unique<memory>(); });
        m->buffers.clear();
        for (size_t i = 0; i < s_.ports.size(); ++i) {
            const auto &list = i < s_.inputs ? inputs : outputs;
            m->buffers.push_back(static_cast<byte *>(buffer_of(f, list[s_.positions[i]])));
            if (!m->buffers.back() && volume(dims_of(s_.ports[i])) != 0) refuse_null(i);
        }
        if (environment::verbose() > 0)
            verbose::print("exec", concat("layer,native:", info().isa, ",", label_, ",", describe_extents()),
                    verbose::milliseconds([&] { run(*m); }));
        else
            run(*m);
        idle_.give_back(std::move(m));
    }

  private:
    struct memory {
        std::vector<byte *> buffers; // of the ports
        layers::workspace of_layers;
        layers::aligned_vector<byte> quantized, x, w, y, computed_scales, computed_zero_points;
        std::vector<float> scales;
        std::vector<std::int32_t> zero_points;
        layers::aligned_vector<float> sums;
        layers::aligned_vector<std::int32_t> integer_sums;
        layers::aligned_vector<std::int16_t> words; // of x
    };

    [[noreturn]] void refuse_null(size_t port) const {
        const auto &t = s_.ports[port];
        for (const auto &op : s_.ops.ops)
            for (size_t i = 0; i < op->inputs.size(); ++i)
                if (port < s_.inputs && op->inputs[i].id == t.id)
                    refuse(*op, dnnl_invalid_arguments, input_name(*op, i), ": expected a buffer, given a null pointer",
                            t.property == dnnl_graph_tensor_property_constant ? " for a constant tensor" : "");
        refuse(s_.ops.last(), dnnl_invalid_arguments, "dst: expected a buffer, given a null pointer");
    }

    std::string describe_extents() const {
        return concat(dynquant::to_string(s_.of_x.src.dims), "*", dynquant::to_string(s_.of_w.src.dims));
    }

    /// The inputs whose bytes layers have as constants: zps of w first, which weights are packed with.
    void list_constants() {
        const auto add = [&](const op_record &op, size_t i) {
            const auto port = op.inputs.size() > i ? s_.port_of(op.inputs[i].id) : none;
            if (port != none) constants_.push_back({port, bytes_spanned(s_.ports[port])});
        };
        const auto &ops = s_.ops;
        add(*ops.dequantize_w, input::zps);
        for (const auto &c : constants_)
            of_zero_points_ += c.bytes;
        add(*ops.dequantize_w, input::scales);
        add(*ops.product, matmul::bias);
        for (const auto &op : ops.behind)
            for (size_t i = 0; i < op->inputs.size(); ++i)
                add(*op, i);
    }

    // ---- x ----

    /// Fills scales and zero points of x, in the order of its rows.
    struct of_x {
        std::span<const float> scales;
        std::span<const std::int32_t> zero_points;
    };
    of_x read_x_parameters(memory &m) const {
        const void *scales = x_scales_ == none ? nullptr : m.buffers[x_scales_];
        const void *zps = x_zps_ == none ? nullptr : m.buffers[x_zps_];
        if (computes_scales_) {
            scales = m.computed_scales.data();
            zps = m.computed_zero_points.data();
        }
        of_x result;
        const auto count = of_x_.count();
        if (!of_x_.scales.empty()) {
            result.scales = of_x_.scales;
        } else if (s_.of_x.scales.type == data_type::f32 && of_x_.are_in_order) {
            result.scales = {static_cast<const float *>(scales), count};
        } else {
            layers::workspace::ensure_size(m.scales, count);
            for (size_t i = 0; i < count; ++i)
                m.scales[i] = static_cast<float>(load(s_.of_x.scales.type, scales, of_x_.indices[i]));
            result.scales = {m.scales.data(), count};
        }
        if (!of_x_.has_zero_points) return result;
        if (!of_x_.zero_points.empty()) {
            result.zero_points = of_x_.zero_points;
            return result;
        }
        const auto type = s_.of_x.zero_points->type;
        layers::workspace::ensure_size(m.zero_points, count);
        for (size_t i = 0; i < count; ++i)
            m.zero_points[i] = static_cast<std::int32_t>(load(type, zps, of_x_.indices[i]));
        result.zero_points = {m.zero_points.data(), count};
        return result;
    }

    /// The bytes of x, dense: its matrices, row-major.
    const byte *read_x(memory &m) const {
        const byte *x = x_ == none ? nullptr : m.buffers[x_];
        if (quantize_) {
            const auto elements = static_cast<size_t>(*volume(s_.of_x.src.dims));
            arguments args;
            const auto given = [&](size_t i) {
                return quantize_inputs_[i] == none ? nullptr : m.buffers[quantize_inputs_[i]];
            };
            args.src = given(input::src);
            args.dst = layers::workspace::ensure_size(m.quantized, elements);
            if (computes_scales_) {
                args.second_scales = given(global_scale);
                args.computed_scales = layers::workspace::ensure_size(m.computed_scales, 4 * computed_count_);
                args.computed_zero_points = layers::workspace::ensure_size(m.computed_zero_points, computed_count_);
            } else {
                args.scales = given(input::scales);
                args.zero_points = given(input::zps);
            }
            prefix_errors(*s_.ops.quantize_x, [&] { quantize_->run(args); });
            x = m.quantized.data();
        }
        if (x_is_dense_) return x;
        const auto size = s_.x.rows * s_.x.columns;
        auto *const to = layers::workspace::ensure_size(m.x, static_cast<size_t>(s_.x.count() * size));
        for (std::int64_t i = 0; i < s_.x.count(); ++i)
            copy_matrix(
                    x + s_.x.offset(i), s_.x.row_stride, s_.x.column_stride, s_.x.rows, s_.x.columns, to + i * size);
        return to;
    }

    /// Tiles keep both sides in the first-level cache.
    static void copy_matrix(const byte *from, std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
            std::int64_t columns, byte *to) {
        constexpr std::int64_t tile = 32;
        parallel::for_each_part(
                ceil_div(rows, tile), parallel::parts_for(rows * columns, 0), [=](parallel::range part) {
                    for (auto first = part.begin * tile; first < std::min(part.end * tile, rows); first += tile)
                        for (std::int64_t c = 0; c < columns; c += tile)
                            for (auto row = first; row < std::min(first + tile, rows); ++row)
                                for (auto column = c; column < std::min(c + tile, columns); ++column)
                                    to[row * columns + column] = from[row * row_stride + column * column_stride];
                });
    }

    // ---- Constants ----

    bool has_key(const binding &b, const memory &m) const {
        if (b.w && b.w != m.buffers[w_]) return false;
        const auto *at = b.key.data();
        for (const auto &c : constants_) {
            if (c.bytes != 0 && std::memcmp(at, m.buffers[c.port], c.bytes) != 0) return false;
            at += c.bytes;
        }
        return true;
    }

    /// The constants of one matrix of weights, from the buffers of a run.
    class run_constants : public constant_source {
      public:
        run_constants(const compiled_layer &of, const memory &m, std::int64_t matrix)
            : of_(of)
            , m_(m)
            , matrix_(matrix) {}

        std::vector<float> floats(const op_record &op, size_t i, std::int64_t count) const override {
            return read<float>(op, i, count);
        }
        std::vector<std::int32_t> integers(const op_record &op, size_t i, std::int64_t count) const override {
            return read<std::int32_t>(op, i, count);
        }

      private:
        template <typename T>
        std::vector<T> read(const op_record &op, size_t i, std::int64_t count) const {
            std::vector<T> result;
            const bool is_w = &op == of_.s_.ops.dequantize_w.get();
            const auto at = [&](std::int64_t k) {
                return is_w
                        ? of_.of_w_.indices[of_.of_w_.are_one ? 0 : static_cast<size_t>(matrix_ * of_.s_.w.columns + k)]
                        : k;
            };
            if (op.inputs.size() <= i) { // attributes
                const auto list = attribute_values(op, i);
                for (std::int64_t k = 0; k < count; ++k)
                    result.push_back(static_cast<T>(list.at(static_cast<size_t>(at(k)))));
                return result;
            }
            const auto &t = op.inputs[i];
            const auto *buffer = m_.buffers[of_.s_.port_of(t.id)];
            const auto extents = dims_of(t), strides = strides_of(t);
            for (std::int64_t k = 0; k < count; ++k) {
                auto rest = at(k);
                std::int64_t offset = 0;
                for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
                    offset += rest % extents[d] * strides[d];
                result.push_back(static_cast<T>(load(*from_onednn(t.data_type), buffer, offset)));
            }
            return result;
        }

        static std::vector<double> attribute_values(const op_record &op, size_t i) {
            const auto found =
                    op.attributes.find(i == input::scales ? dnnl_graph_op_attr_scales : dnnl_graph_op_attr_zps);
            std::vector<double> result;
            if (const auto *floats = std::get_if<std::vector<float>>(&found->second))
                result.assign(floats->begin(), floats->end());
            else if (const auto *integers = std::get_if<std::vector<std::int64_t>>(&found->second))
                result.assign(integers->begin(), integers->end());
            return result;
        }

        const compiled_layer &of_;
        const memory &m_;
        std::int64_t matrix_;
    };

    layers::constant_weights weights_of(const memory &m, std::int64_t matrix) const {
        return {m.buffers[w_] + s_.w.offset(matrix), s_.w.column_stride, s_.w.row_stride, 0};
    }

    layers::layer_description describe_layer(const memory &m, std::int64_t matrix) const {
        const auto read = read_graph(s_.ops.ops, run_constants(*this, m, matrix));
        auto found = match::find_layer(read.g, read.products.begin()->second, std::vector<bool>(read.g.nodes.size()));
        found.found->scales_by_row = !of_x_.are_one;
        auto d = match::describe(read.g, *found.found);
        d.label = label_;
        return d;
    }

    std::shared_ptr<const binding> bind(const memory &m) const {
        auto b = std::make_shared<binding>();
        for (const auto &c : constants_)
            b->key.insert(b->key.end(), m.buffers[c.port], m.buffers[c.port] + c.bytes);
        if (keeps_weights_) b->w = m.buffers[w_];
        const auto packed_before = bindings_.find([&](const binding &other) {
            return b->w && other.w == b->w
                    && std::equal(b->key.begin(), b->key.begin() + static_cast<std::ptrdiff_t>(of_zero_points_),
                            other.key.begin());
        });
        for (std::int64_t i = 0; i < s_.w.count(); ++i) {
            binding::part p;
            p.description = describe_layer(m, i);
            for (const auto &step : p.description.post_ops)
                p.steps.push_back({step.what, step.a, step.b, step.table});
            p.largest_w = largest_difference(w_is_signed_, p.description.w_zero_points);
            if (keeps_weights_ && is_exact(p.largest_w, largest_difference(x_is_signed_, of_x_.zero_points))) {
                const auto *before =
                        packed_before ? packed_before->parts[static_cast<size_t>(i)].packed.get() : nullptr;
                p.packed = before
                        ? std::make_unique<const layers::packed_layer>(p.description, *before)
                        : std::make_unique<const layers::packed_layer>(p.description, weights_of(m, i), features_);
                p.layer = std::make_unique<const layers::layer>(*p.packed, dims {rows_, s_.x.columns});
            }
            b->parts.push_back(std::move(p));
        }
        return b;
    }

    /// Whether s32 holds each sum.
    bool is_exact(std::int64_t largest_w, std::int64_t largest_x) const {
        std::int64_t most = 0;
        return !__builtin_mul_overflow(largest_w * s_.x.columns, largest_x, &most)
                && most <= std::numeric_limits<std::int32_t>::max();
    }

    // ---- A run ----

    void run(memory &m) const {
        if (volume(s_.y) == 0) return;
        const auto *x = read_x(m);
        const auto parameters = read_x_parameters(m);
        const auto current =
                bindings_.find_or_add([&](const binding &b) { return has_key(b, m); }, [&] { return bind(m); });
        const auto of_matrix = s_.x.rows * s_.w.columns;
        auto *y = m.buffers.back();
        if (!y_is_dense_) y = layers::workspace::ensure_size(m.y, static_cast<size_t>(y_count_ * of_matrix) * y_bytes_);
        const auto largest_x = largest_difference(x_is_signed_, parameters.zero_points);
        const auto size = s_.x.rows * s_.x.columns;
        const auto rows = rows_;
        for (std::int64_t i = 0; i < (is_joined_ ? 1 : y_count_); ++i) {
            const auto of = static_cast<size_t>(i);
            const auto matrix = is_joined_ ? 0 : s_.x_of[of];
            layers::layer_arguments args {x + matrix * size, y + static_cast<size_t>(i * of_matrix) * y_bytes_,
                    of_rows(parameters.zero_points, matrix, rows), of_rows(parameters.scales, matrix, rows)};
            run_part(current->parts[is_joined_ ? 0 : static_cast<size_t>(s_.w_of[of])], s_.w_of[of], args, rows,
                    largest_x, m);
        }
        if (!y_is_dense_) scatter(y, m.buffers.back());
    }

    template <typename T>
    std::span<const T> of_rows(std::span<const T> values, std::int64_t matrix, std::int64_t rows) const {
        if (of_x_.are_one || values.empty()) return values;
        return values.subspan(static_cast<size_t>(matrix * s_.x.rows), static_cast<size_t>(rows));
    }

    void run_part(const binding::part &part, std::int64_t matrix, const layers::layer_arguments &args,
            std::int64_t rows, std::int64_t largest_x, memory &m) const {
        if (!is_exact(part.largest_w, largest_x)) return run_exactly(part, matrix, args, rows, m);
        if (part.layer) return part.layer->run(args, m.of_layers);
        const layers::unpacked_operands o {static_cast<const byte *>(args.x), x_is_signed_, rows, s_.x.columns,
                s_.w.columns, args.x_zero_points, weights_of(m, matrix), w_is_signed_, part.description.w_zero_points};
        if (layers::can_multiply_unpacked(o) && largest_x < 1 << 15) return run_unpacked(o, part, args, m);
        const layers::packed_layer packed(part.description, weights_of(m, matrix), features_);
        layers::layer(packed, {rows, s_.x.columns}).run(args, m.of_layers);
    }

    void run_unpacked(const layers::unpacked_operands &o, const binding::part &part,
            const layers::layer_arguments &args, memory &m) const {
        auto *const sums = layers::workspace::ensure_size(m.integer_sums, static_cast<size_t>(o.rows * o.columns));
        layers::multiply_unpacked(o, features_, m.words, sums);
        finish(part, sums, false, o.rows, args);
    }

    /// Makes the result of sums, which have no terms of zero points left.
    void finish(const binding::part &part, const void *sums, bool are_floats, std::int64_t rows,
            const layers::layer_arguments &args) const {
        layers::epilogue by {part.steps, part.description.result, nullptr, args.x_scales.data()};
        by.row_stride = of_x_.are_one ? 0 : 1;
        const auto columns = s_.w.columns;
        targets::pick(features_, layers::epilogue_table)
                ->rows(by, {sums, are_floats, columns, args.y, columns, 1}, {0, rows});
    }

    /// Where s32 does not hold the sums.
    void run_exactly(const binding::part &part, std::int64_t matrix, const layers::layer_arguments &args,
            std::int64_t rows, memory &m) const {
        const auto &d = part.description;
        const auto columns = s_.w.columns;
        auto *const sums = layers::workspace::ensure_size(m.sums, static_cast<size_t>(rows * columns));
        multiply_exactly({static_cast<const byte *>(args.x), x_is_signed_, rows, s_.x.columns, args.x_zero_points,
                                 weights_of(m, matrix), w_is_signed_, columns, d.w_zero_points},
                sums);
        finish(part, sums, true, rows, args);
    }

    /// From a dense y to one with strides.
    void scatter(const byte *from, byte *to) const {
        const auto count = *volume(s_.y);
        for (std::int64_t i = 0; i < count; ++i) {
            std::int64_t offset = 0, rest = i;
            for (size_t d = s_.y.size(); d-- > 0; rest /= s_.y[d])
                offset += rest % s_.y[d] * s_.y_strides[d];
            std::memcpy(
                    to + static_cast<size_t>(offset) * y_bytes_, from + static_cast<size_t>(i) * y_bytes_, y_bytes_);
        }
    }

    std::string label_;
    layer_shapes s_;
    side_parameters of_x_, of_w_;
    bool x_is_signed_, w_is_signed_;
    size_t y_bytes_;
    targets::features features_ = environment::usable_features();
    // Ports.
    size_t x_ = none, w_ = none, x_scales_ = none, x_zps_ = none, quantize_inputs_[3] = {none, none, none};
    struct constant {
        size_t port, bytes;
    };
    std::vector<constant> constants_;
    size_t of_zero_points_ = 0; // bytes, the first of a key
    bool computes_scales_ = false, x_is_dense_ = false, y_is_dense_ = false, keeps_weights_ = false, is_joined_ = false;
    size_t computed_count_ = 0; // scales
    std::int64_t y_count_ = 0;  // matrices
    std::int64_t rows_ = 0;     // of x in one layer
    std::optional<operation> quantize_;
    mutable parallel::newest<binding, 4> bindings_;
    mutable parallel::object_pool<memory> idle_;
};

class claimed_layer : public claimed {
  public:
    explicit claimed_layer(chain c)
        : chain_(std::move(c)) {
        for (const auto &op : chain_.ops)
            for (const auto &t : op->inputs) {
                const auto has_id = [&](const auto &other) { return other.id == t.id; };
                const bool is_inner = std::ranges::any_of(
                        chain_.ops, [&](const auto &o) { return std::ranges::any_of(o->outputs, has_id); });
                if (!is_inner && std::ranges::none_of(inputs_, has_id)) inputs_.push_back(t);
            }
        outputs_ = {chain_.last().outputs.front()};
    }

    std::string label() const override { return core::label(chain_); }
    std::vector<size_t> ids() const override { return chain_.owned; }
    const std::vector<c_logical_tensor> &inputs() const override { return inputs_; }
    const std::vector<c_logical_tensor> &outputs() const override { return outputs_; }

    std::unique_ptr<const compiled> compile(logical_tensors inputs, logical_tensors outputs, dnnl_fpmath_mode_t mode,
            kernels::kernel_list kernels) const override {
        auto shapes = make_shapes(chain_, inputs, outputs, mode);
        share_threads_with_onednn();
        return std::make_unique<const compiled_layer>(label(), std::move(shapes), kernels);
    }

  private:
    chain chain_;
    std::vector<c_logical_tensor> inputs_, outputs_;
};

} // namespace

std::shared_ptr<const claimed> claim_layer(chain c) {
    return std::make_shared<const claimed_layer>(std::move(c));
}

void keep_packed_weights(bool keep) {
    packed_weights_are_kept = keep;
}

} // namespace dynquant::graph::core
