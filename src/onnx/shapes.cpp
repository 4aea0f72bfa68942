#include "onnx/shapes.hpp"

#include <algorithm>

#include "onnx/refusal.hpp"
#include "quantization/shape.hpp"

namespace dynquant::onnx {
namespace {

/// For messages: "[]", "[64, 768]", as ONNX's own.
std::string shape_text(const dims &shape) {
    std::string text = "[";
    for (std::size_t d = 0; d < shape.size(); ++d)
        text += concat(d == 0 ? "" : ", ", shape[d]);
    return text + "]";
}

/// The attribute as a dimension of x.
std::size_t axis_of(const checked_node &n) {
    const auto rank = static_cast<std::int64_t>(n.at(x).shape.size());
    const auto axis = n.values.axis;
    if (axis < -rank || axis >= rank) {
        const auto range =
                rank == 0 ? std::string("no scale along an axis") : concat("a value in [", -rank, ", ", rank - 1, "]");
        const auto given_scale =
                n.has(scale) ? concat(" and ", n.name(scale), " of shape ", shape_text(n.at(scale).shape)) : "";
        refuse(n.given, status::invalid_arguments, "attribute 'axis': expected ", range, " for x of shape ",
                shape_text(n.at(x).shape), given_scale, ", given ", axis);
    }
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

template <typename... Parts>
[[noreturn]] void refuse_scale(const checked_node &n, const Parts &...expected) {
    refuse(n.given, status::invalid_shape, n.name(scale), ": expected ", expected..., ", given shape ",
            shape_text(n.at(scale).shape));
}

bool knows(const op_schema &schema, const char *attribute) {
    for (const auto &known : schema.attributes)
        if (std::string(known.name) == attribute) return true;
    return false;
}

dims per_axis_block(const checked_node &n) {
    const auto &extents = n.at(x).shape, &scales = n.at(scale).shape;
    if (!knows(n.schema, "axis")) refuse_scale(n, "one value before opset 13");
    if (scales.size() != 1)
        refuse_scale(n, "one value or a 1-D tensor",
                knows(n.schema, "block_size") ? " where attribute 'block_size' is 0" : "");
    const auto axis = axis_of(n);
    if (scales[0] != extents[axis])
        refuse_scale(n, "one value, or ", extents[axis], " for axis ", n.values.axis, " of x of shape ",
                shape_text(extents));
    return per_channel(extents, n.values.axis);
}

/// In blocks of block_size along the axis, the last one perhaps short.
granularity in_blocks(const dims &extents, std::size_t axis, std::int64_t size) {
    granularity result = {dims(extents.size(), 1), extents};
    result.block[axis] = std::max<std::int64_t>(1, std::min(size, extents[axis]));
    result.scales[axis] = ceil_div(extents[axis], size);
    return result;
}

dims blocked_block(const checked_node &n) {
    const auto &extents = n.at(x).shape, &scales = n.at(scale).shape;
    const auto size = n.values.block_size;
    if (scales.size() != extents.size())
        refuse_scale(n, "one value, or the rank of x of shape ", shape_text(extents),
                " where attribute 'block_size' is ", size);
    const auto axis = axis_of(n);
    const auto [block, expected] = in_blocks(extents, axis, size);
    if (scales != expected)
        refuse_scale(n, "shape ", shape_text(expected), " for x of shape ", shape_text(extents), " in blocks of ", size,
                " along axis ", n.values.axis);
    return block;
}

void check_zero_point(const checked_node &n) {
    if (!n.has(zero_point)) return;
    check_shape(n, zero_point, n.at(zero_point).shape);
    const auto scalar_as_vector = [](const dims &shape) { return shape.empty() ? dims {1} : shape; };
    const auto &given = n.at(zero_point).shape, &expected = n.at(scale).shape;
    if (scalar_as_vector(given) != scalar_as_vector(expected))
        refuse(n.given, status::invalid_shape, n.name(zero_point), ": expected the shape of ", n.name(scale), ", ",
                shape_text(expected), ", given ", shape_text(given));
}

} // namespace

void check_shape(const checked_node &n, input position, const dims &shape) {
    for (const auto extent : shape)
        if (extent < 0)
            refuse(n.given, status::invalid_shape, n.name(position), ": expected extents of 0 or more, given shape ",
                    shape_text(shape));
    constexpr auto most = std::int64_t {1} << 58; // 2^60 bytes of 4-byte elements
    if (volume(shape).value_or(INT64_MAX) > most)
        refuse(n.given, status::invalid_shape, n.name(position), ": expected at most 2^58 elements, given shape ",
                shape_text(shape));
}

dims block_of(const checked_node &n) {
    check_shape(n, scale, n.at(scale).shape);
    check_zero_point(n);
    const auto &scales = n.at(scale).shape;
    const bool blocked = n.values.block_size > 0 && scales.size() > 1;
    // A single value applies to all of x, whatever axis and block_size are.
    if (!blocked && volume(scales) == 1) return per_tensor(n.at(x).shape);
    return n.values.block_size > 0 ? blocked_block(n) : per_axis_block(n);
}

granularity computed_granularity(const checked_node &n) {
    const auto &extents = n.at(x).shape;
    if (!states(n.given, "axis")) return {per_tensor(extents), {}};
    const auto axis = axis_of(n);
    if (n.values.block_size > 0) return in_blocks(extents, axis, n.values.block_size);
    return {per_channel(extents, n.values.axis), {extents[axis]}};
}

} // namespace dynquant::onnx
