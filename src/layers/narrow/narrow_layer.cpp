#include "layers/narrow/narrow_layer.hpp"

#include <algorithm>

#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers {

narrow_layer::narrow_layer(const narrow_description &d, targets::features available)
    : label_(d.label)
    , is_convolution_(d.is_convolution)
    , x_rank_(d.x_rank)
    , product_(d.weights, available)
    , owned_(d.steps)
    , compute_(float_steps_for(available)) {
    for (const auto &s : owned_)
        steps_.push_back({s.what, s.a, s.b, s.table});
}

dims narrow_layer::y_of(const dims &x) const {
    if (x_rank_ != 0 && x.size() != x_rank_)
        throw error(status::invalid_shape,
                concat(label_, is_convolution_ ? ": X" : ": A", ": expected rank ", x_rank_, ", given shape ",
                        to_string(x)));
    auto y = x;
    if (is_convolution_) {
        if (x[1] != product_.inner())
            throw error(status::invalid_shape,
                    concat(label_, ": X: expected ", product_.inner(), " channels, given shape ", to_string(x)));
        y[1] = product_.columns();
        return y;
    }
    if (x.empty() || x.back() != product_.inner())
        throw error(status::invalid_shape,
                concat(label_, ": A: expected ", product_.inner(), " columns, as many as B has rows, given shape ",
                        to_string(x)));
    y.back() = product_.columns();
    return y;
}

void narrow_layer::run(const float *x, const dims &x_shape, float *y, memory &m) const {
    if (volume(y_of(x_shape)) == 0) return;
    if (is_convolution_) return run_images(x, x_shape, y, m);
    run_rows(x, *volume(dims(x_shape.begin(), x_shape.end() - 1)), y, m);
}

/// Of rows whose products stay in the second-level caches until the steps take them.
std::int64_t narrow_layer::block_of(std::int64_t rows) const {
    return std::min(rows, std::max<std::int64_t>(64 * 1024 / product_.columns() / 24, 1) * 24);
}

void narrow_layer::run_rows(const float *x, std::int64_t rows, float *y, memory &m) const {
    const auto inner = product_.inner(), columns = product_.columns();
    if (steps_.empty()) return product_.run({x, rows, inner}, y, columns, m.of_product);
    const auto block = block_of(rows);
    auto *const products = run_memory::grown(m.products, static_cast<std::size_t>(block * columns));
    for (std::int64_t begin = 0; begin < rows; begin += block) {
        const auto count = std::min(block, rows - begin);
        product_.run({x + begin * inner, count, inner}, products, columns, m.of_product);
        compute_steps(products, count, y + begin * columns, columns, 1);
    }
}

/// As rows of their positions, whose elements lie apart.
void narrow_layer::run_images(const float *x, const dims &x_shape, float *y, memory &m) const {
    const auto inner = product_.inner(), columns = product_.columns(), images = x_shape[0];
    const auto positions = *volume(dims(x_shape.begin() + 2, x_shape.end())),
               block = std::max(block_of(positions), std::min(positions, most_narrow_rows));
    auto *const products = run_memory::grown(m.products, static_cast<std::size_t>(block * columns));
    for (std::int64_t i = 0; i < images; ++i, x += inner * positions, y += columns * positions)
        for (std::int64_t begin = 0; begin < positions; begin += block) {
            const auto count = std::min(block, positions - begin);
            product_.run({x + begin, count, 1, positions}, products, columns, m.of_product);
            compute_steps(products, count, y + begin, 1, positions);
        }
}

void narrow_layer::compute_steps(const float *products, std::int64_t positions, float *y, std::int64_t position_stride,
        std::int64_t channel_stride) const {
    const auto channels = product_.columns();
    const rows_of_sums rows {products, true, channels, y, position_stride, channel_stride};
    parallel::for_each_part(positions, parallel::parts_for_items(positions, positions * channels),
            [&](parallel::range part) { compute_.rows({steps_}, rows, part); });
}

} // namespace dynquant::layers
