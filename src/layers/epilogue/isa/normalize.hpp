// The normalization of epilogue.hpp over vectors V, see targets/simd.hpp.
//
// The mean and the variance are quotients of sums in f64. A mean is then split in two f32, so that one that is large
// beside the differences costs them no bits. The rest is one rounded f32 operation each. With u = 2^-24, for a row of n
// values the error of y is at most
//     6.01 u |scale * (x - mean) / root| + u |y| + (n / 16 + 40) 2^-53 largest |x| / root |scale|
// where root = sqrt(variance + epsilon): 2 u of the difference, 2 u of the root, which all differences are in, u of its
// reciprocal, u of the product, and u of what fma() gives; the last term is what f64 rounds. It holds where |x| <
// 2^120, root is between 2^-60 and 2^120, and nothing that is rounded is subnormal.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "layers/epilogue/epilogue.hpp"
#include "targets/simd.hpp"

namespace dynquant::layers {
namespace {

/// What is subtracted: the mean, or 0.
struct differences {
    float high = 0, low = 0;
};

/// Adds up, over a row, f of each element's difference as f64. Of 16 partial sums the sum j has the elements 16 i + j
/// in their order; then the upper half of the sums is added to the lower one until one is left. So the bits are those
/// of every instruction set.
template <typename V, typename F>
[[gnu::always_inline]] inline double sum_of_row(const float *x, std::int64_t count, differences by, F f) {
    constexpr std::int64_t partial = 16;
    constexpr int vectors = partial / V::lanes;
    typename V::doubles sums[vectors];
    for (auto &sum : sums)
        sum = V::splat(0.0);
    const auto high = V::splat(by.high), low = V::splat(by.low);
    std::int64_t i = 0;
    for (; i + partial <= count; i += partial)
        simd::unroll<vectors>([&](int v) __attribute__((always_inline)) {
            sums[v] = sums[v] + f(V::to_doubles((V::load(x + i + v * V::lanes) - high) - low));
        });
    if (i < count) {
        double all[partial];
        std::memcpy(all, sums, sizeof all);
        for (std::int64_t j = 0; i + j < count; ++j)
            all[j] += f(double {(x[i + j] - by.high) - by.low});
        std::memcpy(sums, all, sizeof all);
    }
    for (int half = vectors / 2; half > 0; half /= 2)
        for (int v = 0; v < half; ++v)
            sums[v] = sums[v] + sums[v + half];
    double last[V::lanes];
    std::memcpy(last, sums, sizeof last);
    for (int half = V::lanes / 2; half > 0; half /= 2)
        for (int j = 0; j < half; ++j)
            last[j] += last[j + half];
    return last[0];
}

template <typename V>
void normalize(const normalization_view &by, const float *x, float *y, std::int64_t positions, std::int64_t channels) {
    const auto count = static_cast<double>(channels);
    for (std::int64_t p = 0; p < positions; ++p, x += channels, y += channels) {
        differences d;
        if (by.has_mean) {
            const auto mean = sum_of_row<V>(x, channels, {}, [](auto v) { return v; }) / count;
            d.high = static_cast<float>(mean);
            d.low = static_cast<float>(mean - static_cast<double>(d.high));
        }
        const auto variance = sum_of_row<V>(x, channels, d, [](auto v) { return v * v; }) / count;
        const auto inverse = V::splat(static_cast<float>(1 / std::sqrt(variance + static_cast<double>(by.epsilon))));
        const auto high = V::splat(d.high), low = V::splat(d.low);
        const auto result = [&](auto v, auto scale, auto bias) __attribute__((always_inline)) {
            return simd::fused<V>::fma(((v - high) - low) * inverse, scale, bias);
        };
        const auto none = V::splat(-0.0F); // x + -0 is x
        std::int64_t c = 0;
        for (; c + V::lanes <= channels; c += V::lanes)
            V::store(y + c, result(V::load(x + c), V::load(by.scale + c), by.bias ? V::load(by.bias + c) : none));
        if (c == channels) continue;
        const auto some = V::first_lanes(channels - c);
        V::store(y + c, some,
                result(V::load(x + c, some), V::load(by.scale + c, some), by.bias ? V::load(by.bias + c, some) : none));
    }
}

} // namespace
} // namespace dynquant::layers
