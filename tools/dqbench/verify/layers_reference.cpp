#include "layers_reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace dqbench::verify {
namespace {

namespace layers = dynquant::layers;
using dynquant::data_type, dynquant::dims;
using kind = layers::float_step::kind;

constexpr std::size_t spatial = 3; // dimensions; those that a convolution lacks are 1

/// A product is a convolution of one image, whose positions are the rows, by one tap.
struct geometry {
    std::int64_t images = 1, groups = 1, channels = 0, filters = 0; // channels: of a group
    std::array<std::int64_t, spatial> x {1, 1, 1}, y {1, 1, 1}, kernel {1, 1, 1}, strides {1, 1, 1},
            dilations {1, 1, 1}, pads {0, 0, 0}; // pads: at the beginning

    std::int64_t x_positions() const { return x[0] * x[1] * x[2]; }
    std::int64_t y_positions() const { return y[0] * y[1] * y[2]; }
};

std::int64_t product_of(const dims &extents) {
    std::int64_t result = 1;
    for (const auto extent : extents)
        result *= extent;
    return result;
}

/// ONNX's ConvInteger.
void set_dimension(const layers::window_attributes &given, std::size_t d, std::size_t rank, geometry &g) {
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
    g.y[at] = (g.x[at] + begin + end - covered) / g.strides[at] + 1;
}

geometry geometry_of(const layers::layer_description &d, const dims &x) {
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

/// An element of one, or of one for each.
template <typename T>
T at(const std::vector<T> &values, std::int64_t i) {
    return values[values.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

std::int32_t number(std::byte byte, bool is_signed) {
    return is_signed ? std::to_integer<std::int8_t>(byte) : std::to_integer<std::uint8_t>(byte);
}

struct quantized {
    std::vector<std::byte> bytes;
    std::vector<std::int32_t> zero_points;
    std::vector<float> scales;
};

/// ONNX's DynamicQuantizeLinear of each row. A quotient that is NaN gives the code 0, of the zero point 255; zeros have
/// the scale 1; see dynquant/scale_rule.hpp.
quantized quantize(const std::vector<std::byte> &floats, std::int64_t rows) {
    std::vector<float> x(floats.size() / sizeof(float));
    std::memcpy(x.data(), floats.data(), floats.size());
    quantized result;
    const auto length = x.size() / static_cast<std::size_t>(rows);
    const auto clamped = [](double code) { return std::isnan(code) ? 0 : std::clamp(code, 0.0, 255.0); };
    for (auto row = x.begin(); row != x.end(); row += static_cast<std::ptrdiff_t>(length)) {
        const auto end = row + static_cast<std::ptrdiff_t>(length);
        float low = 0, high = 0;
        for (auto i = row; i != end; ++i) {
            if (std::isnan(*i)) low = high = *i;
            if (*i < low) low = *i;
            if (*i > high) high = *i;
        }
        const float scale = high == low ? 1 : (high - low) / 255, steps = -(low / scale);
        const auto zero_point = std::isnan(steps) ? 255 : clamped(std::nearbyint(steps));
        for (auto i = row; i != end; ++i) {
            const float quotient = *i / scale;
            result.bytes.push_back(
                    static_cast<std::byte>(static_cast<int>(clamped(std::nearbyint(double {quotient}) + zero_point))));
        }
        result.scales.push_back(scale);
        result.zero_points.push_back(static_cast<std::int32_t>(zero_point));
    }
    return result;
}

/// Less the zero points, each of as many consecutive elements.
std::vector<std::uint32_t> differences(
        const std::vector<std::byte> &bytes, bool is_signed, const std::vector<std::int32_t> &zero_points) {
    std::vector<std::uint32_t> result;
    const auto of_each = zero_points.empty() ? 1 : bytes.size() / zero_points.size();
    for (std::size_t i = 0; i < bytes.size(); ++i)
        result.push_back(static_cast<std::uint32_t>(
                number(bytes[i], is_signed) - (zero_points.empty() ? 0 : zero_points[i / of_each])));
    return result;
}

/// Filter by filter, also of a product, whose weights are [channels, filters].
std::vector<std::uint32_t> weights_of(const layer_inputs &given, const geometry &g) {
    auto bytes = given.w;
    if (!given.d.is_convolution)
        for (std::int64_t f = 0; f < g.filters; ++f)
            for (std::int64_t c = 0; c < g.channels; ++c)
                bytes[static_cast<std::size_t>(f * g.channels + c)] =
                        given.w[static_cast<std::size_t>(c * g.filters + f)];
    return differences(bytes, given.d.w_is_signed, given.d.w_zero_points);
}

/// Which position of x each tap meets; -1 beyond x.
std::vector<std::int64_t> met_by_taps(const geometry &g, std::int64_t position) {
    std::vector<std::int64_t> result;
    for (std::int64_t tap = 0; tap < g.kernel[0] * g.kernel[1] * g.kernel[2]; ++tap) {
        auto y_rest = position, tap_rest = tap;
        std::int64_t met = 0, stride = 1;
        for (std::size_t d = spatial; d-- > 0;) {
            const auto i = y_rest % g.y[d] * g.strides[d] - g.pads[d] + tap_rest % g.kernel[d] * g.dilations[d];
            met = met < 0 || i < 0 || i >= g.x[d] ? -1 : met + i * stride;
            stride *= g.x[d];
            y_rest /= g.y[d];
            tap_rest /= g.kernel[d];
        }
        result.push_back(met);
    }
    return result;
}

/// The first element of a group's channels, and the strides.
struct group_of_x {
    const std::uint32_t *first;
    std::int64_t of_channel, of_position;
};

/// One sum, modulo 2^32. Beyond x lies its zero point, of which nothing is left.
std::uint32_t sum_of(
        const group_of_x &x, const std::vector<std::int64_t> &met, const std::uint32_t *w, std::int64_t channels) {
    const auto taps = std::ssize(met);
    std::uint32_t sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap)
        if (const auto position = met[static_cast<std::size_t>(tap)]; position >= 0)
            for (std::int64_t c = 0; c < channels; ++c)
                sum += x.first[c * x.of_channel + position * x.of_position] * w[c * taps + tap];
    return sum;
}

/// The bits of the nearest float16, ties to even.
std::size_t float16_bits(float x) {
    const std::size_t sign = std::signbit(x) ? 0x8000 : 0;
    if (std::isnan(x)) return sign | 0x7e00;
    if (std::isinf(x)) return sign | 0x7c00;
    const int exponent = x == 0 ? -14 : std::max(std::ilogb(x), -14);
    const auto units = std::nearbyint(std::ldexp(std::abs(double {x}), 10 - exponent));
    const auto bits = (std::int64_t {exponent} + 14) * 1024 + static_cast<std::int64_t>(units); // carries
    return sign | static_cast<std::size_t>(std::min<std::int64_t>(bits, 0x7c00));
}

/// x_scale: by which the first step's factors are multiplied. Null: none.
float after(const std::vector<layers::step> &steps, float x, std::int64_t channel, const float *x_scale) {
    float saved = 0;
    for (const auto &s : steps) {
        const float a = s.a.empty() ? 0 : at(s.a, channel), b = s.b.empty() ? 0 : s.b[0];
        switch (s.what) {
            case kind::scale:
            case kind::multiply: {
                const float factor = x_scale && &s == steps.data() ? *x_scale * a : a;
                x = x * factor;
                break;
            }
            case kind::divide: x = x / a; break;
            case kind::add: x = x + a; break;
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
            case kind::multiply_saved: x = x * saved; break;
            case kind::look_up: x = s.table[float16_bits(x)]; break;
        }
    }
    return x;
}

/// A sum with its bias becomes an element of y.
void finish(const layers::layer_description &d, std::int32_t sum, std::int64_t channel, float x_scale, std::byte *y) {
    if (d.result == layers::step_result::s32) {
        std::memcpy(y, &sum, sizeof sum);
        return;
    }
    const float x = after(d.steps, static_cast<float>(sum), channel, d.has_x_scale ? &x_scale : nullptr);
    if (d.result == layers::step_result::f32) {
        std::memcpy(y, &x, sizeof x);
        return;
    }
    *y = static_cast<std::byte>(static_cast<int>(std::nearbyint(x)));
    if (d.table) *y = static_cast<std::byte>((*d.table)[std::to_integer<std::size_t>(*y)]);
}

/// The number of a code of 8 bits with so many fraction bits.
float number_of_float8(std::uint8_t code, int fraction_bits, int bias) {
    const int unit = 1 << fraction_bits, fraction = code & (unit - 1), exponent = (code & 0x7f) >> fraction_bits;
    const auto magnitude = exponent == 0
            ? std::ldexp(static_cast<float>(fraction), 1 - bias - fraction_bits)
            : std::ldexp(static_cast<float>(unit + fraction), exponent - bias - fraction_bits);
    return code >= 128 ? -magnitude : magnitude;
}

float number_of_code(data_type type, std::uint8_t code) {
    switch (type) {
        case data_type::s8: return static_cast<std::int8_t>(code);
        case data_type::u8:
        case data_type::u4: return code;
        case data_type::s4: return static_cast<float>(code < 8 ? code : code - 16);
        case data_type::f8_e4m3: return (code & 0x7f) == 0x7f ? NAN : number_of_float8(code, 3, 7);
        default: break; // f8_e5m2
    }
    if ((code & 0x7f) > 0x7c) return NAN;
    if ((code & 0x7f) == 0x7c) return code >= 128 ? -INFINITY : INFINITY;
    return number_of_float8(code, 2, 15);
}

/// A product as narrow_product.hpp defines it, of a column's weights less their zero points.
float narrow_sum(const narrow_inputs &given, const float *x, std::int64_t x_stride, const float *w, std::int64_t n) {
    const auto &of = given.w;
    const auto scale = [&](std::int64_t k) {
        return of.scales[static_cast<std::size_t>(k / of.block * of.scale_columns + (of.scale_columns == 1 ? 0 : n))];
    };
    float sum = 0;
    if (of.block == 1 && of.inner > 1) {
        for (std::int64_t k = 0; k < of.inner; ++k) {
            const float weight = w[k] * scale(k);
            sum = std::fma(x[k * x_stride], weight, sum);
        }
        return sum;
    }
    for (std::int64_t begin = 0; begin < of.inner; begin += of.block) {
        float acc = 0;
        for (auto k = begin; k < std::min(begin + of.block, of.inner); ++k)
            acc = std::fma(x[k * x_stride], w[k], acc);
        sum = begin == 0 ? acc * scale(begin) : std::fma(acc, scale(begin), sum);
    }
    return sum;
}

/// Column by column.
std::vector<float> narrow_differences(const narrow_inputs &given) {
    const auto &of = given.w;
    const bool is_nibble = of.type == data_type::s4 || of.type == data_type::u4;
    std::vector<float> result;
    for (std::int64_t n = 0; n < of.columns; ++n)
        for (std::int64_t k = 0; k < of.inner; ++k) {
            const auto i = static_cast<std::size_t>(of.is_transposed ? n * of.inner + k : k * of.columns + n);
            const auto byte = std::to_integer<std::uint8_t>(given.data[is_nibble ? i / 2 : i]);
            const auto code = is_nibble ? byte >> 4 * (i % 2) & 15 : byte;
            const auto parameter = k / of.block * of.scale_columns + (of.scale_columns == 1 ? 0 : n);
            result.push_back(number_of_code(of.type, static_cast<std::uint8_t>(code))
                    - (of.zero_points.empty()
                                    ? 0
                                    : static_cast<float>(of.zero_points[static_cast<std::size_t>(parameter)])));
        }
    return result;
}

} // namespace

dims y_shape(const layers::layer_description &d, const dims &x) {
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

std::vector<std::byte> reference_result(const layer_inputs &given) {
    const auto &d = given.d;
    const auto g = geometry_of(d, given.x_shape);
    const auto positions = g.y_positions(), of_image = g.x_positions() * g.channels * g.groups;
    quantized of_x {given.x, given.x_zero_points, given.x_scales};
    if (d.prepare) of_x = quantize(given.x, !d.scales_by_row ? 1 : d.is_convolution ? g.images : positions);
    if (d.x_zero_point) of_x.zero_points = {*d.x_zero_point};
    const auto x = differences(of_x.bytes, d.x_is_signed && !d.prepare, of_x.zero_points), w = weights_of(given, g);
    const bool is_x_last = !d.is_convolution || d.x_is_channels_last,
               is_y_last = !d.is_convolution || d.y_is_channels_last;
    group_of_x of {nullptr, is_x_last ? 1 : g.x_positions(), is_x_last ? g.channels * g.groups : 1};
    const auto of_filter = std::ssize(w) / g.filters;
    const std::size_t element = d.result == layers::step_result::bytes ? 1 : 4;
    std::vector<std::byte> y(static_cast<std::size_t>(g.images * positions * g.filters) * element);
    for (std::int64_t image = 0; image < g.images; ++image)
        for (std::int64_t p = 0; p < positions; ++p) {
            const auto met = met_by_taps(g, p);
            for (std::int64_t f = 0; f < g.filters; ++f) {
                const auto first_channel = f / (g.filters / g.groups) * g.channels;
                of.first = x.data() + image * of_image + first_channel * of.of_channel;
                auto sum = sum_of(of, met, w.data() + f * of_filter, g.channels);
                if (!d.bias.empty()) sum += static_cast<std::uint32_t>(at(d.bias, f));
                const auto i =
                        is_y_last ? (image * positions + p) * g.filters + f : (image * g.filters + f) * positions + p;
                const float scale = d.has_x_scale ? at(of_x.scales, d.is_convolution ? image : p) : 0;
                finish(d, static_cast<std::int32_t>(sum), f, scale, &y[static_cast<std::size_t>(i) * element]);
            }
        }
    return y;
}

std::vector<float> reference_result(const narrow_inputs &given) {
    const auto &of = given.w;
    const auto w = narrow_differences(given);
    const auto images = given.is_convolution ? given.x_shape[0] : 1;
    const auto rows = product_of(given.x_shape) / images / of.inner; // of each image
    std::vector<float> y(static_cast<std::size_t>(images * rows * of.columns));
    for (std::int64_t image = 0; image < images; ++image)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t n = 0; n < of.columns; ++n) {
                const auto *const x = &given.x[static_cast<std::size_t>(
                        image * rows * of.inner + (given.is_convolution ? row : row * of.inner))];
                const auto sum = narrow_sum(
                        given, x, given.is_convolution ? rows : 1, &w[static_cast<std::size_t>(n * of.inner)], n);
                y[static_cast<std::size_t>(
                        image * rows * of.columns + (given.is_convolution ? n * rows + row : row * of.columns + n))] =
                        after(given.steps, sum, n, nullptr);
            }
    return y;
}

} // namespace dqbench::verify
