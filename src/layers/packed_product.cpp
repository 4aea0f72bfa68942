#include "layers/packed_product.hpp"

#include <algorithm>
#include <utility>

#include "layers/zero_points.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::layers {

packed_product::packed_product(problem p, const std::int8_t *w)
    : problem_(std::move(p))
    , weight_sums_(weight_sums_of(problem_.inner, problem_.columns, problem_.w_zero_points, w)) {
    auto &zero_points = problem_.w_zero_points;
    if (std::ranges::all_of(zero_points, [](std::int32_t zp) { return zp == 0; })) zero_points.clear();
    const product_slice::problem whole {
            problem_.x_is_signed, 0, problem_.inner, problem_.columns, problem_.lines, problem_.available};
    slice_ = make_vector_slice(whole, w);
    if (!slice_) slice_ = make_plain_slice(whole, w);
}

void packed_product::run(const rows_of_lines &x, std::int32_t *y, std::int64_t y_stride) const {
    slice_->run_rows(x, {0, slice_->panels()}, y, y_stride);
    subtract_zero_points(x, y, y_stride);
}

int packed_product::column_parts(std::int64_t rows) const {
    return parallel::parts_for_items(slice_->panels(), rows * problem_.inner * problem_.columns);
}

void packed_product::run_by_columns(const rows_of_lines &x, std::int32_t *y, std::int64_t y_stride) const {
    parallel::for_each_part(slice_->panels(), column_parts(x.rows),
            [&](parallel::range panels) { slice_->run_rows(x, panels, y, y_stride); });
    subtract_zero_points(x, y, y_stride);
}

void packed_product::subtract_zero_points(const rows_of_lines &x, std::int32_t *y, std::int64_t y_stride) const {
    const auto &p = problem_;
    if (!p.w_zero_points.empty())
        subtract_row_sums({p.x_is_signed, x.rows, p.inner, p.columns, p.lines}, x, p.w_zero_points, y, y_stride);
}

} // namespace dynquant::layers
