// What a statement must fulfil. Messages: what, where, expected, given.
#include <algorithm>
#include <cmath>

#include "quantization/data_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant {
namespace {

template <typename... Parts>
problem wrong(dnnl_status_t status, const Parts &...parts) {
    return {status, concat(parts...)};
}

std::optional<problem> check_tensor(const char *name, const tensor &t) {
    if (t.dims.size() > max_rank)
        return wrong(dnnl_invalid_shape, name, ": expected rank 0 to ", max_rank, ", given ", t.dims.size());
    for (std::size_t d = 0; d < t.dims.size(); ++d)
        if (t.dims[d] < 0)
            return wrong(dnnl_invalid_shape, name, ": expected dims of 0 or more, given ", t.dims[d], " at dim ", d);
    if (!t.strides.empty() && t.strides.size() != t.dims.size())
        return wrong(dnnl_invalid_shape, name, ": expected as many strides as dims, ", t.dims.size(), ", given ",
                t.strides.size());
    const auto elements = volume(t.dims);
    if (elements == 0) return std::nullopt;
    for (std::size_t d = 0; d < t.strides.size(); ++d)
        if (t.strides[d] < 0)
            return wrong(
                    dnnl_invalid_shape, name, ": expected strides of 0 or more, given ", t.strides[d], " at dim ", d);
    // Twice the bytes must be countable, so that no offset overflows, nor one step past the last element.
    const auto most = INT64_MAX / 2 / std::max(traits(t.type).bits / 8, 1) - 1;
    const auto last = elements ? last_offset(t.dims, strides_of(t)) : std::nullopt;
    if (!last || *last > most)
        return wrong(dnnl_invalid_shape, name, ": expected a size in bytes that fits in 62 bits, given dims ",
                to_string(t.dims), " of ", to_string(t.type));
    return std::nullopt;
}

/// "f32, f16 or bf16": the types that may stand in a place.
std::string names_of(bool data_type_traits::*place) {
    std::vector<std::string> names;
    for (const auto &type : data_types)
        if (type.*place) names.emplace_back(type.name);
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
    return text;
}

std::optional<problem> check_type(const char *name, data_type type, bool data_type_traits::*place) {
    if (traits(type).*place) return std::nullopt;
    return wrong(dnnl_invalid_data_type, name, ": expected data type ", names_of(place), ", given ", to_string(type));
}

std::optional<problem> check_types(const quantization &q) {
    const bool quantizing = q.dir == direction::quantize;
    const auto real = &data_type_traits::real, quantized = &data_type_traits::quantized;
    if (auto p = check_type("src", q.src.type, quantizing ? real : quantized)) return p;
    if (auto p = check_type("dst", q.dst.type, quantizing ? quantized : real)) return p;
    if (auto p = check_type("scales", q.scales.type, real)) return p;
    if (!q.zero_points) return std::nullopt;
    const auto type = quantizing ? q.dst.type : q.src.type;
    if (!traits(type).integral)
        return wrong(dnnl_invalid_arguments, "zps: expected none for ", to_string(type), ", given some of ",
                to_string(q.zero_points->type));
    return check_type("zps", q.zero_points->type, &data_type_traits::integral);
}

std::optional<problem> check_values(const char *name, const parameter &p, const dims &extents) {
    if (p.values.empty()) return std::nullopt;
    const auto expected = volume(parameter_dims(extents, p.block)).value_or(0);
    if (static_cast<std::int64_t>(p.values.size()) != expected)
        return wrong(dnnl_invalid_shape, name, ": expected ", expected, expected == 1 ? " value" : " values",
                ", given ", p.values.size());
    const auto &type = traits(p.type);
    if (!type.integral) return std::nullopt;
    for (std::size_t i = 0; i < p.values.size(); ++i)
        if (!(p.values[i] >= type.lowest && p.values[i] <= type.highest) || p.values[i] != std::trunc(p.values[i]))
            return wrong(dnnl_invalid_arguments, name, ": expected integers within ", type.name, ", given ",
                    p.values[i], " at ", i);
    return std::nullopt;
}

std::optional<problem> check_parameter(const char *name, const parameter &p, const dims &extents) {
    if (p.block.size() != extents.size())
        return wrong(dnnl_invalid_shape, name, ": expected a block of rank ", extents.size(), ", given rank ",
                p.block.size());
    for (std::size_t d = 0; d < extents.size(); ++d)
        if (p.block[d] < 1 && extents[d] > 0)
            return wrong(dnnl_invalid_shape, name, ": expected block extents of 1 or more, given ", p.block[d],
                    " at dim ", d);
    if (volume(extents) == 0) return std::nullopt;
    return check_values(name, p, extents);
}

} // namespace

std::optional<problem> check(const quantization &q) {
    if (auto p = check_types(q)) return p;
    if (auto p = check_tensor("src", q.src)) return p;
    if (auto p = check_tensor("dst", q.dst)) return p;
    if (q.src.dims != q.dst.dims)
        return wrong(dnnl_invalid_shape, "dst: expected the dims of src, ", to_string(q.src.dims), ", given ",
                to_string(q.dst.dims));
    if (volume(q.dst.dims) != 0 && overlaps(q.dst.dims, strides_of(q.dst)))
        return wrong(dnnl_invalid_shape, "dst: expected strides whose elements do not overlap, given ",
                to_string(q.dst.strides), " for dims ", to_string(q.dst.dims));
    if (auto p = check_parameter("scales", q.scales, q.src.dims)) return p;
    if (!q.zero_points) return std::nullopt;
    if (q.zero_points->block != q.scales.block)
        return wrong(dnnl_invalid_shape, "zps: expected the block of scales, ", to_string(q.scales.block), ", given ",
                to_string(q.zero_points->block));
    return check_parameter("zps", *q.zero_points, q.src.dims);
}

dims per_tensor(const dims &extents) {
    return extents;
}

dims per_channel(const dims &extents, std::int64_t axis) {
    const auto rank = static_cast<std::int64_t>(extents.size());
    if (axis < -rank || axis >= rank)
        throw error(dnnl_invalid_arguments,
                concat("axis: expected a value in [", -rank, ", ", rank - 1, "] for rank ", rank, ", given ", axis));
    dims block = extents;
    block[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = 1;
    return block;
}

} // namespace dynquant
