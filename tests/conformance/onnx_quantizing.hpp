// Computes elements under numerics::onnx by every kernel that must compute them, and asserts that the kernels agree.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace dynquant::test {

using reals = std::vector<double>;
using integers = std::vector<std::int64_t>;

inline constexpr double infinity = std::numeric_limits<double>::infinity(),
                        nan = std::numeric_limits<double>::quiet_NaN();

inline std::vector<std::byte> encoded(data_type type, const reals &values) {
    if (is_integer(type)) return encode(type, integers(values.begin(), values.end()));
    return encode_reals(type, std::vector<float>(values.begin(), values.end()));
}

inline bool is_nan(data_type type, std::int64_t code) {
    return std::isnan(real_from(type, static_cast<std::uint32_t>(code)));
}

/// Whether elements are equal. All NaNs are equal: IEEE 754 does not specify their sign.
inline bool agree(data_type type, const std::vector<std::byte> &a, const std::vector<std::byte> &b) {
    const auto count = static_cast<std::int64_t>(a.size()) * 8 / bits_in(type);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto x = get_bits(type, a.data(), i), y = get_bits(type, b.data(), i);
        if (x != y && (is_integer(type) || !is_nan(type, x) || !is_nan(type, y))) return false;
    }
    return true;
}

/// The dst on which all kernels agree. `threads` as in options: 0 lets the library choose.
inline std::vector<std::byte> computed(const quantization &q, const oracle::inputs &in, int threads = 0) {
    std::optional<std::vector<std::byte>> result;
    for (const auto &v : universal_variants()) {
        std::vector dst(bytes_spanned(q.dst), std::byte {0});
        auto forced = v.forced();
        forced.threads = threads;
        prepare(q, forced).run({in.src.data(), in.scales.data(), in.zero_points.data(), dst.data()});
        if (!result) result = dst;
        EXPECT_TRUE(agree(q.dst.type, *result, dst)) << v << ": " << describe(q);
    }
    return *result;
}

/// A row of elements under one scale and one zero point of dst's type.
struct quantizing {
    data_type dst = data_type::s8, src = data_type::f32, scales = data_type::f32;
    precision division = precision::f32;
    bool saturate = false;

    /// The bits of each element.
    integers codes(const reals &x, double scale, std::optional<double> zp = {}) const {
        const auto count = static_cast<std::int64_t>(x.size());
        quantization q;
        q.rule = numerics::onnx;
        q.src = {src, {count}, {}};
        q.dst = {dst, {count}, {}};
        q.scales = {scales, {count}, {}};
        q.division = division;
        q.saturate = saturate;
        if (zp) q.zero_points = {dst, {count}, {}};
        const auto bytes = computed(
                q, {encoded(src, x), encoded(scales, {scale}), zp ? encoded(dst, {*zp}) : std::vector<std::byte> {}});
        integers result;
        for (std::int64_t i = 0; i < count; ++i)
            result.push_back(get_bits(dst, bytes.data(), i));
        return result;
    }

    integers values(const reals &x, double scale, std::optional<double> zp = {}) const {
        auto result = codes(x, scale, zp);
        for (auto &value : result)
            value = integer_from(dst, static_cast<std::uint32_t>(value));
        return result;
    }
};

/// A row of src dequantized to f32 under one scale and zero point.
inline std::vector<float> dequantized(
        data_type src, const reals &x, double scale, std::optional<double> zp = {}, data_type scales = data_type::f32) {
    const auto count = static_cast<std::int64_t>(x.size());
    quantization q;
    q.dir = direction::dequantize;
    q.rule = numerics::onnx;
    q.src = {src, {count}, {}};
    q.dst = {data_type::f32, {count}, {}};
    q.scales = {scales, {count}, {}};
    if (zp) q.zero_points = {src, {count}, {}};
    return decode_reals(data_type::f32,
            computed(q,
                    {encoded(src, x), encoded(scales, {scale}), zp ? encoded(src, {*zp}) : std::vector<std::byte> {}}));
}

} // namespace dynquant::test
