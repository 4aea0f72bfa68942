#include "graph/layer/compiled_layer.hpp"

#include <algorithm>
#include <cstring>

#include "graph/execution.hpp"
#include "graph/layer/constants.hpp"
#include "graph/layer/convolution.hpp"
#include "graph/layer/exact_product.hpp"
#include "graph/layer/x_reader.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/refusal.hpp"
#include "layers/gemm/unpacked/unpacked_product.hpp"
#include "layers/narrow_floats/narrow_floats.hpp"
#include "parallel/float_control.hpp"
#include "parallel/parallel.hpp"
#include "parallel/pool.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/environment.hpp"
#include "quantization/names.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/verbose.hpp"

namespace dynquant::graph::core {
namespace {

using std::byte;

class compiled_layer : public compiled {
  public:
    compiled_layer(std::string label, layer_shapes shapes, kernels::kernel_list kernels)
        : label_(std::move(label))
        , s_(std::move(shapes))
        , is_joined_(s_.w.count() == 1)
        , rows_(rows_of_layer())
        , scaled_(s_.convolution ? s_.convolution->x[0] : rows_)
        , y_type_(s_.ports.back().data_type)
        , given_bytes_(bytes_of_element(s_.ports.back()))
        , y_bytes_(is_float(s_.ports.back()) ? sizeof(float) : given_bytes_)
        , y_is_empty_(volume(s_.y) == 0)
        , y_is_dense_(y_is_empty_ || s_.y_strides == row_major(s_.y))
        , tensor_strides_(strides_of_tensor())
        , tensor_is_dense_(tensor_strides_ == broadcast_strides(s_.y, s_.y))
        , x_(s_, kernels, features_)
        , constants_(s_, {x_of_layer(), x_.is_signed(), x_.parameters()}, label_, features_) {}

    std::string label() const override { return label_; }
    operation_info info() const override { return {kernel_kind::native, to_string(targets::strongest(features_))}; }
    const c_logical_tensor *find_port(size_t id) const override {
        const auto found = std::ranges::find(s_.ports, id, &c_logical_tensor::id);
        return found == s_.ports.end() ? nullptr : &*found;
    }

    void execute(dnnl_stream_t stream, tensors inputs, tensors outputs) const override {
        const parallel::float_control control; // some sums, scales and epilogues are computed on this thread
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
    /// What a run writes, kept for the next one.
    struct memory {
        std::vector<byte *> buffers; // of the ports
        x_reader::memory of_x;
        layers::workspace of_layers;
        layers::aligned_vector<byte> y;
        layers::aligned_vector<byte> rounded; // y of 16 bits, where it is not dense
        layers::aligned_vector<float> tensor; // as y
        layers::aligned_vector<float> sums;
        layers::aligned_vector<std::int32_t> integer_sums;
        layers::aligned_vector<std::int16_t> words; // of x
        layers::weight_only_layer::memory of_narrow;
        std::vector<byte> narrow_weights;     // of one matrix, where they lie otherwise
        layers::aligned_vector<byte> weights; // likewise, of 8 bits
    };

    /// x and its parameters of the rows of one layer, and where its result goes.
    struct part_run {
        const binding::part &part;
        layers::layer_arguments args;
        std::int64_t matrix;    // of w
        std::int64_t largest_x; // |x - zero point|
    };

    std::int64_t rows_of_layer() const {
        if (s_.convolution) return volume(s_.y).value_or(0) / std::max<std::int64_t>(s_.w.columns, 1);
        return is_joined_ ? s_.x.count() * s_.x.rows : s_.x.rows;
    }
    dims x_of_layer() const { return s_.convolution ? s_.convolution->x : dims {rows_, s_.x.columns}; }

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
        return concat(dynquant::to_string(dims_of(s_.ops.x())), "*", dynquant::to_string(s_.of_w.src.dims));
    }

    /// The strides of the tensor that an Add takes, broadcast to y; empty where the layer has none.
    dims strides_of_tensor() const {
        if (s_.tensor == no_port) return {};
        const auto &t = s_.ports[s_.tensor];
        return permuted(
                broadcast_strides(dims_of(t), strides_of(t), permuted_back(s_.y, s_.order_of_y)), s_.order_of_y);
    }

    /// Elements of the tensor that an Add takes, in the order of y's; null where the layer has none.
    const float *read_tensor(memory &m) const {
        const auto *from = reinterpret_cast<const float *>(at(m.buffers, s_.tensor));
        if (!from || tensor_is_dense_) return from;
        const auto count = *volume(s_.y), columns = s_.y.back(), stride = tensor_strides_.back();
        auto *const to = layers::workspace::ensure_size(m.tensor, static_cast<size_t>(count));
        parallel::for_each_part(count / columns, parallel::parts_for(count, 0), [&](parallel::range rows) {
            for (auto row = rows.begin; row < rows.end; ++row) {
                const auto *const first = from + offset_of(row * columns, s_.y, tensor_strides_);
                for (std::int64_t c = 0; c < columns; ++c)
                    to[row * columns + c] = first[c * stride];
            }
        });
        return to;
    }

    void run(memory &m) const {
        if (y_is_empty_) return;
        const auto x = x_.read(m.buffers, m.of_x);
        const auto current = constants_.of(m.buffers);
        const auto largest_x = largest_difference(x_.is_signed(), x.zero_points);
        const auto count = static_cast<std::int64_t>(s_.x_of.size());
        const auto of_matrix = s_.x.rows * s_.w.columns;
        const auto *const tensor = read_tensor(m);
        auto *y = m.buffers.back();
        const bool is_rounded = y_bytes_ != given_bytes_;
        if (!y_is_dense_ || is_rounded)
            y = layers::workspace::ensure_size(m.y, static_cast<size_t>(*volume(s_.y)) * y_bytes_);
        for (std::int64_t i = 0; i < (is_joined_ ? 1 : count); ++i) {
            const auto of_x = is_joined_ ? 0 : s_.x_of[static_cast<size_t>(i)];
            const auto of_w = s_.w_of[static_cast<size_t>(i)];
            run_part({current->parts[static_cast<size_t>(of_w)],
                             {x.bytes + static_cast<size_t>(of_x * s_.x.rows * s_.x.columns) * x_.element_bytes(),
                                     y + static_cast<size_t>(i * of_matrix) * y_bytes_, of_rows(x.zero_points, of_x),
                                     of_rows(x.scales, of_x), tensor ? tensor + i * of_matrix : nullptr},
                             of_w, largest_x},
                    m);
        }
        if (is_rounded) {
            const auto *const sums = reinterpret_cast<const float *>(y);
            y = m.buffers.back();
            if (!y_is_dense_)
                y = layers::workspace::ensure_size(m.rounded, static_cast<size_t>(*volume(s_.y)) * given_bytes_);
            layers::narrow_floats(*from_onednn(y_type_), sums, *volume(s_.y), y, features_);
        }
        if (!y_is_dense_) scatter(y, m.buffers.back());
    }

    template <typename T>
    std::span<const T> of_rows(std::span<const T> values, std::int64_t matrix) const {
        if (x_.parameters().are_one || values.empty()) return values;
        return values.subspan(static_cast<size_t>(matrix * s_.x.rows), static_cast<size_t>(scaled_));
    }

    void run_part(const part_run &r, memory &m) const {
        if (s_.ops.is_weight_only()) return run_narrow(r, m);
        if (!fits_s32(s_.w.rows, r.largest_x, r.part.largest_w) || !can_convolve(r)) return run_exactly(r, m);
        if (r.part.layer) return r.part.layer->run(r.args, m.of_layers);
        if (s_.convolution) {
            const layers::packed_layer packed(
                    r.part.description, constants_.weights_of(m.buffers, r.matrix, m.weights), features_);
            return layers::layer(packed, s_.convolution->x).run(r.args, m.of_layers);
        }
        const layers::unpacked_operands o {static_cast<const byte *>(r.args.x), x_.is_signed(), rows_, s_.x.columns,
                s_.w.columns, r.args.x_zero_points, constants_.weights_of(m.buffers, r.matrix, m.weights),
                constants_.weights_are_signed(), r.part.description.w_zero_points};
        if (layers::can_multiply_unpacked(o) && r.largest_x < 1 << 15) {
            auto *const sums =
                    layers::workspace::ensure_size(m.integer_sums, static_cast<size_t>(rows_ * s_.w.columns));
            layers::multiply_unpacked(o, features_, m.words, sums);
            return finish(r, sums, false);
        }
        const layers::packed_layer packed(r.part.description, o.w, features_);
        layers::layer(packed, {rows_, s_.x.columns}).run(r.args, m.of_layers);
    }

    /// Multiplies floats by weights that stay narrow.
    void run_narrow(const part_run &r, memory &m) const {
        if (r.part.packed_narrow) return r.part.packed_narrow->run_rows(r.args, rows_, m.of_narrow);
        const auto *const data = constants_.narrow_weights_of(m.buffers, r.matrix, m.narrow_weights);
        if (r.part.given_narrow) return r.part.given_narrow->run_rows(r.args, rows_, m.of_narrow, data);
        auto d = *r.part.narrow;
        d.weights.data = data;
        if (layers::have_zero_points_of_their_type(d.weights))
            return layers::weight_only_layer(d, features_).run_rows(r.args, rows_, m.of_narrow);
        auto *const sums = layers::workspace::ensure_size(m.sums, static_cast<size_t>(rows_ * s_.w.columns));
        multiply_plainly(d.weights, static_cast<const float *>(r.args.x), rows_, sums);
        finish(r, sums, true);
    }

    /// Convolutions of layers pad with bytes that are zero points, and multiply by weights less their zero points as
    /// differences of bytes.
    bool can_convolve(const part_run &r) const {
        if (!s_.convolution) return true;
        if (r.part.largest_w > 255) return false;
        const std::int32_t low = x_.is_signed() ? -128 : 0;
        return !s_.convolution->window.is_padded() || std::ranges::all_of(r.args.x_zero_points, [=](std::int32_t zp) {
            return zp >= low && zp <= low + 255;
        });
    }

    /// Computes what layers of integers do not: sums that s32 does not hold, padding that is no byte.
    void run_exactly(const part_run &r, memory &m) const {
        auto *const sums = layers::workspace::ensure_size(m.sums, static_cast<size_t>(rows_ * s_.w.columns));
        const auto *const x = static_cast<const byte *>(r.args.x);
        const auto w = constants_.weights_of(m.buffers, r.matrix, m.weights);
        const bool w_is_signed = constants_.weights_are_signed();
        const auto &w_zero_points = r.part.description.w_zero_points;
        if (const auto &c = s_.convolution)
            convolve_exactly({x, x_.is_signed(), c->x_is_channels_last, c->x[0], c->x[1], c->groups, c->window,
                                     r.args.x_zero_points, w, w_is_signed, s_.w.columns, w_zero_points},
                    sums);
        else
            multiply_exactly({x, x_.is_signed(), rows_, s_.x.columns, r.args.x_zero_points, w, w_is_signed,
                                     s_.w.columns, w_zero_points},
                    sums);
        finish(r, sums, true);
    }

    /// Makes the result of sums, which have no terms of zero points left.
    void finish(const part_run &r, const void *sums, bool are_floats) const {
        layers::epilogue by {r.part.steps, r.part.description.result, nullptr, r.args.x_scales.data()};
        const auto &loops = *targets::pick(features_, layers::epilogue_table);
        const auto columns = s_.w.columns;
        if (!s_.convolution) {
            by.row_stride = x_.parameters().are_one ? 0 : 1;
            return loops.rows(
                    by, {sums, are_floats, columns, r.args.y, columns, 1, r.args.tensor}, {0, rows_}, {0, columns});
        }
        const bool is_channels_last = s_.convolution->y_is_channels_last;
        const auto positions = rows_ / scaled_, of_image = positions * columns;
        for (std::int64_t image = 0; image < scaled_; ++image) {
            if (!x_.parameters().are_one) by.x_scales = r.args.x_scales.data() + image;
            loops.rows(by,
                    {static_cast<const float *>(sums) + image * of_image, are_floats, columns,
                            static_cast<byte *>(r.args.y) + static_cast<size_t>(image * of_image) * y_bytes_,
                            is_channels_last ? columns : 1, is_channels_last ? 1 : positions,
                            r.args.tensor ? r.args.tensor + image * of_image : nullptr},
                    {0, positions}, {0, columns});
        }
    }

    /// Copies a dense y to one with strides.
    void scatter(const byte *from, byte *to) const {
        const auto count = *volume(s_.y);
        for (std::int64_t i = 0; i < count; ++i)
            std::memcpy(to + static_cast<size_t>(offset_of(i, s_.y, s_.y_strides)) * given_bytes_,
                    from + static_cast<size_t>(i) * given_bytes_, given_bytes_);
    }

    std::string label_;
    layer_shapes s_;
    bool is_joined_;      // the rows of all matrices of x are those of one layer
    std::int64_t rows_;   // of the sums of a layer
    std::int64_t scaled_; // rows or images of x that may have scales of their own
    dnnl_data_type_t y_type_;
    size_t given_bytes_; // of an element of y in the program's buffer
    size_t y_bytes_;     // as it is computed
    bool y_is_empty_, y_is_dense_;
    dims tensor_strides_;
    bool tensor_is_dense_;
    targets::features features_ = environment::usable_features();
    x_reader x_;
    constants constants_;
    mutable parallel::object_pool<memory> idle_;
};

} // namespace

std::unique_ptr<const compiled> compile_layer(std::string label, layer_shapes shapes, kernels::kernel_list kernels) {
    const auto product = shapes.ops.product;
    try {
        return std::make_unique<const compiled_layer>(std::move(label), std::move(shapes), kernels);
    } catch (const dynquant::error &e) { // of the environment, not oneDNN's
        refuse(*product, onednn_status(e.status), e.what());
    }
}

} // namespace dynquant::graph::core
