// From a node to the statement of what it computes.
#include "onnx/check.hpp"
#include "onnx/refusal.hpp"
#include "onnx/shapes.hpp"

namespace dynquant::onnx {
namespace {

/// The type of the division: attribute `precision`, else the scale's type. An e8m0 scale is divided by in float, and
/// int32 by int32 in double, which holds both.
precision division_of(const checked_node &n) {
    const auto asked = static_cast<element_type>(n.values.precision);
    switch (asked != type::undefined ? asked : n.at(scale).type) {
        case type::float16: return precision::f16;
        case type::bfloat16: return precision::bf16;
        case type::int32: return precision::f64;
        default: return precision::f32;
    }
}

/// Overflow to the largest finite value: as the attribute says where y is float8. The smaller floats have nothing else
/// to overflow to, and com.amd.quark's operators saturate always.
bool saturates(const checked_node &n) {
    constexpr type_set float8 = {type::float8e4m3fn, type::float8e4m3fnuz, type::float8e5m2, type::float8e5m2fnuz};
    constexpr type_set other_floats = {
            type::float4e2m1, type::float6e2m3, type::float6e3m2, type::float16, type::bfloat16};
    return other_floats.contains(n.y) || (float8.contains(n.y) && n.values.saturate != 0);
}

lowering lower_static(const checked_node &n) {
    const auto block = block_of(n);
    lowering result;
    auto &q = result.statement;
    q.scales = {*data_type_of(n.at(scale).type), block, {}};
    if (n.has(zero_point)) q.zero_points = {*data_type_of(n.at(zero_point).type), block, {}};
    if (n.schema.dir == direction::quantize) {
        q.division = division_of(n);
        q.saturate = saturates(n);
    }
    result.outputs = {{n.y, n.at(x).shape}};
    return result;
}

lowering lower_dynamic(const checked_node &n) {
    const auto block = per_tensor(n.at(x).shape);
    lowering result;
    result.dynamic = true;
    result.statement.scales = {data_type::f32, block, {}};
    result.statement.zero_points = {*data_type_of(n.y), block, {}};
    result.outputs = {{n.y, n.at(x).shape}, {type::float32, {}}, {n.y, {}}};
    return result;
}

} // namespace

lowering lower(const node &n) {
    const auto checked = check(n);
    check_shape(checked, x);
    auto result = checked.schema.dynamic ? lower_dynamic(checked) : lower_static(checked);
    auto &q = result.statement;
    q.dir = checked.schema.dir;
    q.rule = numerics::onnx;
    q.src = {*data_type_of(checked.at(x).type), checked.at(x).shape, {}};
    q.dst = {*data_type_of(checked.y), checked.at(x).shape, {}};
    if (const auto wrong = dynquant::check(q)) refuse(n, wrong->status, wrong->message);
    return result;
}

} // namespace dynquant::onnx
