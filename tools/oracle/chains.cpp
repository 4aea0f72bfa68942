#include "chains.hpp"

#include <algorithm>
#include <cmath>

#include "layers.hpp"

namespace dynquant::test::oracle {
namespace {

constexpr double unit = 0x1p-24; // the error of a rounding to f32, relative

std::vector<std::int64_t> index_at(std::int64_t element, const dims &extents) {
    std::vector<std::int64_t> result(extents.size());
    for (std::size_t d = extents.size(); d-- > 0; element /= extents[d])
        result[d] = element % extents[d];
    return result;
}

/// The element of an operand that meets an element of a result.
std::int64_t broadcast_from(std::int64_t element, const dims &result, const dims &operand) {
    const auto index = index_at(element, result);
    std::int64_t at = 0;
    for (std::size_t d = 0; d < operand.size(); ++d) {
        const auto i = index[result.size() - operand.size() + d];
        at = at * operand[d] + (operand[d] == 1 ? 0 : i);
    }
    return at;
}

/// The matrices of one side, row-major, less zero points, and the scale of each row of x or column of w.
struct matrices {
    dims batch;
    std::int64_t rows, columns;
    std::vector<std::int64_t> differences;
    std::vector<float> scales; // of element (matrix, row or column)
};

matrices matrices_of(const codes &c, const along_axis &p, bool is_transposed, bool by_row) {
    const auto rank = c.extents.size();
    matrices m {{c.extents.begin(), c.extents.end() - 2}, c.extents[rank - 2], c.extents[rank - 1], {}, {}};
    if (is_transposed) std::swap(m.rows, m.columns);
    const auto size = m.rows * m.columns;
    m.differences.resize(c.values.size());
    m.scales.resize(static_cast<std::size_t>(product_of(m.batch) * (by_row ? m.rows : m.columns)), p.scales.front());
    for (std::int64_t i = 0; i < std::ssize(c.values); ++i) {
        const auto matrix = i / size, row = i % size / c.extents[rank - 1], column = i % c.extents[rank - 1];
        const auto [r, k] = is_transposed ? std::pair {column, row} : std::pair {row, column};
        m.differences[static_cast<std::size_t>(matrix * size + r * m.columns + k)] =
                c.values[static_cast<std::size_t>(i)] - p.zero_point_of(i, c.extents);
        m.scales[static_cast<std::size_t>(by_row ? matrix * m.rows + r : matrix * m.columns + k)] =
                p.scales[p.index_of(i, c.extents)];
    }
    return m;
}

/// Each term has at most two roundings of its factors, that of the product and those of the sums; here are three more.
/// 1.01: the products of errors, as there are far fewer than 2^24 / 100 roundings. size: the sum of |x| |w|.
double bound_of_product(std::int64_t terms, float scale, std::int64_t size) {
    return 1.01 * unit * static_cast<double>(terms + 8) * std::abs(static_cast<double>(scale))
            * static_cast<double>(size);
}

float value_of(function f, float v, float a, float b) {
    switch (f) {
        case function::relu: return v < 0 ? 0.0F : v;
        case function::clamp: return v < a ? a : v > b ? b : v;
        case function::leaky_relu: return v < 0 ? v * a : v;
        case function::hard_swish: {
            const float h = v * (1.0F / 6) + 0.5F;
            return v * (h < 0 ? 0.0F : h > 1 ? 1.0F : h);
        }
        case function::hard_sigmoid: break;
    }
    const float h = v * a + b;
    return h < 0 ? 0.0F : h > 1 ? 1.0F : h;
}

/// How far the function of what is `bound` away from v may be from the function of v.
double bound_of(function f, float v, double bound, float a, float b) {
    const double size = std::abs(static_cast<double>(v)) + bound;
    switch (f) {
        case function::relu:
        case function::clamp: return bound;
        case function::leaky_relu: return std::max(1.0, std::abs(static_cast<double>(a))) * (bound + 2 * unit * size);
        // The slope is at most 1.5. h has three roundings, of numbers of at most size / 6 + 0.5, the product one.
        case function::hard_swish: return 1.5 * bound + size * 4 * unit * (size / 6 + 1.5);
        case function::hard_sigmoid: break;
    }
    return std::abs(static_cast<double>(a)) * (bound + 4 * unit * size) + 4 * unit * std::abs(static_cast<double>(b));
}

} // namespace

std::size_t along_axis::index_of(std::int64_t element, const dims &extents) const {
    if (!groups.empty()) {
        const auto index = index_at(element, extents);
        std::int64_t at = 0;
        for (std::size_t d = 0; d < extents.size(); ++d)
            at = at * ((extents[d] + groups[d] - 1) / groups[d]) + index[d] / groups[d];
        return static_cast<std::size_t>(at);
    }
    if (axis < 0) return 0;
    const auto inside = product_of(dims(extents.begin() + axis + 1, extents.end()));
    return static_cast<std::size_t>(element / inside % extents[static_cast<std::size_t>(axis)]);
}

std::int64_t along_axis::zero_point_of(std::int64_t element, const dims &extents) const {
    return zero_points.empty() ? 0 : zero_points[index_of(element, extents)];
}

reals exact(const dims &extents, std::vector<float> values) {
    std::vector<double> bounds(values.size());
    return {extents, std::move(values), std::move(bounds)};
}

reals dequantize(const codes &of, const along_axis &p) {
    reals result {of.extents, {}, {}};
    for (std::int64_t i = 0; i < std::ssize(of.values); ++i) {
        const auto difference = of.values[static_cast<std::size_t>(i)] - p.zero_point_of(i, of.extents);
        result.values.push_back(static_cast<float>(difference) * p.scales[p.index_of(i, of.extents)]);
        result.bounds.push_back(unit * std::abs(static_cast<double>(result.values.back())));
    }
    return result;
}

reals product(const codes &x, const along_axis &of_x, bool transposes_x, const codes &w, const along_axis &of_w,
        bool transposes_w) {
    const auto a = matrices_of(x, of_x, transposes_x, true), b = matrices_of(w, of_w, transposes_w, false);
    const auto batch = broadcast(a.batch, b.batch);
    reals y {batch, {}, {}};
    y.extents.insert(y.extents.end(), {a.rows, b.columns});
    std::vector<std::int64_t> sums(static_cast<std::size_t>(b.columns)), sizes(sums.size());
    for (std::int64_t m = 0; m < product_of(batch); ++m) {
        const auto of_a = broadcast_from(m, batch, a.batch), of_b = broadcast_from(m, batch, b.batch);
        for (std::int64_t row = 0; row < a.rows; ++row) {
            std::ranges::fill(sums, 0);
            std::ranges::fill(sizes, 0);
            for (std::int64_t k = 0; k < a.columns; ++k) {
                const auto left = a.differences[static_cast<std::size_t>((of_a * a.rows + row) * a.columns + k)];
                const auto *const right = &b.differences[static_cast<std::size_t>((of_b * b.rows + k) * b.columns)];
                for (std::size_t c = 0; c < sums.size(); ++c) {
                    sums[c] += left * right[c];
                    sizes[c] += std::abs(left * right[c]);
                }
            }
            for (std::size_t c = 0; c < sums.size(); ++c) {
                const float scale = a.scales[static_cast<std::size_t>(of_a * a.rows + row)]
                        * b.scales[static_cast<std::size_t>(of_b * b.columns) + c];
                y.values.push_back(static_cast<float>(sums[c]) * scale);
                y.bounds.push_back(bound_of_product(a.columns, scale, sizes[c]));
            }
        }
    }
    return y;
}

namespace {

/// ONNX's order of dims: images, channels, space; filters, channels of a group, taps.
dims in_onnx_order(dims data, bool is_ncx) {
    if (!is_ncx) std::rotate(data.begin() + 1, data.end() - 1, data.end());
    return data;
}
dims filters_first(dims weights, bool is_oix) {
    if (is_oix) return weights;
    std::rotate(weights.begin(), weights.end() - 2, weights.end());
    std::swap(weights[0], weights[1]);
    return weights;
}

geometry geometry_of(const convolution_attributes &a, const dims &x, const dims &w) {
    const struct {
        dims weights_shape;
        std::int64_t groups;
        const convolution_attributes &window;
        bool is_convolution = true;
    } layer {filters_first(w, a.is_oix), a.groups, a};
    return oracle::geometry_of(layer, in_onnx_order(x, a.is_ncx));
}

} // namespace

bool fits(const convolution_attributes &a, const dims &x, const dims &w) {
    if (x.size() != w.size() || x.size() < 3 || x.size() > 2 + spatial) return false;
    const auto g = geometry_of(a, x, w);
    return std::ranges::all_of(g.y, [](std::int64_t extent) { return extent > 0; })
            && in_onnx_order(x, a.is_ncx)[1] == g.channels * g.groups && g.filters % g.groups == 0;
}

dims extents_of(const convolution_attributes &a, const dims &x, const dims &w) {
    const auto g = geometry_of(a, x, w);
    dims result {g.images};
    if (a.is_ncx) result.push_back(g.filters);
    result.insert(result.end(), g.y.end() - (std::ssize(x) - 2), g.y.end());
    if (!a.is_ncx) result.push_back(g.filters);
    return result;
}

reals convolution(const convolution_attributes &a, const codes &x, const along_axis &of_x, const codes &w,
        const along_axis &of_w) {
    const auto g = geometry_of(a, x.extents, w.extents);
    const auto taps = g.kernel[0] * g.kernel[1] * g.kernel[2], positions = g.y_positions();
    // Element (outer, channel, inner) where channels are first, (outer, inner, channel) where they are last.
    const auto element = [](bool is_first, std::int64_t outer, std::int64_t channel, std::int64_t channels,
                                 std::int64_t inner, std::int64_t inners) {
        return is_first ? (outer * channels + channel) * inners + inner : (outer * inners + inner) * channels + channel;
    };
    const auto of_weight = [&](std::int64_t filter, std::int64_t channel, std::int64_t tap) {
        return a.is_oix ? (filter * g.channels + channel) * taps + tap
                        : (tap * g.channels + channel) * g.filters + filter;
    };
    std::vector<std::int64_t> data(x.values.size()), weights(w.values.size());
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = x.values[i] - of_x.zero_point_of(static_cast<std::int64_t>(i), x.extents);
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = w.values[i] - of_w.zero_point_of(static_cast<std::int64_t>(i), w.extents);
    reals y {extents_of(a, x.extents, w.extents), {}, {}};
    y.values.resize(static_cast<std::size_t>(g.images * g.filters * positions));
    y.bounds.resize(y.values.size());
    std::vector<std::int64_t> inside; // tap, position in x
    for (std::int64_t position = 0; position < positions; ++position) {
        inside.clear();
        for (std::int64_t tap = 0; tap < taps; ++tap) {
            std::int64_t at = 0, of_y = position, of_tap = tap, stride = 1;
            bool is_inside = true;
            for (std::size_t d = spatial; d-- > 0; of_y /= g.y[d], of_tap /= g.kernel[d], stride *= g.x[d]) {
                const auto i = of_y % g.y[d] * g.strides[d] - g.pads[d] + of_tap % g.kernel[d] * g.dilations[d];
                is_inside &= i >= 0 && i < g.x[d];
                at += i * stride;
            }
            if (is_inside) inside.insert(inside.end(), {tap, at});
        }
        for (std::int64_t image = 0; image < g.images; ++image)
            for (std::int64_t filter = 0; filter < g.filters; ++filter) {
                const auto first = filter / (g.filters / g.groups) * g.channels;
                std::int64_t sum = 0, size = 0;
                for (std::size_t i = 0; i < inside.size(); i += 2)
                    for (std::int64_t c = 0; c < g.channels; ++c) {
                        const auto left = data[static_cast<std::size_t>(element(
                                a.is_ncx, image, first + c, g.channels * g.groups, inside[i + 1], g.x_positions()))];
                        const auto right = weights[static_cast<std::size_t>(of_weight(filter, c, inside[i]))];
                        sum += left * right;
                        size += std::abs(left * right);
                    }
                const float scale =
                        at(of_x.scales, of_x.axis < 0 ? 0 : image) * at(of_w.scales, of_w.axis < 0 ? 0 : filter);
                const auto to =
                        static_cast<std::size_t>(element(a.is_ncx, image, filter, g.filters, position, positions));
                y.values[to] = static_cast<float>(sum) * scale;
                y.bounds[to] = bound_of_product(g.channels * taps, scale, size);
            }
    }
    return y;
}

reals product(const reals &x, bool transposes_x, const codes &w, const along_axis &of_w, bool transposes_w) {
    const auto batch_of = [](const dims &extents) { return dims(extents.begin(), extents.end() - 2); };
    const auto rows_of = [](const dims &extents, bool is_transposed) {
        return is_transposed ? std::pair {extents.end()[-1], extents.end()[-2]}
                             : std::pair {extents.end()[-2], extents.end()[-1]};
    };
    const auto [rows, inner] = rows_of(x.extents, transposes_x);
    const auto columns = rows_of(w.extents, transposes_w).second;
    const auto batch = broadcast(batch_of(x.extents), batch_of(w.extents));
    std::vector<double> weights;
    for (std::int64_t i = 0; i < std::ssize(w.values); ++i)
        weights.push_back(static_cast<double>(w.values[static_cast<std::size_t>(i)] - of_w.zero_point_of(i, w.extents))
                * static_cast<double>(of_w.scales[of_w.index_of(i, w.extents)]));
    reals y {batch, {}, {}};
    y.extents.insert(y.extents.end(), {rows, columns});
    std::vector<double> sums(static_cast<std::size_t>(columns)), sizes(sums.size());
    for (std::int64_t m = 0; m < product_of(batch); ++m) {
        const auto of_x = broadcast_from(m, batch, batch_of(x.extents)) * rows * inner,
                   first_w = broadcast_from(m, batch, batch_of(w.extents)) * inner * columns;
        for (std::int64_t row = 0; row < rows; ++row) {
            std::ranges::fill(sums, 0);
            std::ranges::fill(sizes, 0);
            for (std::int64_t k = 0; k < inner; ++k) {
                const double left =
                        x.values[static_cast<std::size_t>(of_x + (transposes_x ? k * rows + row : row * inner + k))];
                for (std::int64_t c = 0; c < columns; ++c) {
                    const auto term = left
                            * weights[static_cast<std::size_t>(
                                    first_w + (transposes_w ? c * inner + k : k * columns + c))];
                    sums[static_cast<std::size_t>(c)] += term;
                    sizes[static_cast<std::size_t>(c)] += std::abs(term);
                }
            }
            for (std::size_t c = 0; c < sums.size(); ++c) {
                y.values.push_back(static_cast<float>(sums[c]));
                y.bounds.push_back(1.01 * unit * static_cast<double>(inner + 8) * sizes[c]);
            }
        }
    }
    return y;
}

codes quantize(const reals &of, const along_axis &p, std::int64_t lowest, std::int64_t highest) {
    codes result {of.extents, {}, {}, {}};
    const auto clamped = [&](double v) {
        if (std::isnan(v)) return lowest; // as the numerics contract has it
        const auto low = static_cast<double>(lowest), high = static_cast<double>(highest);
        return static_cast<std::int64_t>(std::nearbyint(v < low ? low : v > high ? high : v));
    };
    for (std::int64_t i = 0; i < std::ssize(of.values); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const float scale = p.scales[p.index_of(i, of.extents)];
        const auto zp = static_cast<float>(p.zero_point_of(i, of.extents));
        const float quotient = of.values[at] / scale, sum = p.zero_points.empty() ? quotient : quotient + zp;
        result.values.push_back(clamped(static_cast<double>(sum)));
        // Two roundings where the reciprocal is, one here; and those of the two sums.
        const double error = of.bounds[at] / std::abs(static_cast<double>(scale))
                + 4 * unit * std::abs(static_cast<double>(quotient)) + 2 * unit * std::abs(static_cast<double>(sum));
        result.least.push_back(clamped(static_cast<double>(sum) - error));
        result.most.push_back(clamped(static_cast<double>(sum) + error));
    }
    return result;
}

reals apply(function f, reals of, float a, float b) {
    for (std::size_t i = 0; i < of.values.size(); ++i) {
        of.bounds[i] = bound_of(f, of.values[i], of.bounds[i], a, b);
        of.values[i] = value_of(f, of.values[i], a, b);
    }
    return of;
}

reals apply(binary f, const reals &a, const reals &b) {
    reals result {broadcast(a.extents, b.extents), {}, {}};
    for (std::int64_t i = 0; i < product_of(result.extents); ++i) {
        const auto of_a = static_cast<std::size_t>(broadcast_from(i, result.extents, a.extents));
        const auto of_b = static_cast<std::size_t>(broadcast_from(i, result.extents, b.extents));
        const float left = a.values[of_a], right = b.values[of_b];
        const double from_left = a.bounds[of_a], from_right = b.bounds[of_b];
        const double size_of_left = std::abs(static_cast<double>(left)),
                     size_of_right = std::abs(static_cast<double>(right));
        float value = 0;
        double bound = 0;
        switch (f) {
            case binary::add:
            case binary::subtract:
                value = f == binary::add ? left + right : left - right;
                bound = from_left + from_right;
                break;
            case binary::multiply:
                value = left * right;
                bound = from_left * size_of_right + from_right * size_of_left + from_left * from_right;
                break;
            case binary::divide:
                value = left / right;
                bound = size_of_right > from_right
                        ? (from_left + size_of_left / size_of_right * from_right) / (size_of_right - from_right)
                        : INFINITY;
                break;
            case binary::prelu:
                value = left < 0 ? left * right : left;
                bound = std::max(1.0, size_of_right) * from_left + from_right * size_of_left;
                break;
        }
        result.values.push_back(value);
        result.bounds.push_back(bound + 4 * unit * (std::abs(static_cast<double>(value)) + bound));
    }
    return result;
}

dims broadcast(const dims &a, const dims &b) {
    dims result;
    for (auto i = std::max(a.size(), b.size()); i > 0; --i) {
        const auto left = i <= a.size() ? a[a.size() - i] : 1, right = i <= b.size() ? b[b.size() - i] : 1;
        result.push_back(left == 1 ? right : left);
    }
    return result;
}

} // namespace dynquant::test::oracle
