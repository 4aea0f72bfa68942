#include "layers/layer/weight_only_layer.hpp"

#include <algorithm>

#include "layers/conv/float_windows.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers {
namespace {

/// Positions whose windows are copied at once: for each thread as many as a product takes at once, or fewer whose copy
/// stays in a second-level cache. All blocks have nearly as many.
std::int64_t window_block(std::int64_t positions, std::int64_t inner) {
    const auto fitting = 128 * 1024 / std::max<std::int64_t>(inner, 1) / weight_only_tile_rows * weight_only_tile_rows;
    const auto most = std::clamp<std::int64_t>(fitting, 24, max_weight_only_rows) * parallel::concurrency();
    const auto even = ceil_div(positions, ceil_div(positions, most));
    return std::min(positions, round_up(even, std::int64_t {weight_only_tile_rows}));
}

/// The weights of one of several groups. moved: memory for those that begin within a byte.
weight_only_weights weights_of_group(
        const weight_only_weights &w, std::int64_t group, std::int64_t groups, std::vector<std::byte> &moved) {
    auto result = w;
    result.columns = w.columns / groups;
    const auto first = group * result.columns, begin = first * w.inner, count = result.columns * w.inner;
    const auto slice = [&](auto &parameters) {
        if (w.scale_columns != 1 && !parameters.empty())
            parameters.assign(parameters.begin() + first, parameters.begin() + first + result.columns);
    };
    slice(result.scales);
    slice(result.zero_points);
    if (w.scale_columns != 1) result.scale_columns = result.columns;
    if (w.type != data_type::s4 && w.type != data_type::u4) {
        result.data += begin;
    } else if (begin % 2 == 0) {
        result.data += begin / 2;
    } else {
        const auto *const from = w.data + begin / 2;
        moved.resize(static_cast<std::size_t>(ceil_div(count, std::int64_t {2})));
        for (std::int64_t i = 0; i < std::ssize(moved); ++i)
            moved[static_cast<std::size_t>(i)] = from[i] >> 4 | (2 * i + 1 < count ? from[i + 1] << 4 : std::byte {});
        result.data = moved.data();
    }
    return result;
}

} // namespace

weight_only_layer::weight_only_layer(
        const weight_only_description &d, targets::features available, weight_storage storage)
    : label_(d.label)
    , is_convolution_(d.is_convolution)
    , x_rank_(d.x_rank)
    , kernel_(d.kernel)
    , window_(d.window)
    , owned_(d.post_ops)
    , normalization_(d.normalization)
    , epilogue_(*targets::pick(available, epilogue_table)) {
    const auto filters = d.weights.columns;
    if (d.groups < 1 || filters % d.groups != 0 || d.groups > std::max<std::int64_t>(filters, 1))
        throw error(status::invalid_shape,
                concat(label_, ": attribute 'group': expected a divisor of the ", filters, " filters, given ",
                        d.groups));
    if (volume(kernel_).value_or(0) == 0)
        throw error(status::invalid_shape,
                concat(label_, ": W: expected a window of at least one tap, given ", to_string(kernel_)));
    std::vector<std::byte> moved;
    for (std::int64_t group = 0; group < d.groups; ++group)
        products_.emplace_back(
                d.groups == 1 ? d.weights : weights_of_group(d.weights, group, d.groups, moved), available, storage);
    for (const auto &s : owned_)
        post_ops_.push_back({s.what, s.a, s.b, s.table});
}

window weight_only_layer::window_over(const dims &x) const {
    try {
        return make_window(window_, dims(x.begin() + 2, x.end()), kernel_);
    } catch (const error &e) {
        throw error(e.status, concat(label_, ": ", e.what()));
    }
}

dims weight_only_layer::y_of(const dims &x) const {
    std::optional<window> over_x;
    return y_of(x, over_x);
}

dims weight_only_layer::y_of(const dims &x, std::optional<window> &over_x) const {
    if (x_rank_ != 0 && x.size() != x_rank_)
        throw error(status::invalid_shape,
                concat(label_, is_convolution_ ? ": X" : ": A", ": expected rank ", x_rank_, ", given shape ",
                        to_string(x)));
    auto y = x;
    if (is_convolution_) {
        const auto channels = products_.front().inner() / *volume(kernel_) * std::ssize(products_);
        if (x[1] != channels)
            throw error(status::invalid_shape,
                    concat(label_, ": X: expected ", channels, " channels, given shape ", to_string(x)));
        y[1] = columns();
        if (kernel_.empty()) return y;
        over_x = window_over(x);
        std::ranges::copy(over_x->y, y.begin() + 2);
        constexpr auto most = std::int64_t {1} << 44; // elements, more than any machine holds
        if (volume(y).value_or(most) >= most)
            throw error(status::invalid_shape,
                    concat(label_, ": Y: expected fewer than 2^44 elements, given shape ", to_string(y)));
        return y;
    }
    if (x.empty() || x.back() != products_.front().inner())
        throw error(status::invalid_shape,
                concat(label_, ": A: expected ", products_.front().inner(),
                        " columns, as many as B has rows, given shape ", to_string(x)));
    y.back() = columns();
    return y;
}

void weight_only_layer::run(const layer_arguments &given, const dims &x_shape, memory &m) const {
    std::optional<window> over_x;
    const auto y = y_of(x_shape, over_x);
    if (volume(y) == 0) return;
    const auto rows = *volume(is_convolution_ ? dims(y.begin() + 2, y.end()) : dims(y.begin(), y.end() - 1));
    run_images(given, is_convolution_ ? y[0] : 1, rows, over_x ? &*over_x : nullptr, m);
}

void weight_only_layer::run_rows(
        const layer_arguments &given, std::int64_t rows, memory &m, const std::byte *weights) const {
    if (rows > 0 && columns() > 0) run_images(given, 1, rows, nullptr, m, weights);
}

/// Computes blocks of rows whose products stay in the second-level caches until the post-ops take them. The rows of a
/// convolution are the positions of an image, whose elements lie apart: in x, or in a copy of what windows meet.
void weight_only_layer::run_images(const layer_arguments &given, std::int64_t images, std::int64_t rows,
        const window *w, memory &m, const std::byte *weights) const {
    const auto &product = products_.front();
    const auto inner = product.inner(), of_group = product.columns(), columns = this->columns();
    const auto *x = static_cast<const float *>(given.x);
    auto *const y = static_cast<float *>(given.y), *const to = given.before ? given.before : y;
    if (!is_convolution_ && post_ops_.empty() && !normalization_)
        return product.run({x, rows, inner}, y, columns, m.of_product, weights);
    auto block = std::min(rows, std::max<std::int64_t>(64 * 1024 / columns / 24, 1) * 24);
    if (is_convolution_) block = std::max(block, std::min(rows, max_weight_only_rows));
    if (w) block = window_block(rows, inner);
    auto *const products = workspace::ensure_size(m.products, static_cast<std::size_t>(block * columns));
    auto *const windows = w ? workspace::ensure_size(m.windows, static_cast<std::size_t>(block * inner)) : nullptr;
    const auto group_elements = !w ? 0 : inner == 0 ? 0 : inner / *volume(kernel_) * *volume(w->x);
    const auto image_elements = w ? group_elements * std::ssize(products_) : inner * rows;
    for (std::int64_t i = 0; i < images; ++i, x += image_elements)
        for (std::int64_t begin = 0; begin < rows; begin += block) {
            const auto count = std::min(block, rows - begin);
            if (w) {
                for (std::int64_t g = 0; g < std::ssize(products_); ++g) {
                    gather_windows(*w, x + g * group_elements, inner / *volume(kernel_), begin, count, windows);
                    products_[static_cast<std::size_t>(g)].run(
                            {windows, count, 1, count}, products + g * of_group, columns, m.of_product);
                }
            } else {
                const auto of_block = is_convolution_ ? float_rows {x + begin, count, 1, rows}
                                                      : float_rows {x + begin * inner, count, inner};
                product.run(of_block, products, columns, m.of_product, weights);
            }
            const auto at = i * columns * rows + begin * (is_convolution_ ? 1 : columns);
            const rows_of_sums sums {products, true, columns, to + at, is_convolution_ ? 1 : columns,
                    is_convolution_ ? rows : 1, given.tensor ? given.tensor + at : nullptr};
            parallel::for_each_part(
                    count, parallel::parts_for_items(count, count * columns), [&](parallel::range part) {
                        epilogue_.rows({post_ops_}, sums, part, {0, columns});
                        const auto first = at + part.begin * columns;
                        if (normalization_)
                            epilogue_.normalize(
                                    normalization_->view(), to + first, y + first, part.end - part.begin, columns);
                    });
        }
}

} // namespace dynquant::layers
