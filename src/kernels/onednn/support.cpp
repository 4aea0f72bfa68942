#include "kernels/onednn/support.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/onednn/lowering.hpp"
#include "quantization/onednn_limits.hpp"
#include "quantization/shape.hpp"
#include "quantization/strict_equivalence.hpp"
#include "quantization/text.hpp"

namespace dynquant::kernels::onednn {
namespace {

/// Whether oneDNN accepts these strides: apart from broadcasts, each axis steps over all axes of smaller stride.
bool nested(std::vector<axis> axes, std::int64_t axis::*stride) {
    std::sort(axes.begin(), axes.end(), [=](const axis &a, const axis &b) { return a.*stride < b.*stride; });
    std::int64_t smallest = 1;
    for (const auto &a : axes) {
        if (a.extent == 1 || a.*stride == 0) continue;
        if (a.*stride < smallest || __builtin_mul_overflow(a.extent, a.*stride, &smallest)) return false;
    }
    return true;
}

/// oneDNN's just-in-time reorder has room for 12 axes. It may split off three more without a bounds check, and uses one
/// as a spare.
constexpr std::size_t max_axes = 8;

std::optional<std::string> refuse_layout(const std::vector<axis> &axes) {
    if (axes.size() > max_axes)
        return "more than 8 dims remain after merging, and a reorder then writes beyond its table of them";
    for (const auto &a : axes)
        if (!fits_int({&a.extent, 1})) return "more than 2^31 - 1 elements lie along a dim, and oneDNN counts in int";
    if (!nested(axes, &axis::src_stride))
        return "the dims of src interleave, which a oneDNN memory descriptor cannot state";
    if (!nested(axes, &axis::dst_stride))
        return "the dims of dst interleave, which a oneDNN memory descriptor cannot state";
    // oneDNN moves the axis that is dense in src to the second position, so it needs two axes.
    if (axes.size() == 1 && axes[0].src_stride == 1 && axes[0].dst_stride != 1)
        return "a dense src is spread out to a strided dst, and a long one makes oneDNN divide by zero";
    const int mask = parameter_mask(axes);
    if ((mask & (mask - 1)) != 0) return "the parameters change along more than one dim, and a reorder's along one";
    return std::nullopt;
}

/// Other data types are partly missing in oneDNN 3.2; newer versions round some of them twice.
bool known(data_type type) {
    return type == data_type::f32 || type == data_type::s32 || type == data_type::s8 || type == data_type::u8;
}

std::optional<std::string> refuse_types(const quantization &q) {
    const auto zero_points = q.zero_points ? q.zero_points->type : data_type::s32;
    for (const auto type : {q.src.type, q.dst.type, q.scales.type, zero_points})
        if (!known(type)) return concat("the data types go beyond f32, s8, u8 and s32: ", to_string(type));
    return std::nullopt;
}

std::optional<std::string> refuse_zero_points(const std::vector<axis> &axes) {
    if (parameter_mask(axes) != 0) return "the zero points differ by channel, and a reorder uses only the first";
    // oneDNN 3.2 leaves the zero point out where it reads runs and writes single elements.
    for (const auto &a : axes)
        if (a.src_stride != a.dst_stride)
            return "there is a zero point and src and dst have different strides, and a reorder may then leave it out";
    return std::nullopt;
}

template <typename Within>
bool all(const std::vector<double> &values, Within within) {
    return std::all_of(values.begin(), values.end(), within);
}

/// A reorder multiplies by 1 / scale. This is exact if both are normal powers of two.
bool divides_exactly(double scale) {
    int exponent = 0;
    const double mantissa = std::abs(std::frexp(scale, &exponent)); // |scale| = mantissa * 2^exponent
    return mantissa == 0.5 && exponent - 1 >= -126 && exponent - 1 <= 126;
}

/// The guard of numerics::any: only inside it may results differ from strict; see quantization.hpp.
bool scale_within_guard(double scale) {
    return std::abs(scale) >= 0x1p-75 && std::abs(scale) <= 0x1p75;
}
bool zero_point_within_guard(double zp) {
    return std::abs(zp) < 0x1p20;
}

/// A reorder subtracts zero points as floats, which is exact up to this limit.
bool subtracts_exactly(double zp) {
    return std::abs(zp) <= 0x1p24 - 256;
}

std::optional<std::string> refuse_strict_quantize(const quantization &q) {
    if (q.dst.type != data_type::u8) return "dst is s8, and a reorder may turn NaN into 0 or 127";
    if (q.scales.values.empty())
        return "the scales are not known beforehand, and multiplying by a reciprocal is exact for powers of two only";
    if (!all(q.scales.values, divides_exactly))
        return "not all scales are powers of two from 2^-126 to 2^126, for which multiplying by a reciprocal is exact";
    return std::nullopt;
}

std::optional<std::string> refuse_any_quantize(const quantization &q) {
    if (!all(q.scales.values, scale_within_guard))
        return "not all scales are from 2^-75 to 2^75, and beyond that results must be those of a division";
    if (q.zero_points && !all(q.zero_points->values, zero_point_within_guard))
        return "not all zero points are below 2^20, and beyond that results must be those of a division";
    return std::nullopt;
}

/// Whether oneDNN has just-in-time code for certain. Its limits on dims and offsets depend on extents and on the number
/// of threads; within these bounds it always has.
bool just_in_time(const std::vector<axis> &axes) {
    constexpr std::int64_t max_elements = std::int64_t {1} << 28; // 1 GiB of f32
    return axes.size() <= 3 && std::all_of(axes.begin(), axes.end(), [](const axis &a) {
        return a.extent <= max_elements / std::max<std::int64_t>({a.src_stride, a.dst_stride, 1});
    });
}

std::optional<std::string> refuse_dequantize(const quantization &q, const std::vector<axis> &axes) {
    // oneDNN's other code adds +0 to each result, which turns -0 into +0.
    const bool positive =
            !q.scales.values.empty() && all(q.scales.values, [](double s) { return static_cast<float>(s) > 0; });
    if (!positive && !just_in_time(axes))
        return "scales may be negative or zero, and in tensors of this size or so many dims a reorder loses the "
               "sign of -0";
    if (!q.zero_points || q.zero_points->type != data_type::s32) return std::nullopt;
    if (q.zero_points->values.empty())
        return "the s32 zero point is not known beforehand, and a reorder subtracts it as a float";
    if (!all(q.zero_points->values, subtracts_exactly))
        return "the zero point is beyond 2^24 - 256, and a reorder subtracts it as a float";
    return std::nullopt;
}

} // namespace

std::optional<std::string> refusal(const quantization &q) {
    if (q.computed) return "a reorder has no such results";
    if (auto why = differs_from_strict(q)) return why;
    return refuse_types(q);
}

std::optional<std::string> refusal(const quantization &q, const std::vector<canonical_form> &forms) {
    if (forms.size() > 1) return "a block does not divide its dim, and a reorder knows no shorter last block";
    const auto axes = axes_of(forms.front());
    if (auto why = refuse_layout(axes)) return why;
    if (q.zero_points)
        if (auto why = refuse_zero_points(axes)) return why;
    if (q.dir == direction::dequantize) return refuse_dequantize(q, axes);
    return q.rule == numerics::any ? refuse_any_quantize(q) : refuse_strict_quantize(q);
}

} // namespace dynquant::kernels::onednn
