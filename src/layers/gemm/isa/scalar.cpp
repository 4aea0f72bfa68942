// panel_product.hpp by plain loops, for processors without AVX2 and other architectures: compilers make vectors of the
// columns.
#include <array>
#include <cstring>

#include "layers/gemm/isa/end_sums.hpp"
#include "targets/scalar.hpp"

namespace dynquant::layers {
namespace {

constexpr std::int64_t columns = 32; // g++ makes vectors of the loop over so many, and not of the outer one

template <typename Element>
void multiply_row(const panel_product &p, const indirect_rows &x, std::int64_t row, const std::int8_t *w,
        std::array<std::uint32_t, columns> &sums) { // unsigned: they wrap
    for (std::int64_t i = 0; i < p.lines; ++i) {
        const auto *line = reinterpret_cast<const Element *>(x.lines[i] + row * x.stride);
        for (std::int64_t k = 0; k < p.line_inner; ++k, w += columns) {
            const std::int16_t factor = line[k]; // SSE2 multiplies 16 bits by 16
            for (std::size_t n = 0; n < columns; ++n)
                sums[n] += static_cast<std::uint32_t>(factor * std::int16_t {w[n]});
        }
    }
}

void multiply_panels(const panel_product &p, const indirect_rows &x, parallel::range panels, std::int32_t *y,
        std::int64_t y_stride) {
    for (auto panel = panels.begin; panel < panels.end; ++panel) {
        const auto *w = p.weights + panel * p.panel_bytes;
        const auto first = panel * columns, count = p.columns - first < columns ? p.columns - first : columns;
        for (std::int64_t row = 0; row < x.rows; ++row) {
            std::array<std::uint32_t, columns> sums = {};
            p.x_is_signed ? multiply_row<std::int8_t>(p, x, row, w, sums)
                          : multiply_row<std::uint8_t>(p, x, row, w, sums);
            std::memcpy(y + row * y_stride + first, sums.data(), static_cast<std::size_t>(count) * sizeof *y);
        }
        end_sums<simd::scalar>(p, x, 0, x.rows, first, count, y, y_stride);
    }
}

} // namespace

extern const panel_loops scalar_panels;
constinit const panel_loops scalar_panels {1, {{multiply_panels, columns, 1, 1}}};

} // namespace dynquant::layers
