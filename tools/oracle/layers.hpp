// The definition of layers' results, by plain loops: integer sums element by element, modulo 2^32, then the steps one
// after the other in f32. What describes a layer is a parameter of templates, any with the members of those of
// src/layers, of which nothing is included and no function is called.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "elements.hpp"

namespace dynquant::test::oracle {

constexpr std::size_t spatial = 3; // dimensions; those that a convolution lacks are 1

/// A product is a convolution of one image, whose positions are the rows, by one tap.
struct geometry {
    std::int64_t images = 1, groups = 1, channels = 0, filters = 0; // channels: of a group
    std::array<std::int64_t, spatial> x {1, 1, 1}, y {1, 1, 1}, kernel {1, 1, 1}, strides {1, 1, 1},
            dilations {1, 1, 1}, pads {0, 0, 0}; // pads: at the beginning

    std::int64_t x_positions() const { return x[0] * x[1] * x[2]; }
    std::int64_t y_positions() const { return y[0] * y[1] * y[2]; }
};

std::int64_t product_of(const dims &extents);

/// Returns the only value, or that of element i.
template <typename T>
auto at(const T &values, std::int64_t i) {
    return values[values.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

/// Sets what ONNX's ConvInteger says of one spatial dimension.
template <typename Window>
void set_dimension(const Window &given, std::size_t d, std::size_t rank, geometry &g) {
    const auto at = spatial - rank + d;
    if (!given.strides.empty()) g.strides[at] = given.strides[d];
    if (!given.dilations.empty()) g.dilations[at] = given.dilations[d];
    const auto covered = (g.kernel[at] - 1) * g.dilations[at] + 1;
    std::int64_t begin = 0, end = 0;
    if (given.auto_pad == "SAME_UPPER" || given.auto_pad == "SAME_LOWER") {
        const auto count = (g.x[at] + g.strides[at] - 1) / g.strides[at];
        const auto pads = std::max<std::int64_t>((count - 1) * g.strides[at] + covered - g.x[at], 0);
        begin = given.auto_pad == "SAME_UPPER" ? pads / 2 : pads - pads / 2;
        end = pads - begin;
    } else if (!given.pads.empty()) {
        begin = given.pads[d];
        end = given.pads[rank + d];
    }
    g.pads[at] = begin;
    const auto room = g.x[at] + begin + end - covered;
    g.y[at] = room < 0 ? 0 : room / g.strides[at] + 1;
}

template <typename Description>
geometry geometry_of(const Description &d, const dims &x) {
    geometry g;
    const auto &w = d.weights_shape;
    if (!d.is_convolution) {
        g.channels = w[0];
        g.filters = w[1];
        g.x[2] = g.y[2] = product_of(x) / g.channels;
        return g;
    }
    g.images = x[0];
    g.groups = d.groups;
    g.channels = w[1];
    g.filters = w[0];
    const auto rank = x.size() - 2;
    for (std::size_t i = 0; i < rank; ++i) {
        g.x[spatial - rank + i] = x[2 + i];
        g.kernel[spatial - rank + i] = w[2 + i];
        set_dimension(d.window, i, rank, g);
    }
    return g;
}

/// What x was quantized to, or how it came.
struct quantized {
    std::vector<std::byte> bytes;
    std::vector<std::int32_t> zero_points;
    std::vector<float> scales;
};

/// ONNX's DynamicQuantizeLinear of each row. A quotient that is NaN gives the code 0, of the zero point 255; zeros have
/// the scale 1; see dynquant/scale_rule.hpp.
quantized quantize_rows(const std::vector<std::byte> &floats, std::int64_t rows);

/// Less the zero points, each of as many consecutive elements.
std::vector<std::uint32_t> differences(
        const std::vector<std::byte> &bytes, bool is_signed, const std::vector<std::int32_t> &zero_points);

/// Filter by filter: the weights of a product, which are [channels, filters], change places.
std::vector<std::byte> by_filters(const std::vector<std::byte> &w, const geometry &g);

/// Sums of the differences of x and of w, which lies by filters. y: image by image, position by position.
std::vector<std::uint32_t> sums_of(const geometry &g, const std::vector<std::uint32_t> &x, bool is_x_channels_last,
        const std::vector<std::uint32_t> &w);

/// erf(x) as src/layers/epilogue/isa/erf.hpp states it.
float error_function(float x);

/// These are what src/layers/epilogue/isa/sigmoid.hpp states.
float hyperbolic_tangent(float x);
float logistic(float x);

/// x_scale: by which the factors of `scale` are multiplied. tensor: the element that add_tensor adds.
template <typename Steps>
float after(const Steps &steps, float x, std::int64_t channel, float x_scale, float tensor = 0) {
    using kind = std::remove_cvref_t<decltype(steps.begin()->what)>;
    float saved = 0;
    for (const auto &s : steps) {
        const float a = s.a.empty() ? 0 : at(s.a, channel), b = s.b.empty() ? 0 : s.b[0];
        switch (s.what) {
            case kind::scale: {
                const float factor = x_scale * a;
                x = x * factor;
                break;
            }
            case kind::multiply: x = x * a; break;
            case kind::divide: x = x / a; break;
            case kind::add: x = x + a; break;
            case kind::add_tensor: x = x + tensor; break;
            case kind::clip:
                x = x < a ? a : x;
                x = x > b ? b : x;
                break;
            case kind::saturate:
                x = std::isnan(x) || x < a ? a : x;
                x = x > b ? b : x;
                break;
            case kind::round: x = std::nearbyint(x); break;
            case kind::leaky_relu: x = x < 0 ? x * a : x; break;
            case kind::save: saved = x; break;
            case kind::erf: x = error_function(x); break;
            case kind::tanh: x = hyperbolic_tangent(x); break;
            case kind::sigmoid: x = logistic(x); break;
            case kind::add_saved: x = x + saved; break;
            case kind::multiply_saved: x = x * (s.a.empty() ? saved : saved * a); break;
            case kind::look_up: x = s.table[bits_of_real(data_type::f16, x)]; break;
        }
    }
    return x;
}

/// Normalizes a row as src/layers/epilogue/isa/normalize.hpp states it.
template <typename Normalization>
void normalize(const Normalization &by, float *row, std::int64_t columns) {
    float high = 0, low = 0;
    const auto mean_of = [&](auto f) {
        std::array<double, 16> sums {};
        for (std::int64_t i = 0; i < columns; ++i) {
            const float difference = row[i] - high;
            sums[static_cast<std::size_t>(i) % 16] += f(double {difference - low});
        }
        for (std::size_t half = 8; half > 0; half /= 2)
            for (std::size_t j = 0; j < half; ++j)
                sums[j] += sums[j + half];
        return sums[0] / static_cast<double>(columns);
    };
    if (by.has_mean) {
        const auto mean = mean_of([](double d) { return d; });
        high = static_cast<float>(mean);
        low = static_cast<float>(mean - high);
    }
    const auto inverse = static_cast<float>(1 / std::sqrt(mean_of([](double d) { return d * d; }) + by.epsilon));
    for (std::int64_t i = 0; i < columns; ++i) {
        float x = row[i] - high;
        x = x - low;
        x = x * inverse;
        const auto c = static_cast<std::size_t>(i);
        row[i] = by.bias.empty() ? x * by.scale[c] : std::fma(x, by.scale[c], by.bias[c]);
    }
}

/// A layer and what it takes.
template <typename Description>
struct layer_inputs {
    Description d;               // of whose `prepare` only matters whether there is one
    dims x_shape;                // of a convolution channels first, however x lies
    std::vector<std::byte> x, w; // x: floats where the layer quantizes them
    std::vector<std::int32_t> x_zero_points;
    std::vector<float> x_scales;
    std::vector<float> tensor; // of add_tensor, as y lies
};

/// The shape of y has a convolution's channels first, however y lies.
template <typename Description>
dims y_shape(const Description &d, const dims &x) {
    const auto g = geometry_of(d, x);
    auto y = x;
    if (!d.is_convolution) {
        y.back() = g.filters;
        return y;
    }
    y[1] = g.filters;
    for (std::size_t i = 2; i < x.size(); ++i)
        y[i] = g.y[spatial - (x.size() - 2) + i - 2];
    return y;
}

/// A sum with its bias becomes an element of y. tensor: the element that add_tensor adds.
template <typename Description>
void finish(const Description &d, std::int32_t sum, std::int64_t channel, float x_scale, float tensor, std::byte *y) {
    using result = std::remove_cvref_t<decltype(d.result)>;
    if (d.result == result::s32) {
        std::memcpy(y, &sum, sizeof sum);
        return;
    }
    const float x = after(d.post_ops, static_cast<float>(sum), channel, x_scale, tensor);
    if (d.result == result::f32) {
        std::memcpy(y, &x, sizeof x);
        return;
    }
    *y = static_cast<std::byte>(static_cast<int>(std::nearbyint(x)));
    if (d.table) *y = static_cast<std::byte>((*d.table)[std::to_integer<std::size_t>(*y)]);
}

template <typename Description>
std::vector<std::byte> result_of(const layer_inputs<Description> &given) {
    const auto &d = given.d;
    const auto g = geometry_of(d, given.x_shape);
    const auto positions = g.y_positions();
    quantized of_x {given.x, given.x_zero_points, given.x_scales};
    if (d.prepare) of_x = quantize_rows(given.x, !d.scales_by_row ? 1 : d.is_convolution ? g.images : positions);
    if (d.x_zero_point) of_x.zero_points = {*d.x_zero_point};
    const auto sums = sums_of(g, differences(of_x.bytes, d.x_is_signed && !d.prepare, of_x.zero_points),
            !d.is_convolution || d.x_is_channels_last,
            differences(d.is_convolution ? given.w : by_filters(given.w, g), d.w_is_signed, d.w_zero_points));
    const std::size_t element = d.result == std::remove_cvref_t<decltype(d.result)>::bytes ? 1 : 4;
    const bool is_y_last = !d.is_convolution || d.y_is_channels_last;
    std::vector<std::byte> y(sums.size() * element);
    for (std::int64_t i = 0; i < std::ssize(sums); ++i) {
        const auto f = i % g.filters, row = i / g.filters, image = row / positions, p = row % positions;
        const auto bias = d.bias.empty() ? 0 : static_cast<std::uint32_t>(at(d.bias, f));
        const float scale = !of_x.scales.empty() ? at(of_x.scales, d.is_convolution ? image : p) : 0;
        const auto to = is_y_last ? i : (image * g.filters + f) * positions + p;
        const float tensor = given.tensor.empty() ? 0 : given.tensor[static_cast<std::size_t>(to)];
        finish(d, static_cast<std::int32_t>(sums[static_cast<std::size_t>(i)] + bias), f, scale, tensor,
                &y[static_cast<std::size_t>(to) * element]);
    }
    if (d.normalization) {
        std::vector<float> floats(y.size() / sizeof(float));
        std::memcpy(floats.data(), y.data(), y.size());
        for (std::size_t row = 0; row < floats.size(); row += static_cast<std::size_t>(g.filters))
            normalize(*d.normalization, &floats[row], g.filters);
        std::memcpy(y.data(), floats.data(), y.size());
    }
    return y;
}

/// A product of floats by narrow weights, which `w` describes without their data; or a convolution of one tap, whose x
/// is [images, inner, positions].
template <typename Weights, typename Step>
struct weight_only_inputs {
    Weights w;
    std::vector<std::byte> data;
    bool is_convolution = false;
    dims x_shape;
    std::vector<float> x;
    std::vector<Step> steps;
};

/// Whether x is scaled, for each group of columns.
template <typename Weights>
bool is_x_scaled(const Weights &of) {
    return of.column_group > 1;
}

/// Whether weights are scaled one by one, in place of the sums of blocks.
template <typename Weights>
bool are_scaled(const Weights &of) {
    if (is_x_scaled(of)) return false;
    return of.are_float16 || (of.block == 1 && of.inner > 1);
}

template <typename Weights>
std::size_t scale_of(const Weights &of, std::int64_t k, std::int64_t n) {
    return static_cast<std::size_t>(
            k / of.block * of.scale_columns + (of.scale_columns == 1 ? 0 : n / of.column_group));
}

/// What x is multiplied by, column by column: weights less their zero points, or scaled ones.
template <typename Weights>
std::vector<float> weight_only_factors(const Weights &of, const std::vector<std::byte> &data) {
    std::vector<float> result;
    for (std::int64_t n = 0; n < of.columns; ++n)
        for (std::int64_t k = 0; k < of.inner; ++k) {
            const auto code = get_bits(of.type, data.data(), of.is_transposed ? n * of.inner + k : k * of.columns + n);
            const auto parameter = scale_of(of, k, n);
            float w = is_integer(of.type) ? static_cast<float>(integer_from(of.type, code)) : real_from(of.type, code);
            if (!of.zero_points.empty()) w = w - static_cast<float>(of.zero_points[parameter]);
            if (are_scaled(of)) w = w * of.scales[parameter];
            result.push_back(of.are_float16 ? nearest_float16(w) : w);
        }
    return result;
}

/// A sum as src/layers/gemm/by_blocks/block_product.hpp defines it, of a column's factors, which are integers.
template <typename Weights>
float block_sum(const Weights &of, const float *x, std::int64_t x_stride, const float *w, std::int64_t n) {
    float sum = 0;
    for (std::int64_t begin = 0; begin < of.inner; begin += of.block) {
        const auto end = std::min(begin + of.block, of.inner);
        float largest = 0;
        bool is_finite = true;
        for (auto k = begin; k < end; ++k) {
            is_finite = is_finite && std::isfinite(x[k * x_stride]);
            largest = std::max(largest, std::fabs(x[k * x_stride]));
        }
        const float reciprocal = largest == 0 ? 0 : std::min(127.0F / largest, std::numeric_limits<float>::max());
        std::int64_t d = 0;
        for (auto k = begin; k < end && is_finite; ++k) {
            const float scaled = x[k * x_stride] * reciprocal;
            const auto code = std::clamp(std::nearbyint(scaled), -127.0F, 127.0F);
            d += static_cast<std::int64_t>(code) * static_cast<std::int64_t>(w[k]);
        }
        const float scale_of_x = is_finite ? largest / 127.0F : std::numeric_limits<float>::quiet_NaN();
        const float scale = scale_of_x * of.scales[scale_of(of, begin, n)];
        sum = std::fma(static_cast<float>(d), scale, sum);
    }
    return sum;
}

/// A sum as src/layers/gemm/weight_only/weight_only_product.hpp defines it, of a column's factors.
template <typename Weights>
float narrow_sum(const Weights &of, const float *x, std::int64_t x_stride, const float *w, std::int64_t n) {
    if (of.quantizes_x) return block_sum(of, x, x_stride, w, n);
    if (is_x_scaled(of)) {
        float acc = 0;
        for (std::int64_t k = 0; k < of.inner; ++k) {
            const float scaled = x[k * x_stride] * of.scales[scale_of(of, k, n)];
            acc = std::fma(scaled, w[k], acc);
        }
        return acc;
    }
    const auto block = are_scaled(of) ? of.inner : of.block;
    float sum = 0;
    for (std::int64_t begin = 0; begin < of.inner; begin += block) {
        float acc = 0;
        for (auto k = begin; k < std::min(begin + block, of.inner); ++k)
            acc = std::fma(x[k * x_stride], w[k], acc);
        if (are_scaled(of)) return acc;
        const auto scale = of.scales[scale_of(of, begin, n)];
        sum = begin == 0 ? acc * scale : std::fma(acc, scale, sum);
    }
    return sum;
}

template <typename Weights, typename Step>
std::vector<float> result_of(const weight_only_inputs<Weights, Step> &given) {
    const auto &of = given.w;
    const auto w = weight_only_factors(of, given.data);
    const auto images = given.is_convolution ? given.x_shape[0] : 1;
    const auto rows = product_of(given.x_shape) / images / of.inner; // of each image
    std::vector<float> y(static_cast<std::size_t>(images * rows * of.columns));
    for (std::int64_t image = 0; image < images; ++image)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t n = 0; n < of.columns; ++n) {
                const auto *const x = &given.x[static_cast<std::size_t>(
                        image * rows * of.inner + (given.is_convolution ? row : row * of.inner))];
                const auto sum = narrow_sum(
                        of, x, given.is_convolution ? rows : 1, &w[static_cast<std::size_t>(n * of.inner)], n);
                y[static_cast<std::size_t>(
                        image * rows * of.columns + (given.is_convolution ? n * rows + row : row * of.columns + n))] =
                        after(given.steps, sum, n, 1);
            }
    return y;
}

} // namespace dynquant::test::oracle
