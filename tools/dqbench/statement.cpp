#include "statement.hpp"

#include <algorithm>

#include "elements/table.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {
namespace {

/// The group with an extent for each dim: the case's for the last dims, 1 for those before.
dynquant::dims group_for(const test_case &c) {
    if (c.qtype != granularity::per_group) return {};
    const auto rank = c.prb.extents.size();
    if (c.group.size() > rank)
        throw usage_error(dynquant::concat("--group: expected no more extents than the problem has, ", rank, ", given ",
                dynquant::to_string(c.group)));
    dynquant::dims group(rank, 1);
    std::copy_backward(c.group.begin(), c.group.end(), group.end());
    return group;
}

} // namespace

statement::statement(const test_case &c)
    : quantizing(quantizes(c.op))
    , dynamic(is_dynamic(c.op))
    , types(c.types)
    , extents(c.prb.extents)
    , src_strides(c.src_layout.strides_for(extents))
    , qtype(c.qtype)
    , axis(c.axis)
    , group(group_for(c))
    , fpmath(c.fpmath)
    , rounding(c.rule)
    , division(c.division)
    , saturate(c.saturate)
    , computed(c.computed)
    , global_scale(c.global_scale) {
    if (!c.dst_layout.is_any()) dst_strides = c.dst_layout.strides_for(extents);
}

std::optional<std::size_t> statement::channel_dim() const {
    const auto rank = static_cast<std::int64_t>(extents.size());
    if (qtype != granularity::per_channel || axis < -rank || axis >= rank) return std::nullopt;
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::int64_t statement::parameter_count() const {
    if (qtype == granularity::per_group) return *dynquant::volume(parameter_dims());
    const auto d = channel_dim();
    return d ? extents[*d] : 1; // 1 also for a tensor without elements
}

dynquant::dims statement::block() const {
    if (qtype == granularity::per_group) return group;
    auto all = extents;
    if (const auto d = channel_dim()) all[*d] = 1;
    return all;
}

dynquant::dims statement::parameter_dims() const {
    if (qtype == granularity::per_group) return dynquant::parameter_dims(extents, group);
    return {parameter_count()};
}

std::int64_t statement::volume() const {
    return *dynquant::volume(extents);
}

dynquant::numerics statement::exact_rule() const {
    return rounding == rule_kind::onnx ? dynquant::numerics::onnx : dynquant::numerics::strict;
}

dynquant::numerics statement::rule() const {
    const bool any = rounding == rule_kind::onednn && quantizing && fpmath == fpmath_mode::any;
    return any ? dynquant::numerics::any : exact_rule();
}

dynquant::quantization statement::direct(
        const parameters &p, const dynquant::dims &dst, dynquant::numerics rule) const {
    dynquant::quantization q;
    q.dir = quantizing ? dynquant::direction::quantize : dynquant::direction::dequantize;
    q.src = {types.src, extents, src_strides};
    q.dst = {types.dst, extents, dst};
    const auto shared = qtype == granularity::per_channel ? dynquant::per_channel(extents, axis) : block();
    q.scales = {types.scales, shared, {}};
    if (types.zps) q.zero_points = dynquant::parameter {*types.zps, shared, {}};
    if (!dynamic) {
        q.scales.values.assign(p.scales.begin(), p.scales.end());
        if (q.zero_points) {
            q.zero_points->type = data_type::s32; // the attribute is s64, so it holds any value of any type
            q.zero_points->values.assign(p.zero_points.begin(), p.zero_points.end());
        }
    }
    q.computed = computed;
    if (computed == dynquant::presets::nvfp4())
        q.second_scales = dynquant::parameter {data_type::f32, extents, {usual_global_scale}};
    if (global_scale) q.second_scales = dynquant::parameter {data_type::f32, extents, {*global_scale}};
    q.rule = rule;
    q.division = division;
    q.saturate = saturate;
    return q;
}

parameter_finder::parameter_finder(const statement &s) {
    const auto block = s.block();
    const auto strides = dynquant::row_major(dynquant::parameter_dims(s.extents, block));
    for (std::size_t d = 0; d < block.size(); ++d)
        if (block[d] < s.extents[d]) varying_.push_back({d, block[d], strides[d]});
}

std::int64_t span_in_bytes(data_type type, const dynquant::dims &extents, const dynquant::dims &strides) {
    if (dynquant::volume(extents) == 0) return 0;
    const auto last = dynquant::last_offset(extents, strides);
    const auto size = std::max(dynquant::traits(type).bits / 8, 1);
    if (!last || *last >= INT64_MAX / size - size)
        throw usage_error(dynquant::concat("expected a layout of at most 2^63 bytes, given strides ",
                dynquant::to_string(strides), " for ", dynquant::to_string(extents)));
    return dynquant::size_in_bytes(type, *last + 1);
}

} // namespace dqbench
