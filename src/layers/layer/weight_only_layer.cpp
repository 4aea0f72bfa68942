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
    , normalization_(d.normalization)
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

void weight_only_layer::run(const layer_arguments &given, const dims &x_shape, memory &m) const {
    if (volume(y_of(x_shape)) == 0) return;
    const auto rows = *volume(
            is_convolution_ ? dims(x_shape.begin() + 2, x_shape.end()) : dims(x_shape.begin(), x_shape.end() - 1));
    run_images(given, is_convolution_ ? x_shape[0] : 1, rows, m);
}

void weight_only_layer::run_rows(
        const layer_arguments &given, std::int64_t rows, memory &m, const std::byte *weights) const {
    if (rows > 0 && product_.columns() > 0) run_images(given, 1, rows, m, weights);
}

/// Computes blocks of rows whose products stay in the second-level caches until the post-ops take them. The rows of a
/// convolution are the positions of an image, whose elements lie apart.
void weight_only_layer::run_images(const layer_arguments &given, std::int64_t images, std::int64_t rows, memory &m,
        const std::byte *weights) const {
    const auto inner = product_.inner(), columns = product_.columns();
    const auto *x = static_cast<const float *>(given.x);
    auto *const y = static_cast<float *>(given.y), *const to = given.before ? given.before : y;
    if (!is_convolution_ && post_ops_.empty() && !normalization_)
        return product_.run({x, rows, inner}, y, columns, m.of_product, weights);
    auto block = std::min(rows, std::max<std::int64_t>(64 * 1024 / columns / 24, 1) * 24);
    if (is_convolution_) block = std::max(block, std::min(rows, max_weight_only_rows));
    auto *const products = workspace::ensure_size(m.products, static_cast<std::size_t>(block * columns));
    for (std::int64_t i = 0; i < images; ++i, x += inner * rows)
        for (std::int64_t begin = 0; begin < rows; begin += block) {
            const auto count = std::min(block, rows - begin);
            const auto of_block = is_convolution_ ? float_rows {x + begin, count, 1, rows}
                                                  : float_rows {x + begin * inner, count, inner};
            product_.run(of_block, products, columns, m.of_product, weights);
            const auto at = i * columns * rows + begin * (is_convolution_ ? 1 : columns);
            const rows_of_sums sums {products, true, columns, to + at, is_convolution_ ? 1 : columns,
                    is_convolution_ ? rows : 1, given.tensor ? given.tensor + at : nullptr};
            parallel::for_each_part(
                    count, parallel::parts_for_items(count, count * columns), [&](parallel::range part) {
                        epilogue_.rows({post_ops_}, sums, part);
                        const auto first = at + part.begin * columns;
                        if (normalization_)
                            epilogue_.normalize(
                                    normalization_->view(), to + first, y + first, part.end - part.begin, columns);
                    });
        }
}

} // namespace dynquant::layers
