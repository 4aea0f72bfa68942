// Checks of a statement. Messages: where, what was expected, what was given.
#include <algorithm>
#include <cmath>

#include "elements/load_store.hpp"
#include "elements/table.hpp"
#include "quantization/names.hpp"
#include "quantization/rule_types.hpp"
#include "quantization/shape.hpp"
#include "quantization/strict_equivalence.hpp"

namespace dynquant {
namespace {

template <typename... Parts>
problem make_problem(dynquant::status status, const Parts &...parts) {
    return {status, concat(parts...)};
}

std::optional<problem> check_enumerators(std::initializer_list<std::optional<std::string>> wrong) {
    for (const auto &found : wrong)
        if (found) return make_problem(status::invalid_arguments, *found);
    return std::nullopt;
}

std::optional<problem> check_tensor(const char *name, const tensor &t) {
    if (t.dims.size() > max_rank)
        return make_problem(status::invalid_shape, name, ": expected rank 0 to ", max_rank, ", given ", t.dims.size());
    for (std::size_t d = 0; d < t.dims.size(); ++d)
        if (t.dims[d] < 0)
            return make_problem(
                    status::invalid_shape, name, ": expected dims of 0 or more, given ", t.dims[d], " at dim ", d);
    if (!t.strides.empty() && t.strides.size() != t.dims.size())
        return make_problem(status::invalid_shape, name, ": expected as many strides as dims, ", t.dims.size(),
                ", given ", t.strides.size());
    const auto elements = volume(t.dims);
    if (elements == 0) return std::nullopt;
    for (std::size_t d = 0; d < t.strides.size(); ++d)
        if (t.strides[d] < 0)
            return make_problem(status::invalid_shape, name, ": expected strides of 0 or more, given ", t.strides[d],
                    " at dim ", d);
    // Twice the size in bytes must fit, so that neither an offset nor a step past the last element overflows.
    const auto most = INT64_MAX / 2 / std::max(traits(t.type).bits / 8, 1) - 1;
    const auto last = elements ? last_offset(t.dims, strides_of(t)) : std::nullopt;
    if (!last || *last > most)
        return make_problem(status::invalid_shape, name, ": expected a size in bytes that fits in 62 bits, given dims ",
                to_string(t.dims), " of ", to_string(t.type));
    return std::nullopt;
}

problem wrong_type(const char *name, const std::vector<data_type> &expected, const char *where, data_type given) {
    return make_problem(status::invalid_data_type, name, ": expected data type ",
            alternatives(expected, [](data_type type) { return to_string(type); }), where, ", given ",
            name_or_number(given));
}

std::optional<problem> check_type(const char *name, data_type type, unsigned places) {
    if (find_name(type) && (traits(type).places & places) != 0) return std::nullopt;
    std::vector<data_type> expected;
    for (const auto &each : data_types)
        if ((each.places & places) != 0) expected.push_back(each.type);
    return wrong_type(name, expected, "", type);
}

std::optional<problem> check_type_of_zero_points(const quantization &q, numerics rule, data_type quantized) {
    const auto type = q.zero_points->type;
    if (rule == numerics::onnx && type == quantized) return std::nullopt;
    if (traits(quantized).integral) return check_type("zps", type, place::zero_point);
    if (rule == numerics::onnx) return wrong_type("zps", {quantized}, "", type);
    return make_problem(status::invalid_arguments, "zps: expected none for ", to_string(quantized), ", given some of ",
            name_or_number(type));
}

/// Numbers from here on are infinite in f32, and those up to `rounds_to_zero` are 0.
constexpr double overflows = 0x1.ffffffp127, rounds_to_zero = 0x1p-150;

std::optional<problem> check_number(const char *name, double value) {
    if (value >= 0 && value < overflows) return std::nullopt;
    return make_problem(status::invalid_arguments, "computed.", name,
            ": expected a number of 0 or more, finite in f32, given ", value);
}

std::optional<problem> check_choice(const std::optional<wrong_choice> &wrong) {
    if (!wrong) return std::nullopt;
    return make_problem(status::invalid_arguments, "computed.", wrong->name, ": expected ", wrong->expected, " for ",
            wrong->beside, ", given ", wrong->given);
}

/// A rule of scales, which has types of dst and of scales if it passes, and options beside it.
std::optional<problem> check_computed(const quantization &q, numerics rule) {
    if (rule != numerics::onnx)
        return make_problem(
                status::invalid_arguments, "numerics: expected onnx for computed scales, given ", to_string(rule));
    if (q.division != precision::f32)
        return make_problem(
                status::invalid_arguments, "division: expected f32 for computed scales, given ", to_string(q.division));
    for (const auto &[name, p] : {std::pair<const char *, const parameter *>("scales", &q.scales),
                 std::pair<const char *, const parameter *>("zps", q.zero_points ? &*q.zero_points : nullptr)})
        if (p && !p->values.empty())
            return make_problem(status::invalid_arguments, name, ": expected no values, as they are computed, given ",
                    p->values.size());
    const auto &computed = *q.computed;
    if (auto p = check_enumerators({wrong_enumerator("computed.range", computed.range),
                wrong_enumerator("computed.rounding", computed.rounding),
                wrong_enumerator("computed.quotient", computed.quotient),
                wrong_enumerator("computed.special", computed.special)}))
        return p;
    if (auto p = check_number("least", computed.least)) return p;
    if (auto p = check_number("of_zero", computed.of_zero)) return p;
    return check_choice(wrong_choice_for_scales(computed));
}

std::optional<problem> check_zero_points_of_range(const quantization &q) {
    const bool some = q.computed->range == scale_range::minmax;
    if (q.zero_points.has_value() != some)
        return make_problem(status::invalid_arguments, "zps: expected ", some ? "some" : "none", " for computed.range ",
                to_string(q.computed->range), ", given ",
                some ? "none" : "some of " + name_or_number(q.zero_points->type));
    if (!some || q.zero_points->type == q.dst.type) return std::nullopt;
    return wrong_type("zps", {q.dst.type}, ", that of dst", q.zero_points->type);
}

std::optional<problem> check_types_of_computed(const quantization &q) {
    const auto &rule = *q.computed;
    const auto scales = q.scales.type;
    if (auto p = check_type("src", q.src.type, place::real)) return p;
    if (!find_name(q.dst.type) || (traits(q.dst.type).places & place::computed) == 0)
        return wrong_type("dst", dst_types_of(rule), " for this rule", q.dst.type);
    if (auto p = check_choice(wrong_choice_for_dst(rule, q.dst.type))) return p;
    if (auto p = check_zero_points_of_range(q)) return p;
    if (auto p = check_choice(wrong_choice_for_scales(rule, scales))) return p;
    auto expected = scale_types_of(rule);
    if (std::ranges::count(expected, scales) == 0) {
        if (q.second_scales && std::ranges::count(expected, below_global_scale) != 0) expected = {below_global_scale};
        return wrong_type("scales", expected, " for this rule", scales);
    }
    if (!q.second_scales) return std::nullopt;
    if (scales != below_global_scale)
        return make_problem(status::invalid_arguments, "second scales: expected none for computed scales of ",
                to_string(scales), ", given some of ", name_or_number(q.second_scales->type));
    return check_type("second scales", q.second_scales->type, place::global_scale);
}

std::optional<problem> check_types(const quantization &q, numerics rule) {
    if (q.computed) return check_types_of_computed(q);
    const bool quantizing = q.dir == direction::quantize, onnx = rule == numerics::onnx;
    const auto quantized = place::quantized | (onnx ? place::onnx_quantized : 0);
    const auto quantizable = place::real | (onnx ? place::onnx_real : 0);
    if (auto p = check_type("src", q.src.type, quantizing ? quantizable : quantized)) return p;
    if (auto p = check_type("dst", q.dst.type, quantizing ? quantized : place::real)) return p;
    if (auto p = check_type("scales", q.scales.type, place::real | (onnx ? place::onnx_scale : 0))) return p;
    if (q.second_scales)
        if (auto p = check_type("second scales", q.second_scales->type, place::global_scale)) return p;
    if (!q.zero_points) return std::nullopt;
    return check_type_of_zero_points(q, rule, quantizing ? q.dst.type : q.src.type);
}

std::optional<problem> check_place_of_global_scale(const quantization &q, numerics rule) {
    const bool is_nvfp4 =
            q.dir == direction::dequantize && rule == numerics::onnx && q.scales.type == below_global_scale;
    if (!q.second_scales || q.computed || is_nvfp4) return std::nullopt;
    return make_problem(status::invalid_arguments, "second scales: expected none for ", to_string(q.dir),
            ", given some of ", name_or_number(q.second_scales->type));
}

/// Options of quantize under numerics::onnx.
std::optional<problem> check_onnx_options(const quantization &q) {
    if (q.rule == numerics::onnx && q.dir == direction::quantize) return std::nullopt;
    const auto where =
            q.rule == numerics::onnx ? std::string(to_string(q.dir)) : concat("numerics ", to_string(q.rule));
    if (q.division != precision::f32)
        return make_problem(
                status::invalid_arguments, "division: expected f32 for ", where, ", given ", to_string(q.division));
    if (q.saturate)
        return make_problem(status::invalid_arguments, "saturate: expected false for ", where, ", given true");
    return std::nullopt;
}

/// Whether a float type can represent the value, which may be NaN.
bool has_value(data_type type, double value) {
    unsigned char element[sizeof(float)] = {};
    store(type, element, 0, value);
    const double stored = load(type, element, 0);
    return stored == value || (std::isnan(stored) && std::isnan(value));
}

std::optional<problem> check_values(const char *name, const parameter &p, const dims &extents) {
    if (p.values.empty()) return std::nullopt;
    const auto expected = volume(parameter_dims(extents, p.block)).value_or(0);
    if (static_cast<std::int64_t>(p.values.size()) != expected)
        return make_problem(status::invalid_shape, name, ": expected ", expected, expected == 1 ? " value" : " values",
                ", given ", p.values.size());
    const auto &type = traits(p.type);
    for (std::size_t i = 0; i < p.values.size(); ++i)
        if (p.type == data_type::f8_e8m0 && !has_value(p.type, p.values[i]))
            return make_problem(status::invalid_arguments, name,
                    ": expected powers of two from 2^-127 to 2^127 or NaN, given ", p.values[i], " at ", i);
    if (!type.integral) return std::nullopt;
    for (std::size_t i = 0; i < p.values.size(); ++i)
        if (!(p.values[i] >= type.lowest && p.values[i] <= type.highest) || p.values[i] != std::trunc(p.values[i]))
            return make_problem(status::invalid_arguments, name, ": expected integers within ", type.name, ", given ",
                    p.values[i], " at ", i);
    return std::nullopt;
}

std::optional<problem> check_parameter(const char *name, const parameter &p, const dims &extents) {
    if (p.block.size() != extents.size())
        return make_problem(status::invalid_shape, name, ": expected a block of rank ", extents.size(), ", given rank ",
                p.block.size());
    for (std::size_t d = 0; d < extents.size(); ++d)
        if (p.block[d] < 1 && extents[d] > 0)
            return make_problem(status::invalid_shape, name, ": expected block extents of 1 or more, given ",
                    p.block[d], " at dim ", d);
    if (volume(extents) == 0) return std::nullopt;
    return check_values(name, p, extents);
}

/// Known float zero points must be representable. They are not rounded as scales are, as float4 would turn NaN into a
/// number.
std::optional<problem> check_float_zero_points(const parameter &p) {
    if (traits(p.type).integral) return std::nullopt;
    const auto &values = p.values;
    const auto impossible =
            std::find_if_not(values.begin(), values.end(), [&](double value) { return has_value(p.type, value); });
    if (impossible == values.end()) return std::nullopt;
    return make_problem(status::invalid_arguments, "zps: expected values that ", to_string(p.type), " has, given ",
            *impossible, " at ", impossible - values.begin());
}

std::optional<problem> check_zero_points(const quantization &q) {
    if (!q.zero_points) return std::nullopt;
    if (q.zero_points->block != q.scales.block)
        return make_problem(status::invalid_shape, "zps: expected the block of scales, ", to_string(q.scales.block),
                ", given ", to_string(q.zero_points->block));
    if (auto p = check_parameter("zps", *q.zero_points, q.src.dims)) return p;
    return check_float_zero_points(*q.zero_points);
}

std::optional<problem> check_global_scale(const quantization &q) {
    if (!q.second_scales) return std::nullopt;
    if (q.second_scales->block != q.src.dims)
        return make_problem(status::invalid_shape, "second scales: expected the block of the whole tensor, ",
                to_string(q.src.dims), ", given ", to_string(q.second_scales->block));
    if (auto p = check_parameter("second scales", *q.second_scales, q.src.dims)) return p;
    if (q.computed) // scales are divided by it
        for (const auto value : q.second_scales->values)
            if (!(value > rounds_to_zero && value < overflows))
                return make_problem(status::invalid_arguments,
                        "second scales: expected a global scale above 0 and finite in f32, given ", value);
    return std::nullopt;
}

/// The part of check() that depends on the rule: whether `rule`, which need not be q's, has the direction, parameters
/// and types of q.
std::optional<problem> check_under(const quantization &q, numerics rule) {
    if (auto p = check_place_of_global_scale(q, rule)) return p;
    if (q.computed && q.dir != direction::quantize)
        return make_problem(
                status::invalid_arguments, "computed: expected none for ", to_string(q.dir), ", given a rule");
    if (auto p = q.computed ? check_computed(q, rule) : std::nullopt) return p;
    return check_types(q, rule);
}

} // namespace

std::optional<problem> check(const quantization &q) {
    if (auto p = check_enumerators({wrong_enumerator("direction", q.dir), wrong_enumerator("numerics", q.rule),
                wrong_enumerator("division", q.division)}))
        return p;
    if (auto p = check_under(q, q.rule)) return p;
    if (auto p = check_onnx_options(q)) return p;
    if (auto p = check_tensor("src", q.src)) return p;
    if (auto p = check_tensor("dst", q.dst)) return p;
    if (q.src.dims != q.dst.dims)
        return make_problem(status::invalid_shape, "dst: expected the dims of src, ", to_string(q.src.dims), ", given ",
                to_string(q.dst.dims));
    if (volume(q.dst.dims) != 0 && overlaps(q.dst.dims, strides_of(q.dst)))
        return make_problem(status::invalid_shape, "dst: expected strides whose elements do not overlap, given ",
                to_string(q.dst.strides), " for dims ", to_string(q.dst.dims));
    if (auto p = check_parameter("scales", q.scales, q.src.dims)) return p;
    if (auto p = check_zero_points(q)) return p;
    return check_global_scale(q);
}

std::optional<std::string> differs_from_strict(const quantization &q) {
    if (q.rule != numerics::onnx) return std::nullopt;
    if (q.division != precision::f32)
        return concat("the division is one in ", to_string(q.division), ", and numerics strict divides in f32");
    if (q.saturate && !traits(q.dst.type).integral) return "dst saturates, and overflows under numerics strict";
    if (const auto wrong = check_under(q, numerics::strict))
        return concat("numerics strict has no such types: ", wrong->message);
    if (q.dir == direction::quantize && q.zero_points)
        return "zero points are added to the rounded quotients, and under numerics strict to those not yet rounded";
    return std::nullopt;
}

dims per_tensor(const dims &extents) {
    return extents;
}

dims per_channel(const dims &extents, std::int64_t axis) {
    const auto rank = static_cast<std::int64_t>(extents.size());
    if (axis < -rank || axis >= rank)
        throw error(status::invalid_arguments,
                concat("axis: expected a value in [", -rank, ", ", rank - 1, "] for rank ", rank, ", given ", axis));
    dims block = extents;
    block[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = 1;
    return block;
}

} // namespace dynquant
