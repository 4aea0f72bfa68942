#include "layers/integer_product.hpp"

#include <cstring>

#include "layers/onednn/onednn.hpp"
#include "layers/product_slice.hpp"
#include "layers/zero_points.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::layers {
namespace {

bool has_nonzero(const std::vector<std::int32_t> &zero_points) {
    return std::ranges::any_of(zero_points, [](std::int32_t zp) { return zp != 0; });
}

} // namespace

integer_product::integer_product(const problem &p, const std::int8_t *w)
    : problem_(p)
    , weight_sums_(weight_sums_of(p.inner, p.columns, p.w_zero_points, w)) {
    if (p.rows == 0 || p.columns == 0) return;
    if (!has_nonzero(p.w_zero_points)) problem_.w_zero_points.clear();
    const product_slice::problem whole {p.x_is_signed, p.rows, p.inner, p.columns, 1, p.available};
    if (auto slice = make_few_rows_slice(whole, w))
        slices_.push_back({0, p.inner, std::move(slice)});
    else if (int8_is_exact())
        slices_ = onednn_slices(p, w);
    if (!slices_.empty()) return;
    auto slice = make_vector_slice(whole, w);
    slices_.push_back({0, p.inner, slice ? std::move(slice) : make_plain_slice(whole, w)});
}

/// Empty where oneDNN does not implement the product.
std::vector<integer_product::placed_slice> integer_product::onednn_slices(const problem &p, const std::int8_t *w) {
    std::vector<placed_slice> slices;
    std::int64_t begin = 0;
    for (const auto end : exact_slices(w, p.inner, p.columns)) {
        auto slice = make_onednn_slice({p.x_is_signed, p.rows, end - begin, p.columns}, w + begin * p.columns);
        if (!slice) return {};
        slices.push_back({begin, end - begin, std::move(slice)});
        begin = end;
    }
    return slices;
}

integer_product::~integer_product() = default;

/// Bytes of one slice's sums in scratch memory, a multiple of a cache line.
std::size_t integer_product::sums_bytes() const {
    return (static_cast<std::size_t>(problem_.rows * problem_.columns) * sizeof(std::int32_t) + 63) / 64 * 64;
}

std::size_t integer_product::scratch_bytes() const {
    if (slices_.size() < 2) return 0;
    const auto widest = std::ranges::max_element(slices_, {}, &placed_slice::inner)->inner;
    return sums_bytes() + static_cast<std::size_t>(problem_.rows * widest);
}

void integer_product::run(const void *x, std::int32_t, std::int32_t *y, std::byte *scratch) const {
    const auto *from = static_cast<const std::byte *>(x);
    if (slices_.size() == 1)
        slices_.front().slice->run(from, y);
    else
        run_slices(from, y, scratch);
    if (problem_.w_zero_points.empty()) return;
    const auto &p = problem_;
    parallel::for_each_part(p.rows, parallel::parts_for_items(p.rows, p.rows * p.columns), [&](parallel::range part) {
        const auto *const first = from + part.begin * p.inner;
        const auto rows = part.end - part.begin;
        subtract_row_sums({p.x_is_signed, rows, p.inner, p.columns}, {&first, p.inner, rows}, p.w_zero_points,
                y + part.begin * p.columns, p.columns);
    });
}

void integer_product::run_slices(const std::byte *x, std::int32_t *y, std::byte *scratch) const {
    const auto count = problem_.rows * problem_.columns;
    auto *const columns = scratch + sums_bytes();
    for (const auto &s : slices_) {
        auto *const sums = s.begin == 0 ? y : reinterpret_cast<std::int32_t *>(scratch);
        copy_columns(x, s, columns);
        s.slice->run(columns, sums);
        if (sums == y) continue;
        parallel::for_each_part(count, parallel::parts_for(count, 0), [&](parallel::range r) {
            add_bias({sums + r.begin, sums + r.end}, 1, y + r.begin);
        });
    }
}

/// Copies the columns of x that a slice multiplies to dense rows. With a row stride oneDNN falls back to an
/// implementation that takes two to four times as long.
void integer_product::copy_columns(const std::byte *x, const placed_slice &of, std::byte *to) const {
    const auto rows = problem_.rows;
    parallel::for_each_part(rows, parallel::parts_for_items(rows, rows * of.inner), [&](parallel::range r) {
        for (auto m = r.begin; m < r.end; ++m)
            std::memcpy(to + m * of.inner, x + m * problem_.inner + of.begin, static_cast<std::size_t>(of.inner));
    });
}

} // namespace dynquant::layers
