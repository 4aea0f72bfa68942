// Products by plain loops, for processors without AVX2 and other architectures.
#include <algorithm>
#include <vector>

#include "layers/product_slice.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::layers {
namespace {

class plain_product_slice final : public product_slice {
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

    bool computes_any_rows() const override { return true; }
    void run_rows(const std::byte *x, std::int64_t rows, std::int32_t *y) const override {
        const auto run_typed = [&](const auto *elements) {
            for (std::int64_t m = 0; m < rows; ++m)
                multiply_row(elements + m * p_.inner, {0, p_.columns}, y + m * p_.columns);
        };
        if (p_.x_is_signed)
            run_typed(reinterpret_cast<const std::int8_t *>(x));
        else
            run_typed(reinterpret_cast<const std::uint8_t *>(x));
    }

  private:
    /// Splits by columns, so that each weight is read by one thread.
    template <typename Element>
    void multiply(const Element *x, std::int32_t *y) const {
        const auto work = p_.rows * p_.inner * p_.columns;
        parallel::for_each_part(p_.columns, parallel::parts_for_items(p_.columns, work), [&](parallel::range columns) {
            for (std::int64_t m = 0; m < p_.rows; ++m)
                multiply_row(x + m * p_.inner, columns, y + m * p_.columns);
        });
    }

    template <typename Element>
    void multiply_row(const Element *x, parallel::range columns, std::int32_t *y) const {
        std::fill(y + columns.begin, y + columns.end, 0);
        for (std::int64_t k = 0; k < p_.inner; ++k) {
            const std::int32_t factor = x[k];
            const auto *w = w_.data() + k * p_.columns;
            for (auto n = columns.begin; n < columns.end; ++n) // wrapping
                y[n] = static_cast<std::int32_t>(
                        static_cast<std::uint32_t>(y[n]) + static_cast<std::uint32_t>(factor * w[n]));
        }
    }

    problem p_;
    std::vector<std::int8_t> w_;
};

} // namespace

std::unique_ptr<const product_slice> make_plain_slice(const product_slice::problem &p, const std::int8_t *w) {
    return std::make_unique<plain_product_slice>(p, w);
}

} // namespace dynquant::layers
