#include "layers/gemm/unpacked/unpacked_product.hpp"

namespace dynquant::layers {
namespace {

template <typename W>
void multiply_of(const unpacked_product &p, parallel::range columns, std::int32_t *y, std::int64_t y_stride) {
    const auto of_row = p.has_adjacent_rows ? 1 : p.w_stride, of_column = p.has_adjacent_rows ? p.w_stride : 1;
    const auto *const w = reinterpret_cast<const W *>(p.w);
    for (std::int64_t r = 0; r < p.rows; ++r)
        for (auto n = columns.begin; n < columns.end; ++n) {
            std::uint32_t sum = 0;
            for (std::int64_t k = 0; k < p.inner; ++k)
                sum += static_cast<std::uint32_t>(p.x[r * p.x_stride + k] * w[k * of_row + n * of_column]);
            y[r * y_stride + n] = static_cast<std::int32_t>(sum);
        }
}

void multiply(const unpacked_product &p, parallel::range columns, std::int32_t *y, std::int64_t y_stride) {
    p.w_is_signed ? multiply_of<std::int8_t>(p, columns, y, y_stride)
                  : multiply_of<std::uint8_t>(p, columns, y, y_stride);
}

} // namespace

extern const multiply_unpacked_function scalar_unpacked;
constinit const multiply_unpacked_function scalar_unpacked = multiply;

} // namespace dynquant::layers
