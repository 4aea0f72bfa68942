#include "layers/product_slice.hpp"

#include <cstdlib>

namespace dynquant::layers {
namespace {

/// The number of leading rows of w within max_exact_sum: all of them, or a multiple of 64.
std::int64_t exact_rows(const std::int8_t *w, std::int64_t rows, std::int64_t columns) {
    constexpr std::int64_t unit = 64;
    static_assert(unit * 128 <= max_exact_sum); // 64 rows always fit
    struct totals {
        std::int64_t positive = 0, negative = 0;
    };
    std::vector<totals> of(static_cast<std::size_t>(columns));
    for (std::int64_t k = 0; k < rows; ++k, w += columns)
        for (std::size_t n = 0; n < of.size(); ++n) {
            auto &total = w[n] > 0 ? of[n].positive : of[n].negative;
            total += std::abs(w[n]);
            if (total > max_exact_sum) return k / unit * unit;
        }
    return rows;
}

} // namespace

std::vector<std::int64_t> exact_slices(const std::int8_t *w, std::int64_t inner, std::int64_t columns) {
    std::vector<std::int64_t> ends;
    for (std::int64_t end = 0; end < inner;) {
        end += exact_rows(w + end * columns, inner - end, columns);
        ends.push_back(end);
    }
    return ends;
}

} // namespace dynquant::layers
