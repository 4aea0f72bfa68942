#include "layers/packed_product.hpp"

#include <algorithm>
#include <utility>

#include "layers/zero_points.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {
namespace {

std::int64_t round_up(std::int64_t count, std::int64_t unit) {
    return (count + unit - 1) / unit * unit;
}

#if defined(__x86_64__)
/// The fewest panels of equal width, so that few columns are padding.
const panel_kind &vnni_kind(std::int64_t columns) {
    const auto vectors = std::max<std::int64_t>((columns + vnni_lanes - 1) / vnni_lanes, 1);
    const auto panels = (vectors + vnni_vectors - 1) / vnni_vectors;
    return avx512_vnni_panels[(vectors + panels - 1) / panels - 1];
}

/// Shorter lines would be mostly padding.
constexpr std::int64_t min_amx_line = 32;
#endif

const panel_kind &best_kind([[maybe_unused]] const packed_product::problem &p) {
#if defined(__x86_64__)
    using namespace targets;
    if (has(p.available, amx_int8 | avx512_vnni) && p.channels * p.taps / p.lines >= min_amx_line && request_amx())
        return amx_int8_panels;
    return *pick<const panel_kind *>(p.available,
            {{avx512_vnni, &vnni_kind(p.columns)}, {avx2_vnni, &avx2_vnni_panels}, {avx2, &avx2_panels},
                    {scalar, &scalar_panels}});
#else
    return scalar_panels;
#endif
}

} // namespace

packed_product::packed_product(problem p, const constant_weights &w)
    : packed_product(p, best_kind(p), w) {
#if defined(__x86_64__)
    // A step of excess takes as long as three others, as it gathers its elements of x; one of words half as long again.
    const auto steps = bytes() / (4 * kind_.columns);
    if (kind_.has_excess && 6 * product_.excess.begin[panels()] > steps)
        *this = packed_product(std::move(p), avx2_word_panels, w);
#endif
}

packed_product::packed_product(problem p, const panel_kind &kind, const constant_weights &w)
    : problem_(std::move(p))
    , kind_(kind)
    , excess_(round_up(std::max<std::int64_t>(problem_.channels * problem_.taps / problem_.lines, 1), kind.depth)) {
    auto &zero_points = problem_.w_zero_points;
    if (std::ranges::all_of(zero_points, [](std::int32_t zp) { return zp == 0; })) zero_points.clear();
    const auto padded_columns = panels() * kind.columns;
    product_.columns = problem_.columns;
    product_.lines = problem_.lines;
    product_.line_inner = problem_.channels * problem_.taps / problem_.lines;
    product_.x_is_signed = problem_.x_is_signed;
    product_.line_bytes = round_up(product_.line_inner, kind.depth) * kind.columns;
    product_.panel_bytes = product_.lines * product_.line_bytes;
    weights_.resize(static_cast<std::size_t>(panels() * product_.panel_bytes / line_bytes + 1));
    weight_sums_.resize(static_cast<std::size_t>(padded_columns));
    compensation_.resize(static_cast<std::size_t>(padded_columns));
    auto *to = weights_.front().elements;
    for (std::int64_t panel = 0; panel < panels(); ++panel, to += product_.panel_bytes) {
        pack(w, panel, to);
        if (kind.has_excess) excess_.take_from({to, static_cast<std::size_t>(product_.panel_bytes)}, kind.columns);
    }
    if (problem_.x_is_signed)
        std::ranges::transform(weight_sums_, compensation_.begin(),
                [](std::int32_t sum) { return static_cast<std::int32_t>(-128 * static_cast<std::uint32_t>(sum)); });
    weight_sums_.resize(static_cast<std::size_t>(problem_.columns));
    subtract_from_sums(zero_points, product_.lines * product_.line_inner, weight_sums_);
    product_.weights = weights_.front().elements;
    product_.compensation = compensation_.data();
    product_.excess = excess_.steps();
}

/// Copies the weights of a panel, and adds them up.
void packed_product::pack(const constant_weights &w, std::int64_t panel, std::int8_t *to) {
    const auto &p = product_;
    const auto first = panel * kind_.columns, count = std::min(kind_.columns, p.columns - first);
    auto *const sums = weight_sums_.data() + first;
    for (std::int64_t line = 0, k = 0; line < p.lines; ++line, to += p.line_bytes)
        for (std::int64_t row = 0; row < p.line_inner; ++row, ++k) {
            const auto tap = k / problem_.channels, channel = k % problem_.channels, place = row % kind_.interleaved;
            auto *const of_row = to + (row - place) * kind_.columns + place;
            for (std::int64_t n = 0; n < count; ++n) {
                const auto value = w.at(first + n, channel, tap);
                of_row[n * kind_.interleaved] = value;
                sums[n] = static_cast<std::int32_t>(
                        static_cast<std::uint32_t>(sums[n]) + static_cast<std::uint32_t>(value));
            }
        }
}

void packed_product::run(const rows_of_lines &x, parallel::range panels, std::int32_t *y, std::int64_t y_stride) const {
    kind_.multiply(product_, x, panels, y, y_stride);
    if (problem_.w_zero_points.empty()) return;
    const auto first = panels.begin * kind_.columns, last = std::min(panels.end * kind_.columns, problem_.columns);
    subtract_row_sums(product_, x, problem_.w_zero_points, {first, last}, y, y_stride);
}

} // namespace dynquant::layers
