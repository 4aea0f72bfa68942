#include "statement.hpp"

#include "quantization/data_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {

statement::statement(const test_case &c)
    : quantizing(quantizes(c.op))
    , dynamic(is_dynamic(c.op))
    , types(c.types)
    , extents(c.prb.extents)
    , src_strides(c.src_layout.strides_for(extents))
    , qtype(c.qtype)
    , axis(c.axis)
    , fpmath(c.fpmath) {
    if (!c.dst_layout.is_any()) dst_strides = c.dst_layout.strides_for(extents);
}

std::optional<std::size_t> statement::channel_dim() const {
    const auto rank = static_cast<std::int64_t>(extents.size());
    if (qtype == granularity::per_tensor || axis < -rank || axis >= rank) return std::nullopt;
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::int64_t statement::parameter_count() const {
    const auto d = channel_dim();
    return d ? extents[*d] : 1;
}

std::int64_t statement::volume() const {
    return *dynquant::volume(extents);
}

dynquant::numerics statement::rule() const {
    return quantizing && fpmath == fpmath_mode::any ? dynquant::numerics::any : dynquant::numerics::strict;
}

dynquant::quantization statement::direct(
        const parameters &p, const dynquant::dims &dst, dynquant::numerics rule) const {
    dynquant::quantization q;
    q.dir = quantizing ? dynquant::direction::quantize : dynquant::direction::dequantize;
    q.src = {types.src, extents, src_strides};
    q.dst = {types.dst, extents, dst};
    const auto block =
            qtype == granularity::per_channel ? dynquant::per_channel(extents, axis) : dynquant::per_tensor(extents);
    q.scales = {types.scales, block, {}};
    if (types.zps) q.zero_points = {*types.zps, block, {}};
    if (!dynamic) {
        q.scales.values.assign(p.scales.begin(), p.scales.end());
        if (q.zero_points) {
            q.zero_points->type = data_type::s32; // the attribute is s64, and holds any of them
            q.zero_points->values.assign(p.zero_points.begin(), p.zero_points.end());
        }
    }
    q.rule = rule;
    return q;
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
