// Turns a node into a statement (dynquant::quantization).
#include <utility>

#include "elements/table.hpp"
#include "onnx/check.hpp"
#include "onnx/refusal.hpp"
#include "onnx/shapes.hpp"
#include "quantization/shape.hpp"

namespace dynquant::onnx {
namespace {

/// Reduces the rank: ONNX has no limit, a statement has max_rank. Adjacent dims merge if one parameter covers both, or
/// if each element has a parameter. At most three dims remain: the axis, and one on each side.
void merge_dims(dims &extents, dims &block) {
    if (volume(extents) == 0) { // the product of the other dims may overflow
        extents = {0};
        block = {1};
        return;
    }
    dims merged_extents = {1}, merged_block = {1};
    for (std::size_t d = 0; d < extents.size(); ++d) {
        auto &extent = merged_extents.back(), &parameter = merged_block.back();
        const bool share_one = parameter == extent && block[d] == extents[d];
        const bool have_their_own = parameter == 1 && block[d] == 1;
        if (share_one || have_their_own) {
            extent *= extents[d];
            parameter *= block[d];
        } else {
            merged_extents.push_back(extents[d]);
            merged_block.push_back(block[d]);
        }
    }
    extents = std::move(merged_extents);
    block = std::move(merged_block);
}

/// The type of the division: attribute `precision`, else the scale's type. For an e8m0 scale it is float, for an int32
/// one double, which holds both x and the scale exactly.
precision division_of(const checked_node &n) {
    const auto stated = static_cast<element_type>(n.values.precision);
    switch (stated != type::undefined ? stated : n.at(scale).type) {
        case type::float16: return precision::f16;
        case type::bfloat16: return precision::bf16;
        case type::int32: return precision::f64;
        default: return precision::f32;
    }
}

/// Whether overflow gives the largest finite value. For float8 the attribute decides. Smaller floats have nothing else
/// to overflow to, and com.amd.quark's operators, which alone have the 16-bit floats, always saturate.
bool saturates(const checked_node &n) {
    const auto &y = traits(*data_type_of(n.y));
    return !y.integral && (y.bits != 8 || n.values.saturate != 0);
}

lowering lower_given(const checked_node &n, const dims &block) {
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

lowering lower_computed(const checked_node &n, const dims &block, const dims &scales) {
    check_shape(n, scale, scales); // of an x without elements they may be any number
    const auto scale_type = static_cast<element_type>(n.values.scale_type);
    lowering result;
    result.dynamic = true;
    auto &q = result.statement;
    q.computed = n.computed;
    q.scales = {*data_type_of(scale_type), block, {}};
    q.saturate = saturates(n);
    if (q.computed->range == scale_range::minmax) q.zero_points = {*data_type_of(n.y), block, {}};
    result.outputs = {{n.y, n.at(x).shape}, {scale_type, scales}, {n.y, scales}};
    return result;
}

} // namespace

lowering lower(const node &n) {
    const auto checked = check(n);
    check_shape(checked, x, checked.at(x).shape);
    auto extents = checked.at(x).shape;
    auto [block, scales] = checked.computed ? computed_granularity(checked) : granularity {block_of(checked), {}};
    if (extents.size() > max_rank) merge_dims(extents, block);
    auto result = checked.computed ? lower_computed(checked, block, scales) : lower_given(checked, block);
    auto &q = result.statement;
    q.dir = checked.schema.dir;
    q.rule = numerics::onnx;
    q.src = {*data_type_of(checked.at(x).type), extents, {}};
    q.dst = {*data_type_of(checked.y), extents, {}};
    if (const auto wrong = dynquant::check(q)) refuse(n, wrong->status, wrong->message);
    return result;
}

} // namespace dynquant::onnx
