// Chains of oneDNN Graph's ops around a MatMul or a Convolution of two Dequantizes, or a MatMul of floats and one: what
// dynquant's layers give, in exact integers and then f32, as docs/reference.md states it, and how far the same ops may
// be from it where each is computed in f32 in any order, or fused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dynquant/quantization.hpp"

namespace dynquant::test::oracle {

/// What scales and zero points an op has. They differ along one dim, or from group to group, or are one for all.
struct along_axis {
    std::vector<float> scales;
    std::vector<std::int64_t> zero_points = {}; // empty: none
    std::int64_t axis = -1;                     // -1: one for all, or
    dims groups = {};                           // the extents of a group, divisors; row-major

    std::size_t index_of(std::int64_t element, const dims &extents) const;
    std::int64_t zero_point_of(std::int64_t element, const dims &extents) const;
};

/// Integers, row-major. Another order of roundings may give what is from `least` to `most`.
struct codes {
    dims extents;
    std::vector<std::int64_t> values, least, most;
};

/// Floats, row-major. Another order of roundings may give what is at most as far as the bound.
struct reals {
    dims extents;
    std::vector<float> values;
    std::vector<double> bounds;
};

reals exact(const dims &extents, std::vector<float> values);

/// f32((q - zp) * scale).
reals dequantize(const codes &of, const along_axis &p);

/// f32(sum of (x - zx) (w - zw)) * f32(sx * sw), of matrices with batches that broadcast. Scales and zero points do not
/// differ along the dim that is summed.
reals product(const codes &x, const along_axis &of_x, bool transposes_x, const codes &w, const along_axis &of_w,
        bool transposes_w);

/// sum of x ((w - zw) * sw) of floats x, which f64 makes; the bound is that of f32 sums in any order.
reals product(const reals &x, bool transposes_x, const codes &w, const along_axis &of_w, bool transposes_w);

/// The attributes of Convolution. pads: at the beginnings, then at the ends.
struct convolution_attributes {
    bool is_ncx = false, is_oix = false; // data_format and weights_format
    std::int64_t groups = 1;
    std::string auto_pad = "None";
    std::vector<std::int64_t> strides, dilations, pads;
};

/// Whether weights fit data of these dims, with at least one element of dst.
bool fits(const convolution_attributes &a, const dims &x, const dims &w);
/// The dims of dst.
dims extents_of(const convolution_attributes &a, const dims &x, const dims &w);

/// As product(). Scales and zero points of x differ by image, those of w by filter, if at all.
reals convolution(const convolution_attributes &a, const codes &x, const along_axis &of_x, const codes &w,
        const along_axis &of_w);

/// clamp(RNE(f32(f32(v / scale) + zp))), by a product with the rounded reciprocal in another order.
codes quantize(const reals &of, const along_axis &p, std::int64_t lowest, std::int64_t highest);

enum class function { relu, clamp, leaky_relu, hard_swish, hard_sigmoid };
/// a and b: min and max of clamp; alpha; alpha and beta.
reals apply(function f, reals of, float a, float b);

enum class binary { add, subtract, multiply, divide, prelu };
/// NumPy's broadcasting. prelu: a < 0 ? a * b : a.
reals apply(binary f, const reals &a, const reals &b);

dims broadcast(const dims &a, const dims &b);

} // namespace dynquant::test::oracle
