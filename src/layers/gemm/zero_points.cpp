#include "layers/gemm/zero_points.hpp"

#include <algorithm>

#include "targets/sum_of_bytes.hpp"

namespace dynquant::layers {
namespace {

std::int32_t wrap(std::int64_t value) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); // modulo 2^32
}

} // namespace

void subtract_from_sums(std::span<const std::int32_t> zero_points, std::int64_t inner, std::span<std::int32_t> sums) {
    for (std::size_t c = 0; c < sums.size() && !zero_points.empty(); ++c)
        sums[c] = wrap(sums[c] - inner * zero_points[zero_points.size() == 1 ? 0 : c]);
}

void sum_rows(const panel_product &p, const indirect_rows &x, parallel::range rows, std::int32_t *sums) {
    const std::uint8_t flip = p.x_is_signed ? 128 : 0;
    const auto inner = static_cast<std::uint32_t>(p.lines * p.line_inner);
    auto *to = reinterpret_cast<std::uint32_t *>(sums);
    for (auto m = rows.begin; m < rows.end;) {
        const auto count = rows.end - m < 4 ? 1 : 4;
        std::fill_n(to, count, 0U - flip * inner); // as each byte of s8 is summed with 128 more
        for (std::int64_t i = 0; i < p.lines; ++i) {
            const auto *const line = x.lines[i] + m * x.stride;
            if (count == 4)
                simd::add_four_sums_of_bytes(line, x.stride, p.line_inner, flip, to);
            else
                *to += static_cast<std::uint32_t>(simd::sum_of_bytes(line, p.line_inner, flip));
        }
        m += count;
        to += count;
    }
}

void fold_zero_point_into_bias(std::span<const std::int32_t> weight_sums, std::int32_t x_zero_point,
        std::span<const std::int32_t> bias, std::vector<std::int32_t> &result) {
    if (x_zero_point == 0 && bias.empty()) return result.clear();
    result.resize(weight_sums.size());
    const auto factor = static_cast<std::uint32_t>(x_zero_point);
    // One pass, as a row by many columns spends a tenth of its time here.
    const auto fold = [&, to = result.data(), sums = weight_sums.data(), count = result.size()](auto bias_of) {
        for (std::size_t c = 0; c < count; ++c)
            to[c] = static_cast<std::int32_t>(bias_of(c) - factor * static_cast<std::uint32_t>(sums[c]));
    };
    if (bias.size() > 1)
        fold([of = bias.data()](std::size_t c) { return static_cast<std::uint32_t>(of[c]); });
    else
        fold([one = bias.empty() ? 0U : static_cast<std::uint32_t>(bias.front())](std::size_t) { return one; });
}

void multiply(std::span<const float> factors, float scale, float *to) {
    for (std::size_t i = 0; i < factors.size(); ++i)
        to[i] = scale * factors[i];
}

} // namespace dynquant::layers
