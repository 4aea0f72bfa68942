#include "layers.hpp"

#include <cmath>
#include <initializer_list>

namespace dynquant::test::oracle {
namespace {

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

/// All of x, the index of the first element of a group's channels, and the strides.
struct group_of_x {
    const std::vector<std::uint32_t> &x;
    std::int64_t first, of_channel, of_position;

    std::uint32_t at(std::int64_t channel, std::int64_t position) const {
        return x[static_cast<std::size_t>(first + channel * of_channel + position * of_position)];
    }
};

/// One sum, modulo 2^32. Beyond x lies its zero point, of which nothing is left.
std::uint32_t sum_of(
        const group_of_x &x, const std::vector<std::int64_t> &met, const std::uint32_t *w, std::int64_t channels) {
    const auto taps = std::ssize(met);
    std::uint32_t sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap)
        if (const auto position = met[static_cast<std::size_t>(tap)]; position >= 0)
            for (std::int64_t c = 0; c < channels; ++c)
                sum += x.at(c, position) * w[c * taps + tap];
    return sum;
}

} // namespace

std::int64_t product_of(const dims &extents) {
    std::int64_t result = 1;
    for (const auto extent : extents)
        result *= extent;
    return result;
}

quantized quantize_rows(const std::vector<std::byte> &floats, std::int64_t rows) {
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

std::vector<std::uint32_t> differences(
        const std::vector<std::byte> &bytes, bool is_signed, const std::vector<std::int32_t> &zero_points) {
    std::vector<std::uint32_t> result;
    const auto of_each = zero_points.empty() ? 1 : bytes.size() / zero_points.size();
    for (std::size_t i = 0; i < bytes.size(); ++i)
        result.push_back(static_cast<std::uint32_t>(
                (is_signed ? std::to_integer<std::int8_t>(bytes[i]) : std::to_integer<std::uint8_t>(bytes[i]))
                - (zero_points.empty() ? 0 : zero_points[i / of_each])));
    return result;
}

std::vector<std::byte> by_filters(const std::vector<std::byte> &w, const geometry &g) {
    std::vector<std::byte> result;
    for (std::int64_t f = 0; f < g.filters; ++f)
        for (std::int64_t c = 0; c < g.channels; ++c)
            result.push_back(w[static_cast<std::size_t>(c * g.filters + f)]);
    return result;
}

std::vector<std::uint32_t> sums_of(const geometry &g, const std::vector<std::uint32_t> &x, bool is_x_channels_last,
        const std::vector<std::uint32_t> &w) {
    const auto of_image = g.x_positions() * g.channels * g.groups, of_filter = std::ssize(w) / g.filters;
    group_of_x of {x, 0, is_x_channels_last ? 1 : g.x_positions(), is_x_channels_last ? g.channels * g.groups : 1};
    std::vector<std::uint32_t> sums;
    for (std::int64_t image = 0; image < g.images; ++image)
        for (std::int64_t p = 0; p < g.y_positions(); ++p) {
            const auto met = met_by_taps(g, p);
            for (std::int64_t f = 0; f < g.filters; ++f) {
                const auto first_channel = f / (g.filters / g.groups) * g.channels;
                of.first = image * of_image + first_channel * of.of_channel;
                sums.push_back(sum_of(of, met, w.data() + f * of_filter, g.channels));
            }
        }
    return sums;
}

namespace {

float polynomial(std::initializer_list<float> terms, float at) {
    float sum = 0; // fma(0, at, term) is the first term
    for (const auto term : terms)
        sum = std::fma(sum, at, term);
    return sum;
}

/// 2^64 / (1 + exp(a))
float scaled_complement(float a) {
    // The product is exact in double, and rounded once.
    const auto n = static_cast<float>(std::nearbyint(double {a} * double {1.44269504F}));
    const float f = std::fma(-n, 1.42860677e-6F, std::fma(-n, 6.93145752e-1F, a));
    const float power = std::ldexp(1.0F, -static_cast<int>(n));
    const float g = polynomial({1.38144696e-3F, 8.36878037e-3F, 4.16683927e-2F, 1.66665196e-1F, 4.99999940e-1F, 1}, f);
    const float less_1 = std::fma(f, g, power), denominator = 1 + less_1;
    return std::ldexp(1.0F, 64 - static_cast<int>(n)) / denominator;
}

} // namespace

float error_function(float x) {
    const float a = std::isnan(x) ? x : std::min(std::abs(x), 3.925F), square = a * a;
    float y = 0;
    if (a > 0.921875F) {
        const float power = -std::fma(polynomial({1.72948930e-5F, -3.83208680e-4F, 3.88393435e-3F, -2.42545605e-2F,
                                                         1.06777847e-1F, 6.34846687e-1F, 1.28717512e-1F},
                                              a),
                a, a);
        // The product is exact in double, and rounded once.
        const auto n = static_cast<float>(std::nearbyint(double {power} * double {1.44269504F}));
        const float f = std::fma(n, -1.42860677e-6F, std::fma(n, -6.93145752e-1F, power));
        const float exp =
                polynomial({1.38319808e-3F, 8.37550033e-3F, 4.16689515e-2F, 1.66664466e-1F, 4.99999851e-1F, 1, 1}, f);
        y = 1 - std::ldexp(exp, static_cast<int>(n));
    } else {
        y = std::fma(polynomial({-5.99104969e-4F, 4.99339588e-3F, -2.67667342e-2F, 1.12818025e-1F, -3.76124859e-1F,
                                        1.28379151e-1F},
                             square),
                a, a);
    }
    return std::copysign(y, x);
}

float hyperbolic_tangent(float x) {
    const float a = std::isnan(x) ? x : std::min(std::abs(x), 10.0F), square = a * a;
    if (a > 0.625F) return std::copysign(std::fma(scaled_complement(a + a), -0x1p-63F, 1.0F), x);
    const float p =
            polynomial({-5.70498780e-3F, 2.06390880e-2F, -5.37397154e-2F, 1.33314401e-1F, -3.33332819e-1F}, square);
    const float factor = p * square;
    return std::copysign(std::fma(factor, a, a), x);
}

float logistic(float x) {
    if (std::isnan(x)) return x;
    const float complement = scaled_complement(std::min(std::abs(x), 104.0F));
    return x < 0 ? complement * 0x1p-64F : std::fma(complement, -0x1p-64F, 1.0F);
}

} // namespace dynquant::test::oracle
