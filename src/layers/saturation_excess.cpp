#include "layers/saturation_excess.hpp"

#include <algorithm>

namespace dynquant::layers {
namespace {

/// Two weights of a sign that add up to this cannot saturate: 255 * 128 = 32640 <= INT16_MAX.
constexpr int max_pair_sum = 128;

/// How far two weights of the same sign are beyond max_pair_sum; 0 for other pairs. Never more than either weight, as
/// the other one is at most 128 in magnitude.
int excess_of(int a, int b) {
    const auto positive = std::max(a, 0) + std::max(b, 0), negative = std::min(a, 0) + std::min(b, 0);
    return std::max(positive - max_pair_sum, 0) + std::min(negative + max_pair_sum, 0);
}

} // namespace

void saturation_excess::take_from(std::span<std::int8_t> panel, std::int64_t columns) {
    const auto count = static_cast<std::size_t>(columns), step = 4 * count;
    std::vector<std::int8_t> excess(count);
    places_ = 4; // panels share no step
    for (std::size_t at = 0; at < panel.size(); at += step)
        for (const std::size_t pair : {0U, 2U}) {
            bool is_any = false;
            for (std::size_t n = 0; n < count; ++n) {
                auto &first = panel[at + 4 * n + pair];
                excess[n] = static_cast<std::int8_t>(excess_of(first, panel[at + 4 * n + pair + 1]));
                first = static_cast<std::int8_t>(first - excess[n]);
                is_any |= excess[n] != 0;
            }
            if (is_any) add(static_cast<std::int64_t>(at / count + pair), excess);
        }
    begin_.push_back(static_cast<std::int64_t>(elements_.size() / 4));
}

/// Adds at the next free place of the last step. Skips a place where the pair would saturate.
void saturation_excess::add(std::int64_t row, std::span<const std::int8_t> excess) {
    const auto step = 4 * excess.size();
    const auto fits = [&] {
        if (places_ % 2 == 0) return true;
        const auto *last = weights_.data() + weights_.size() - step + places_ - 1;
        for (std::size_t n = 0; n < excess.size(); ++n)
            if (excess_of(last[4 * n], excess[n]) != 0) return false;
        return true;
    };
    if (!fits()) ++places_;
    if (places_ == 4) {
        places_ = 0;
        elements_.resize(elements_.size() + 4);
        weights_.resize(weights_.size() + step);
    }
    elements_[elements_.size() - 4 + static_cast<std::size_t>(places_)] = {
            static_cast<std::int32_t>(row / line_rows_), static_cast<std::int32_t>(row % line_rows_)};
    auto *to = weights_.data() + weights_.size() - step + places_;
    for (std::size_t n = 0; n < excess.size(); ++n)
        to[4 * n] = excess[n];
    ++places_;
}

} // namespace dynquant::layers
