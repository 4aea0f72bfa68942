#include "graph/layer/exact_product.hpp"

#include <algorithm>
#include <cmath>

#include "elements/load_store.hpp"
#include "layers/gemm/zero_points.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dynquant::graph::core {
namespace {

__extension__ using wide = __int128; // a product takes 64 bits, and there may be 2^44 of them

std::int64_t value_of(std::byte b, bool is_signed) {
    return is_signed ? static_cast<std::int8_t>(b) : static_cast<std::uint8_t>(b);
}

} // namespace

void multiply_exactly(const exact_product &p, float *y) {
    const auto count = p.rows * p.columns;
    parallel::for_each_part(count, parallel::parts_for_items(count, count * p.inner), [&](parallel::range part) {
        for (auto i = part.begin; i < part.end; ++i) {
            const auto row = i / p.columns, column = i % p.columns;
            const std::int64_t of_x = layers::zero_point_of(p.x_zero_points, row),
                               of_w = layers::zero_point_of(p.w_zero_points, column);
            const auto *const x = p.x + row * p.inner, *const w = p.w.first + column * p.w.of_filter;
            wide sum = 0;
            for (std::int64_t k = 0; k < p.inner; ++k)
                sum += static_cast<wide>(value_of(x[k], p.x_is_signed) - of_x)
                        * (value_of(w[k * p.w.of_channel], p.w_is_signed) - of_w);
            y[i] = static_cast<float>(sum);
        }
    });
}

void convolve_exactly(const exact_convolution &c, float *y) {
    const auto &window = c.window;
    const auto positions = *volume(window.y), taps = *volume(window.kernel), of_image = *volume(window.x);
    const auto of_group = c.channels / c.groups;
    const auto channel_stride = c.x_is_channels_last ? 1 : of_image,
               position_stride = c.x_is_channels_last ? c.channels : 1;
    const auto one_sum = [&](std::int64_t image, std::int64_t position, std::int64_t filter) {
        const std::int64_t of_x = layers::zero_point_of(c.x_zero_points, image),
                           of_w = layers::zero_point_of(c.w_zero_points, filter);
        const auto first_channel = filter / (c.filters / c.groups) * of_group;
        wide sum = 0;
        for (std::int64_t tap = 0; tap < taps; ++tap) {
            std::int64_t at = 0, stride = 1, of_position = position, of_tap = tap;
            bool is_inside = true;
            for (auto d = window.rank(); d-- > 0;) {
                const auto i = window.position(d, of_position % window.y[d], of_tap % window.kernel[d]);
                is_inside &= i >= 0 && i < window.x[d];
                at += i * stride;
                stride *= window.x[d];
                of_position /= window.y[d];
                of_tap /= window.kernel[d];
            }
            if (!is_inside || of_group == 0) continue; // without channels there may be no memory
            const auto *const x = c.x + image * of_image * c.channels + at * position_stride;
            const auto *const w = c.w.first + filter * c.w.of_filter + tap * c.w.of_tap;
            for (std::int64_t k = 0; k < of_group; ++k)
                sum += static_cast<wide>(value_of(x[(first_channel + k) * channel_stride], c.x_is_signed) - of_x)
                        * (value_of(w[k * c.w.of_channel], c.w_is_signed) - of_w);
        }
        return static_cast<float>(sum);
    };
    const auto count = c.images * positions * c.filters;
    parallel::for_each_part(
            count, parallel::parts_for_items(count, count * taps * of_group), [&](parallel::range part) {
                for (auto i = part.begin; i < part.end; ++i)
                    y[i] = one_sum(i / c.filters / positions, i / c.filters % positions, i % c.filters);
            });
}

void multiply_plainly(const layers::weight_only_weights &w, const float *x, std::int64_t rows, float *y) {
    // x is scaled, or each weight, in place of the sums of blocks.
    const bool is_grouped = w.column_group > 1;
    const bool is_by_row = !is_grouped && w.block == 1 && w.inner > 1;
    const auto block = std::max<std::int64_t>(is_by_row || is_grouped ? w.inner : std::min(w.block, w.inner), 1);
    parallel::for_each_part(rows, parallel::parts_for(rows * w.inner * w.columns, 0), [&](parallel::range part) {
        for (auto row = part.begin; row < part.end; ++row)
            for (std::int64_t n = 0; n < w.columns; ++n) {
                float sum = 0;
                for (std::int64_t begin = 0; begin < w.inner; begin += block) {
                    float acc = 0, scale = 1;
                    for (auto k = begin; k < std::min(begin + block, w.inner); ++k) {
                        const auto at =
                                static_cast<std::size_t>(k / std::max<std::int64_t>(w.block, 1) * w.scale_columns
                                        + (w.scale_columns == 1 ? 0 : n / w.column_group));
                        const auto v = load(w.type, w.data, w.is_transposed ? n * w.inner + k : k * w.columns + n);
                        scale = w.scales[at];
                        const auto difference = static_cast<float>(v - w.zero_points[at]);
                        const auto of_x = x[row * w.inner + k];
                        acc = std::fma(
                                is_grouped ? of_x * scale : of_x, is_by_row ? difference * scale : difference, acc);
                    }
                    if (is_by_row || is_grouped)
                        sum = acc;
                    else
                        sum = begin == 0 ? acc * scale : std::fma(acc, scale, sum);
                }
                y[row * w.columns + n] = sum;
            }
    });
}

} // namespace dynquant::graph::core
