// block_panels.hpp by plain loops, for processors without AVX2 and other architectures.

#include "targets/scalar.hpp"
#include "layers/gemm/by_blocks/isa/multiply_blocks.hpp"

namespace dynquant::layers {
namespace {

constexpr std::int64_t columns = 32;

/// Adds the products of a code of x and the codes of a row of weights.
void add_row(std::int16_t x, const std::uint8_t *w, int shift, int mask, std::int32_t *sums) {
    for (std::int64_t n = 0; n < columns; ++n)
        sums[n] += x * static_cast<std::int16_t>(w[4 * n] >> shift & mask);
}

void multiply(const block_panels &p, const block_rows &x, parallel::range panels, float *y, std::int64_t y_stride) {
    for (auto panel = panels.begin; panel < panels.end; ++panel)
        for (std::int64_t row = 0; row < x.rows; ++row) {
            const auto rest = p.columns - panel * columns, count = rest < columns ? rest : columns;
            auto *const to = y + row * y_stride + panel * columns;
            for (std::int64_t block = 0; block < p.blocks; ++block) {
                const auto of_x = row * p.blocks + block;
                const auto of_panel = panel * p.blocks + block;
                const auto *const of_block = p.data + of_panel * p.block_bytes;
                const auto *w = reinterpret_cast<const std::uint8_t *>(of_block);
                const auto *const codes = x.codes + of_x * p.block;
                std::int32_t sums[columns] = {};
                const int step = p.are_nibbles ? 8 : 4;
                for (std::int64_t k = 0; k < p.block; k += step, w += 4 * columns)
                    for (int i = 0; i < step; ++i)
                        add_row(codes[k + i], w + i % 4, i / 4 * 4, p.are_nibbles ? 15 : 255, sums);
                for (std::int64_t n = 0; n < count; ++n) {
                    float sum = block == 0 ? 0 : to[n];
                    block_parameters<simd::fused<simd::scalar>, 1>(p, of_block, n)
                            .add(0, sums[n], x.sums[of_x], x.scales[of_x], &sum);
                    to[n] = sum;
                }
            }
        }
}

} // namespace

extern const block_loop scalar_block;
constinit const block_loop scalar_block {quantize_rows<simd::scalar>, multiply, columns, 1};

} // namespace dynquant::layers
