#include "graph/layer/x_reader.hpp"

#include <algorithm>

#include "elements/load_store.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "graph/refusal.hpp"
#include "layers/narrow_floats/narrow_floats.hpp"
#include "parallel/parallel.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/shape.hpp"

namespace dynquant::graph::core {
namespace {

using std::byte;

/// Tiles keep both sides in the first-level cache.
template <typename T>
void copy_matrix(const T *from, const matrices &of, T *to) {
    constexpr std::int64_t tile = 32;
    const auto rows = of.rows, columns = of.columns, row_stride = of.row_stride, column_stride = of.column_stride;
    parallel::for_each_part(ceil_div(rows, tile), parallel::parts_for(rows * columns, 0), [=](parallel::range part) {
        for (auto first = part.begin * tile; first < part.end * tile; first += tile)
            for (std::int64_t c = 0; c < columns; c += tile)
                for (auto row = first; row < std::min(first + tile, rows); ++row)
                    for (auto column = c; column < std::min(c + tile, columns); ++column)
                        to[row * columns + column] = from[row * row_stride + column * column_stride];
    });
}

/// The dims of x that have scales of their own: of batches and rows, or of images.
std::vector<size_t> dims_of_scales(const layer_shapes &s) {
    if (s.convolution) return {0};
    const auto rank = s.of_x.src.dims.size();
    return with_batch(rank, {rank - (transposes(*s.ops.product, dnnl_graph_op_attr_transpose_a) ? 1 : 2)});
}

} // namespace

x_reader::x_reader(const layer_shapes &s, kernels::kernel_list kernels, targets::features features)
    : s_(s)
    , features_(features)
    , given_bytes_(bytes_of_element(s.ops.x()))
    , parameters_(s.of_x, s.ops.is_weight_only() ? std::vector<size_t> {} : dims_of_scales(s))
    , is_signed_(s.ops.x().data_type == dnnl_s8)
    , is_dense_(s.x.are_dense()) {
    if (const auto &q = s.ops.quantize_x) {
        for (size_t i = 0; i < q->inputs.size(); ++i)
            quantize_inputs_[i] = s.port_of(*q, i);
        computes_scales_ = core::computes_scales(*q);
        computed_count_ =
                static_cast<size_t>(volume(parameter_dims(s.of_x.src.dims, s.quantize_x->scales.block)).value_or(0));
        options opts;
        opts.name = core::label(*q);
        quantize_ = prefix_errors(*q, [&] { return kernels::prepare(*s.quantize_x, opts, kernels); });
    } else {
        x_ = s.port_of(s.ops.x().id);
    }
    if (!computes_scales_ && s.ops.dequantize_x) {
        scales_ = s.port_of(*s.ops.dequantize_x, input::scales);
        zps_ = s.port_of(*s.ops.dequantize_x, input::zps);
    }
}

x_of_run x_reader::read(port_buffers buffers, memory &m) const {
    const auto *x = quantize_ ? quantize(buffers, m) : at(buffers, x_);
    if (!is_dense_) x = make_dense(x, m);
    if (given_bytes_ != element_bytes()) x = widen(x, m);
    return {x, read_scales(computes_scales_ ? m.computed_scales.data() : at(buffers, scales_), m),
            read_zero_points(computes_scales_ ? m.computed_zero_points.data() : at(buffers, zps_), m)};
}

const byte *x_reader::quantize(port_buffers buffers, memory &m) const {
    arguments args;
    args.src = at(buffers, quantize_inputs_[input::src]);
    args.dst = layers::workspace::ensure_size(m.quantized, static_cast<size_t>(*volume(s_.of_x.src.dims)));
    if (computes_scales_) {
        args.second_scales = at(buffers, quantize_inputs_[global_scale]);
        args.computed_scales = layers::workspace::ensure_size(m.computed_scales, sizeof(float) * computed_count_);
        args.computed_zero_points = layers::workspace::ensure_size(m.computed_zero_points, computed_count_);
    } else {
        args.scales = at(buffers, quantize_inputs_[input::scales]);
        args.zero_points = at(buffers, quantize_inputs_[input::zps]);
    }
    prefix_errors(*s_.ops.quantize_x, [&] { quantize_->run(args); });
    return m.quantized.data();
}

const byte *x_reader::make_dense(const byte *x, memory &m) const {
    const auto size = s_.x.rows * s_.x.columns;
    if (size == 0) return x; // null: it has no offsets
    auto *const to = layers::workspace::ensure_size(m.dense, static_cast<size_t>(s_.x.count() * size) * given_bytes_);
    for (std::int64_t i = 0; i < s_.x.count(); ++i) {
        const auto copy = [&]<typename T>(const T *) {
            copy_matrix(reinterpret_cast<const T *>(x) + s_.x.offset(i), s_.x, reinterpret_cast<T *>(to) + i * size);
        };
        if (given_bytes_ == sizeof(float))
            copy(static_cast<const float *>(nullptr));
        else if (given_bytes_ == sizeof(std::uint16_t))
            copy(static_cast<const std::uint16_t *>(nullptr));
        else
            copy(x);
    }
    return to;
}

/// Makes f32 of dense floats of 16 bits.
const byte *x_reader::widen(const byte *x, memory &m) const {
    const auto count = s_.x.count() * s_.x.rows * s_.x.columns;
    auto *const to = layers::workspace::ensure_size(m.widened, static_cast<size_t>(count));
    layers::widen_floats(*from_onednn(s_.ops.x().data_type), x, count, to, features_);
    return reinterpret_cast<const byte *>(to);
}

std::span<const float> x_reader::read_scales(const byte *given, memory &m) const {
    if (!parameters_.scales.empty()) return parameters_.scales;
    const auto type = s_.of_x.scales.type;
    const auto count = parameters_.count();
    if (type == data_type::f32 && parameters_.are_in_order) return {reinterpret_cast<const float *>(given), count};
    layers::workspace::ensure_size(m.scales, count);
    for (size_t i = 0; i < count; ++i)
        m.scales[i] = static_cast<float>(load(type, given, parameters_.indices[i]));
    return {m.scales.data(), count};
}

std::span<const std::int32_t> x_reader::read_zero_points(const byte *given, memory &m) const {
    if (!parameters_.has_zero_points) return {};
    if (!parameters_.zero_points.empty()) return parameters_.zero_points;
    const auto type = s_.of_x.zero_points->type;
    const auto count = parameters_.count();
    layers::workspace::ensure_size(m.zero_points, count);
    for (size_t i = 0; i < count; ++i)
        m.zero_points[i] = static_cast<std::int32_t>(load(type, given, parameters_.indices[i]));
    return {m.zero_points.data(), count};
}

} // namespace dynquant::graph::core
