#include "graph/layer/exact_product.hpp"

#include "layers/gemm/zero_points.hpp"
#include "parallel/parallel.hpp"

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

} // namespace dynquant::graph::core
