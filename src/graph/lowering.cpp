#include "graph/lowering.hpp"

#include "graph/attributes.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/scale_rule.hpp"
#include "parallel/float_control.hpp"
#include "quantization/onednn_type.hpp"

namespace dynquant::graph::core {
namespace {

data_type lower(dnnl_data_type_t type, const port_schema &schema) {
    return *from_onednn(type == dnnl_data_type_undef ? schema.types.front() : type);
}

dims block_of(const op_record &op, const dims &extents) {
    if (!is_grouped(op)) return is_per_channel(op) ? per_channel(extents, axis_of(op)) : per_tensor(extents);
    auto block = per_tensor(extents);
    const auto rank = static_cast<int>(extents.size());
    const auto stated = grouping_of(op, rank);
    for (int d = 0; d < rank; ++d)
        if (stated.varies_along(d)) block[static_cast<size_t>(d)] = stated.at(d);
    return block;
}

std::int64_t channels(const dims &extents, std::int64_t axis) {
    return extents[static_cast<size_t>(axis < 0 ? axis + static_cast<std::int64_t>(extents.size()) : axis)];
}

dims known_strides(const c_logical_tensor &t) {
    return strides_known(t) ? strides_of(t) : dims {};
}

/// The rule, the parameters' types and the outputs of a statement with computed scales. q.src and q.dst are set.
void lower_computed(quantization &q, const op_record &op, const scale_rule &rule, const dims &block) {
    const auto type_or = [&](size_t position, data_type otherwise) {
        return from_onednn(op.outputs[position].data_type).value_or(otherwise);
    };
    q.rule = numerics::onnx;
    q.saturate = saturates(op);
    q.computed = rule;
    const bool has_global_scale = op.inputs.size() > global_scale;
    const auto usual = rule.rounding != scale_rounding::nearest ? data_type::f8_e8m0
            : has_global_scale                                  ? data_type::f8_e4m3
                                                                : data_type::f32;
    q.scales = {type_or(input::scales, usual), block, {}};
    if (has_global_scale) q.second_scales = parameter {data_type::f32, per_tensor(q.src.dims), {}};
    if (op.outputs.size() <= input::zps) return;
    if (op.outputs.front().data_type == dnnl_data_type_undef) q.dst.type = type_or(input::zps, q.dst.type);
    q.zero_points = parameter {q.dst.type, block, {}};
}

/// Whether numerics::strict lacks the types. numerics::onnx dequantizes alike.
bool is_beyond_strict(const quantization &q) {
    const bool has_strict_src = q.dir != direction::dequantize || (traits(q.src.type).places & place::quantized) != 0;
    return !has_strict_src || (traits(q.scales.type).places & place::onnx_scale) != 0;
}

/// The scales or zps: an input, else the attribute's values, else nothing. Not inlined, so that the conversion to
/// double stays within float_control.
template <typename T>
[[gnu::noinline]] std::optional<parameter> lower_parameter(const op_record &op, const op_schema &schema, input position,
        dnnl_graph_op_attr_t attr, data_type attribute_type, const dims &block) {
    if (op.inputs.size() > position)
        return parameter {lower(op.inputs[position].data_type, schema.inputs[position]), block, {}};
    if (const auto *list = find_attribute<std::vector<T>>(op, attr))
        return parameter {attribute_type, block, std::vector<double>(list->begin(), list->end())};
    return std::nullopt;
}

} // namespace

quantization lower(const op_record &op, numerics rule, const std::optional<scale_rule> &computed) {
    const auto &schema = *find_schema(op);
    const auto &src = op.inputs[input::src], &dst = op.outputs.front();
    const auto extents = dims_of(with_dims_from(src, dst));

    quantization q;
    q.dir = schema.dir;
    q.rule = rule;
    q.src = {lower(src.data_type, schema.inputs[input::src]), extents, known_strides(src)};
    q.dst = {lower(dst.data_type, schema.outputs.front()), extents, known_strides(dst)};
    if (dst.layout_type != dnnl_graph_layout_type_strided) q.dst.strides = dense_strides_like(q.src);

    const parallel::float_control control;
    const auto block = block_of(op, extents);
    if (computed) {
        lower_computed(q, op, *computed, block);
        return q;
    }
    q.scales = *lower_parameter<float>(op, schema, input::scales, dnnl_graph_op_attr_scales, data_type::f32, block);
    q.zero_points =
            lower_parameter<std::int64_t>(op, schema, input::zps, dnnl_graph_op_attr_zps, data_type::s32, block);
    if (is_beyond_strict(q)) q.rule = numerics::onnx;
    return q;
}

dims parameter_dims(const op_record &op, const dims &extents) {
    if (!is_grouped(op)) return {is_per_channel(op) ? channels(extents, axis_of(op)) : 1};
    const auto rank = static_cast<int>(extents.size());
    const auto stated = grouping_of(op, rank);
    dims counts;
    for (int d = 0; d < rank; ++d)
        if (stated.varies_along(d)) counts.push_back(extents[static_cast<size_t>(d)] / stated.at(d));
    return counts;
}

} // namespace dynquant::graph::core
