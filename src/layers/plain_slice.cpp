// Products by plain loops, for processors without AVX2 and other architectures.
#include <algorithm>
#include <vector>

#include "layers/product_slice.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::layers {
namespace {

class plain_product_slice final : public any_rows_slice {
  public:
    plain_product_slice(const problem &p, const std::int8_t *w)
        : p_(p)
        , w_(w, w + p.inner * p.columns) {}

    void run(const std::byte *x, std::int32_t *y) const override {
        if (p_.x_is_signed)
            multiply(reinterpret_cast<const std::int8_t *>(x), y);
        else
            multiply(reinterpret_cast<const std::uint8_t *>(x), y);
    }

    /// A panel is a column.
    std::int64_t panels() const override { return p_.columns; }

    void run_rows(
            const rows_of_lines &x, parallel::range panels, std::int32_t *y, std::int64_t y_stride) const override {
        for (std::int64_t m = 0; m < x.rows; ++m, y += y_stride) {
            std::fill(y + panels.begin, y + panels.end, 0);
            for (std::int64_t i = 0; i < p_.lines; ++i) {
                const auto *line = x.lines[i] + m * x.stride;
                if (p_.x_is_signed)
                    add_line(reinterpret_cast<const std::int8_t *>(line), i, panels, y);
                else
                    add_line(reinterpret_cast<const std::uint8_t *>(line), i, panels, y);
            }
        }
    }

  private:
    /// Splits by columns, so that each weight is read by one thread.
    template <typename Element>
    void multiply(const Element *x, std::int32_t *y) const {
        const auto work = p_.rows * p_.inner * p_.columns;
        parallel::for_each_part(p_.columns, parallel::parts_for_items(p_.columns, work), [&](parallel::range columns) {
            for (std::int64_t m = 0; m < p_.rows; ++m) {
                std::fill(y + m * p_.columns + columns.begin, y + m * p_.columns + columns.end, 0);
                add_line(x + m * p_.inner, 0, columns, y + m * p_.columns);
            }
        });
    }

    /// Adds the products of one line of a row.
    template <typename Element>
    void add_line(const Element *x, std::int64_t line, parallel::range columns, std::int32_t *y) const {
        const auto count = p_.inner / p_.lines;
        const auto *w = w_.data() + line * count * p_.columns;
        for (std::int64_t k = 0; k < count; ++k, w += p_.columns) {
            const std::int32_t factor = x[k];
            for (auto n = columns.begin; n < columns.end; ++n) // wrapping
                y[n] = static_cast<std::int32_t>(
                        static_cast<std::uint32_t>(y[n]) + static_cast<std::uint32_t>(factor * w[n]));
        }
    }

    problem p_;
    std::vector<std::int8_t> w_;
};

} // namespace

std::unique_ptr<const any_rows_slice> make_plain_slice(const product_slice::problem &p, const std::int8_t *w) {
    return std::make_unique<plain_product_slice>(p, w);
}

} // namespace dynquant::layers
