#include "graph/layer/constants.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "elements/load_store.hpp"
#include "graph/layer/convolution.hpp"
#include "graph/layer/read_graph.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "layers/match/describe.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/environment.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/shape.hpp"

namespace dynquant::graph::core {
namespace {

namespace match = layers::match;

std::atomic<bool> packed_weights_are_kept = true;

/// How far a buffer is read, from the first to the last element.
size_t bytes_spanned(const c_logical_tensor &t) {
    if (volume(dims_of(t)) == 0) return 0;
    const auto bits = traits(*from_onednn(t.data_type)).bits;
    return static_cast<size_t>((last_offset(dims_of(t), strides_of(t)).value_or(0) + 1) * bits + 7) / 8;
}

/// Whether each matrix is dense, column by column.
bool has_transposed_matrices(const matrices &w) {
    return w.column_stride != 1 && w.row_stride == 1 && w.column_stride == w.rows;
}

std::vector<double> attribute_values(const op_record &op, size_t i) {
    const auto found = op.attributes.find(i == input::scales ? dnnl_graph_op_attr_scales : dnnl_graph_op_attr_zps);
    std::vector<double> result;
    if (const auto *floats = std::get_if<std::vector<float>>(&found->second))
        result.assign(floats->begin(), floats->end());
    else if (const auto *integers = std::get_if<std::vector<std::int64_t>>(&found->second))
        result.assign(integers->begin(), integers->end());
    return result;
}

/// Integers have one for each column or filter, whether they differ or not.
side_parameters parameters_of_w(const layer_shapes &s) {
    const auto rank = s.of_w.src.dims.size();
    const auto column = static_cast<size_t>(column_dim(*s.ops.product, static_cast<int>(rank)));
    if (s.convolution) return {s.of_w, {column}};
    if (!s.ops.is_weight_only()) return {s.of_w, with_batch(rank, {column})};
    const auto along = matrix_parameters(*s.ops.product, *s.ops.dequantize_w).along;
    auto blocked = along.size() > 1 ? along : std::vector<size_t> {};
    // Columns that share a block of rows' parameters have them one by one.
    std::erase_if(blocked, [&](size_t d) { return s.of_w.scales.block[d] >= s.of_w.src.dims[d] && d == along.back(); });
    return {s.of_w, with_batch(rank, along), blocked};
}

} // namespace

constants::constants(const layer_shapes &s, x_side x, std::string label, targets::features features)
    : s_(s)
    , x_(std::move(x))
    , of_w_(parameters_of_w(s))
    , per_matrix_(of_w_.are_one || s.w.count() == 0 ? 1 : std::ssize(of_w_.indices) / s.w.count())
    , label_(std::move(label))
    , features_(features)
    , w_is_signed_(s.ops.w().data_type == dnnl_s8)
    , w_(s.port_of(*s.ops.dequantize_w, input::src))
    , keeps_weights_(
              w_ != no_port && s.ports[w_].property == dnnl_graph_tensor_property_constant && packed_weights_are_kept)
    , quantizes_x_(s.ops.is_weight_only() && environment::quantizes_x()) {
    add_to_key(*s.ops.dequantize_w, input::zps);
    for (const auto &k : keyed_)
        of_zero_points_ += k.bytes;
    add_to_key(*s.ops.dequantize_w, input::scales);
    add_to_key(*s.ops.product, matmul::bias);
    for (const auto &op : s.ops.behind)
        for (size_t i = 0; i < op->inputs.size(); ++i)
            add_to_key(*op, i);
    // The tensor of an Add is no constant, unless another op has it as one.
    if (std::ranges::count(keyed_, s.tensor, &keyed_port::port) == 1)
        std::erase_if(keyed_, [&](const keyed_port &k) { return k.port == s.tensor; });
}

void constants::add_to_key(const op_record &op, size_t input) {
    const auto port = s_.port_of(op, input);
    if (port != no_port) keyed_.push_back({port, bytes_spanned(s_.ports[port])});
}

std::shared_ptr<const binding> constants::of(port_buffers buffers) const {
    return bindings_.find_or_add([&](const binding &b) { return has_key(b, buffers); }, [&] { return bind(buffers); });
}

layers::constant_weights constants::weights_of(
        port_buffers buffers, std::int64_t matrix, layers::aligned_vector<std::byte> &copy) const {
    if (!s_.convolution) {
        const auto *first = buffers[w_]; // null where no weight is
        return {first ? first + s_.w.offset(matrix) : first, s_.w.column_stride, s_.w.row_stride, 0};
    }
    auto w = s_.convolution->weights;
    w.first = buffers[w_];
    if (const auto &strides = s_.convolution->scattered_weights) {
        const auto count = *volume(s_.convolution->w);
        copy.resize(static_cast<size_t>(count));
        for (std::int64_t i = 0; i < count; ++i)
            copy[static_cast<size_t>(i)] = w.first[offset_of(i, s_.convolution->w, *strides)];
        w.first = copy.data();
    }
    return w;
}

bool constants::has_key(const binding &b, port_buffers buffers) const {
    if (b.w && b.w != buffers[w_]) return false;
    const auto *at = b.key.data();
    for (const auto &k : keyed_) {
        if (k.bytes != 0 && std::memcmp(at, buffers[k.port], k.bytes) != 0) return false;
        at += k.bytes;
    }
    return true;
}

/// Gives read_graph the constants of one matrix of weights.
class constants::of_matrix : public constant_source {
  public:
    of_matrix(const constants &all, port_buffers buffers, std::int64_t matrix)
        : all_(all)
        , buffers_(buffers)
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
        if (op.inputs.size() <= i) { // attributes
            const auto list = attribute_values(op, i);
            for (std::int64_t k = 0; k < count; ++k)
                result.push_back(static_cast<T>(list.at(static_cast<size_t>(index_of(op, k)))));
            return result;
        }
        const auto &t = op.inputs[i];
        const auto *buffer = buffers_[all_.s_.port_of(t.id)];
        const auto extents = dims_of(t), strides = strides_of(t);
        for (std::int64_t k = 0; k < count; ++k)
            result.push_back(static_cast<T>(
                    load(*from_onednn(t.data_type), buffer, offset_of(index_of(op, k), extents, strides))));
        return result;
    }

    /// Constant k of the matrix among all that an op has. Only w has one for each matrix.
    std::int64_t index_of(const op_record &op, std::int64_t k) const {
        if (&op != all_.s_.ops.dequantize_w.get()) return k;
        return all_.of_w_.indices[all_.of_w_.are_one ? 0 : static_cast<size_t>(matrix_ * all_.per_matrix_ + k)];
    }

    const constants &all_;
    port_buffers buffers_;
    std::int64_t matrix_;
};

template <typename Describe>
auto constants::describe(port_buffers buffers, std::int64_t matrix, const Describe &by) const {
    const auto read = read_graph(s_.ops.ops, of_matrix(*this, buffers, matrix));
    auto found = match::find_layer(read.g, read.products.begin()->second, std::vector<bool>(read.g.nodes.size()));
    found.found->scales_by_row = !x_.parameters.are_one;
    auto d = by(read.g, *found.found);
    d.label = label_;
    if constexpr (std::is_same_v<decltype(d), layers::layer_description>)
        if (const auto &c = s_.convolution) {
            d.x_is_channels_last = c->x_is_channels_last;
            d.y_is_channels_last = c->y_is_channels_last;
        }
    return d;
}

const std::byte *constants::narrow_weights_of(
        port_buffers buffers, std::int64_t matrix, std::vector<std::byte> &copy) const {
    const auto bits = traits(s_.of_w.src.type).bits;
    const auto first = s_.w.offset(matrix) * bits;
    const bool is_transposed = has_transposed_matrices(s_.w);
    const bool is_dense = is_transposed || (s_.w.column_stride == 1 && s_.w.row_stride == s_.w.columns);
    const auto *const from = buffers[w_];
    if (is_dense && first % 8 == 0) return from + first / 8;
    const auto rows = is_transposed ? s_.w.columns : s_.w.rows, columns = is_transposed ? s_.w.rows : s_.w.columns;
    const auto row_stride = is_transposed ? s_.w.column_stride : s_.w.row_stride,
               column_stride = is_transposed ? s_.w.row_stride : s_.w.column_stride;
    copy.assign(static_cast<size_t>((rows * columns * bits + 7) / 8), {});
    std::int64_t to = 0; // a bit
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column, to += bits) {
            const auto at = first + (row * row_stride + column * column_stride) * bits;
            const auto code = (from[at / 8] >> at % 8) & std::byte(bits == 8 ? 255 : 15);
            copy[static_cast<size_t>(to / 8)] |= code << to % 8;
        }
    return copy.data();
}

void constants::bind_narrow(port_buffers buffers, std::int64_t matrix, binding::part &p) const {
    auto d = describe(buffers, matrix, match::describe_weight_only);
    d.weights.is_transposed = has_transposed_matrices(s_.w);
    if (keeps_weights_ && layers::have_zero_points_of_their_type(d.weights)) {
        std::vector<std::byte> copy;
        d.weights.data = narrow_weights_of(buffers, matrix, copy);
        d.weights.quantizes_x = quantizes_x_ && layers::have_blocks(d.weights);
        p.packed_narrow = std::make_unique<const layers::weight_only_layer>(d, features_);
        d.weights.data = nullptr;
    } else if (x_.shape.front() <= layers::max_given_x_rows && layers::have_zero_points_of_their_type(d.weights)
            && layers::can_multiply_given(d.weights)) {
        p.given_narrow = std::make_unique<const layers::weight_only_layer>(d, features_, layers::weight_storage::given);
    }
    p.narrow = std::move(d);
    p.description.result = layers::result_type::f32;
    for (const auto &step : p.narrow->post_ops)
        p.steps.push_back({step.what, step.a, step.b, step.table});
}

std::shared_ptr<const binding> constants::bind(port_buffers buffers) const {
    auto b = std::make_shared<binding>();
    for (const auto &k : keyed_)
        b->key.insert(b->key.end(), buffers[k.port], buffers[k.port] + k.bytes);
    if (keeps_weights_) b->w = buffers[w_];
    const auto packed_before = bindings_.find([&](const binding &other) {
        return b->w && other.w == b->w
                && std::equal(b->key.begin(), b->key.begin() + static_cast<std::ptrdiff_t>(of_zero_points_),
                        other.key.begin());
    });
    const auto largest_x = largest_difference(x_.is_signed, x_.parameters.zero_points);
    layers::aligned_vector<std::byte> copy;
    for (std::int64_t i = 0; i < s_.w.count(); ++i) {
        binding::part &p = b->parts.emplace_back();
        if (s_.ops.is_weight_only()) {
            bind_narrow(buffers, i, p);
            continue;
        }
        p.description =
                describe(buffers, i, [](const auto &g, const match::layer_match &m) { return match::describe(g, m); });
        for (const auto &step : p.description.post_ops)
            p.steps.push_back({step.what, step.a, step.b, step.table});
        p.largest_w = largest_difference(w_is_signed_, p.description.w_zero_points);
        if (keeps_weights_ && fits_s32(s_.w.rows, largest_x, p.largest_w)) {
            const auto *before = packed_before ? packed_before->parts[static_cast<size_t>(i)].packed.get() : nullptr;
            p.packed = before ? std::make_unique<const layers::packed_layer>(p.description, *before)
                              : std::make_unique<const layers::packed_layer>(
                                      p.description, weights_of(buffers, i, copy), features_);
            p.layer = std::make_unique<const layers::layer>(*p.packed, x_.shape);
        }
    }
    return b;
}

void keep_packed_weights(bool keep) {
    packed_weights_are_kept = keep;
}

} // namespace dynquant::graph::core
