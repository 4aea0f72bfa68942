#include "graph/lowering.hpp"

#include "graph/attributes.hpp"
#include "graph/logical_tensor.hpp"
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

dims known_strides(const c_logical_tensor &t) {
    return strides_known(t) ? strides_of(t) : dims {};
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

quantization lower(const op_record &op, numerics rule) {
    const auto &schema = *find_schema(op.kind);
    const auto &src = op.inputs[input::src], &dst = op.outputs.front();
    const auto extents = dims_of(with_dims_from(src, dst));

    quantization q;
    q.dir = schema.dir;
    q.rule = rule;
    q.src = {lower(src.data_type, schema.inputs[input::src]), extents, known_strides(src)};
    q.dst = {lower(dst.data_type, schema.output), extents, known_strides(dst)};
    if (dst.layout_type != dnnl_graph_layout_type_strided) q.dst.strides = dense_strides_like(q.src);

    const parallel::float_control control;
    const auto block = block_of(op, extents);
    q.scales = *lower_parameter<float>(op, schema, input::scales, dnnl_graph_op_attr_scales, data_type::f32, block);
    q.zero_points =
            lower_parameter<std::int64_t>(op, schema, input::zps, dnnl_graph_op_attr_zps, data_type::s32, block);
    return q;
}

} // namespace dynquant::graph::core
