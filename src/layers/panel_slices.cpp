// Products by panels of weights, and which instruction set computes them.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "layers/panel_product.hpp"
#include "layers/product_slice.hpp"
#include "layers/saturation_excess.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {
namespace {

/// A function and its panel layout.
struct panel_kind {
    multiply_panels_function multiply;
    std::int64_t columns;  // per panel
    std::int64_t depth;    // rows of a panel are padded to a multiple of this
    bool has_compensation; // reads s8 as u8, 128 more, so that sums start at a compensation
    bool has_excess;       // see saturation_excess.hpp
};

class panel_slice final : public any_rows_slice {
  public:
    panel_slice(const panel_kind &kind, const problem &p, const std::int8_t *w)
        : kind_(kind)
        , panels_((p.columns + kind.columns - 1) / kind.columns)
        , line_inner_(p.inner / p.lines)
        , line_rows_((line_inner_ + kind.depth - 1) / kind.depth * kind.depth)
        , panel_bytes_(p.lines * line_rows_ * kind.columns)
        , weights_(static_cast<std::size_t>(panels_ * panel_bytes_ / line_bytes + 1))
        , compensation_(static_cast<std::size_t>(panels_ * kind.columns))
        , excess_(std::max<std::int64_t>(line_rows_, 1))
        , product_ {bytes(), panel_bytes_, compensation_.data(), {}, p.rows, p.columns, p.lines, line_inner_, p.inner,
                  p.columns, p.x_is_signed} {
        for (std::int64_t k = 0; k < p.inner; ++k, w += p.columns) {
            place(k, w);
            if (p.x_is_signed && kind.has_compensation) update_compensation(w);
        }
        if (kind.has_excess) take_excess();
    }

    void run(const std::byte *x, std::int32_t *y) const override {
        const auto &p = product_;
        const auto parts = parallel::parts_for(p.rows * p.line_inner * p.columns, 0);
        if (panels_ >= p.rows || p.rows < min_rows_to_split)
            run_by_columns(std::min<std::int64_t>(panels_, parts), x, y);
        else
            run_by_rows(std::min<std::int64_t>(p.rows, parts), x, y);
    }

    std::int64_t panels() const override { return panels_; }

    void run_rows(
            const rows_of_lines &x, parallel::range panels, std::int32_t *y, std::int64_t y_stride) const override {
        auto p = product_;
        p.rows = x.rows;
        p.x_stride = x.stride;
        p.y_stride = y_stride;
        kind_.multiply(p, x.lines, panels, y);
    }

  private:
    /// Minimum rows for a split by rows, where each part reads all weights. With fewer rows the reading dominates.
    static constexpr std::int64_t min_rows_to_split = 64;

    static constexpr std::int64_t line_bytes = 64;
    struct alignas(line_bytes) cache_line {
        std::array<std::int8_t, line_bytes> elements = {};
    };
    std::int8_t *bytes() { return weights_.front().elements.data(); }

    /// Copies row k of the weights to its place in each panel.
    void place(std::int64_t k, const std::int8_t *row) {
        const auto at = k / line_inner_ * line_rows_ + k % line_inner_;
        auto *to = bytes() + at / 4 * 4 * kind_.columns + at % 4;
        for (std::int64_t first = 0; first < product_.columns; first += kind_.columns, to += panel_bytes_)
            for (std::int64_t n = 0; n < std::min(kind_.columns, product_.columns - first); ++n)
                to[4 * n] = row[first + n];
    }

    void update_compensation(const std::int8_t *row) {
        for (std::int64_t n = 0; n < product_.columns; ++n) {
            auto &sum = compensation_[static_cast<std::size_t>(n)];
            sum = static_cast<std::int32_t>(
                    static_cast<std::uint32_t>(sum) - 128U * static_cast<std::uint32_t>(row[n]));
        }
    }

    void take_excess() {
        for (std::int64_t panel = 0; panel < panels_; ++panel)
            excess_.take_from({bytes() + panel * panel_bytes_, static_cast<std::size_t>(panel_bytes_)}, kind_.columns);
        product_.excess = excess_.steps();
    }

    void run_by_columns(std::int64_t parts, const std::byte *x, std::int32_t *y) const {
        parallel::for_each_part(panels_, static_cast<int>(parts),
                [&](parallel::range panels) { kind_.multiply(product_, &x, panels, y); });
    }

    void run_by_rows(std::int64_t parts, const std::byte *x, std::int32_t *y) const {
        parallel::for_each_part(product_.rows, static_cast<int>(parts), [&](parallel::range rows) {
            const auto *const first = x + rows.begin * product_.x_stride;
            run_rows({&first, product_.x_stride, rows.end - rows.begin}, {0, panels_},
                    y + rows.begin * product_.columns, product_.columns);
        });
    }

    panel_kind kind_;
    std::int64_t panels_, line_inner_, line_rows_, panel_bytes_;
    std::vector<cache_line> weights_;
    std::vector<std::int32_t> compensation_;
    saturation_excess excess_;
    panel_product product_;
};

#if defined(__x86_64__)
/// The fewest panels of equal width, so that few columns are padding.
panel_kind vnni_kind(std::int64_t columns) {
    const auto vectors = std::max<std::int64_t>((columns + vnni_lanes - 1) / vnni_lanes, 1);
    const auto panels = (vectors + vnni_vectors - 1) / vnni_vectors, width = (vectors + panels - 1) / panels;
    return {avx512_vnni_multiply_panels[width - 1], width * vnni_lanes, 4, true, false};
}
#endif

/// For few rows. None where oneDNN's product is faster.
std::optional<panel_kind> few_rows_kind([[maybe_unused]] const product_slice::problem &p) {
#if defined(__x86_64__)
    if (p.rows <= vnni_rows && targets::has(p.available, targets::avx512_vnni)) return vnni_kind(p.columns);
    if (p.rows <= amx_rows && targets::has(p.available, targets::amx_int8) && targets::request_amx())
        return panel_kind {amx_int8_multiply_panels, amx_columns, amx_depth, false, false};
#endif
    return {};
}

std::optional<panel_kind> any_rows_kind(const product_slice::problem &p) {
    using namespace targets;
    return pick<std::optional<panel_kind>>(p.available, {
#if defined(__x86_64__)
        {avx512_vnni, vnni_kind(p.columns)}, {avx2, panel_kind {avx2_multiply_panels, avx2_columns, 4, true, true}},
#endif
                {scalar, {}},
    });
}

std::unique_ptr<const any_rows_slice> make_panel_slice(
        const std::optional<panel_kind> &kind, const product_slice::problem &p, const std::int8_t *w) {
    return kind ? std::make_unique<panel_slice>(*kind, p, w) : nullptr;
}

} // namespace

std::unique_ptr<const product_slice> make_few_rows_slice(const product_slice::problem &p, const std::int8_t *w) {
    return make_panel_slice(few_rows_kind(p), p, w);
}

std::unique_ptr<const any_rows_slice> make_vector_slice(const product_slice::problem &p, const std::int8_t *w) {
    return make_panel_slice(any_rows_kind(p), p, w);
}

} // namespace dynquant::layers
