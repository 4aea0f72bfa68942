#include "layers/layer/weight_only_layer.hpp"

#include <algorithm>

#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers {

weight_only_layer::weight_only_layer(
        const weight_only_description &d, targets::features available, weight_storage storage)
    : label_(d.label)
    , is_convolution_(d.is_convolution)
    , x_rank_(d.x_rank)
    , product_(d.weights, available, storage)
    , owned_(d.post_ops)
    , epilogue_(*targets::pick(available, epilogue_table)) {
    for (const auto &s : owned_)
        post_ops_.push_back({s.what, s.a, s.b, s.table});
}

dims weight_only_layer::y_of(const dims &x) const {
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

void weight_only_layer::run(const float *x, const dims &x_shape, float *y, memory &m) const {
    if (volume(y_of(x_shape)) == 0) return;
    const auto rows = *volume(
            is_convolution_ ? dims(x_shape.begin() + 2, x_shape.end()) : dims(x_shape.begin(), x_shape.end() - 1));
    run_images(x, is_convolution_ ? x_shape[0] : 1, rows, y, m);
}

void weight_only_layer::run_rows(
        const float *x, std::int64_t rows, float *y, memory &m, const float *tensor, const std::byte *data) const {
    if (rows > 0 && product_.columns() > 0) run_images(x, 1, rows, y, m, tensor, data);
}

/// Computes blocks of rows whose products stay in the second-level caches until the post-ops take them. The rows of a
/// convolution are the positions of an image, whose elements lie apart.
void weight_only_layer::run_images(const float *x, std::int64_t images, std::int64_t rows, float *y, memory &m,
        const float *tensor, const std::byte *data) const {
    const auto inner = product_.inner(), columns = product_.columns();
    if (!is_convolution_ && post_ops_.empty()) return product_.run({x, rows, inner}, y, columns, m.of_product, data);
    auto block = std::min(rows, std::max<std::int64_t>(64 * 1024 / columns / 24, 1) * 24);
    if (is_convolution_) block = std::max(block, std::min(rows, max_weight_only_rows));
    auto *const products = workspace::ensure_size(m.products, static_cast<std::size_t>(block * columns));
    for (std::int64_t i = 0; i < images; ++i, x += inner * rows, y += columns * rows)
        for (std::int64_t begin = 0; begin < rows; begin += block) {
            const auto count = std::min(block, rows - begin);
            const auto of_block = is_convolution_ ? float_rows {x + begin, count, 1, rows}
                                                  : float_rows {x + begin * inner, count, inner};
            product_.run(of_block, products, columns, m.of_product, data);
            const auto to = is_convolution_ ? rows_of_sums {products, true, columns, y + begin, 1, rows}
                                            : rows_of_sums {products, true, columns, y + begin * columns, columns, 1,
                                                    tensor ? tensor + begin * columns : nullptr};
            parallel::for_each_part(count, parallel::parts_for_items(count, count * columns),
                    [&](parallel::range part) { epilogue_.rows({post_ops_}, to, part); });
        }
}

} // namespace dynquant::layers
