#include "layers/saturation_excess.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace dynquant::layers {
namespace {

using words = saturation_excess::words;

/// Two weights of a sign that add up to this cannot saturate: 255 * 128 = 32640 <= INT16_MAX.
constexpr std::int16_t max_pair_sum = 128;

words splat(std::int16_t value) {
    return words {} + value;
}
words greater(words a, words b) {
    return a > b ? a : b;
}
words less(words a, words b) {
    return a < b ? a : b;
}

/// How far two weights of the same sign are beyond max_pair_sum; 0 for other pairs. Never more than either weight, as
/// the other one is at most 128 in magnitude.
words excess_of(words a, words b) {
    const auto zero = words {}, most = splat(max_pair_sum);
    const auto positive = greater(a, zero) + greater(b, zero), negative = less(a, zero) + less(b, zero);
    return greater(positive - most, zero) + less(negative + most, zero);
}

bool is_zero(words v) {
    std::array<std::uint64_t, 2> halves;
    std::memcpy(halves.data(), &v, sizeof v);
    return (halves[0] | halves[1]) == 0;
}

} // namespace

void saturation_excess::take_from(std::span<std::int8_t> panel, std::int64_t columns) {
    const auto count = static_cast<std::size_t>(columns), step = 4 * count;
    places_ = 4; // panels share no step
    for (std::size_t at = 0; at < panel.size(); at += step) {
        words pairs[2 * vectors] = {}, any = {}; // two pairs of each of four columns
        for (std::size_t i = 0; i < step; i += sizeof(words)) {
            const auto size = std::min(step - i, sizeof(words));
            const auto copy = [&](void *to, const void *from) {
                if (size == sizeof(words))
                    std::memcpy(to, from, sizeof(words)); // of known size: a load or a store
                else
                    std::memcpy(to, from, size);
            };
            words weights = {};
            copy(&weights, &panel[at + i]);
            const words first = weights << 8 >> 8;
            auto &excess = pairs[i / sizeof(words)];
            excess = excess_of(first, weights >> 8);
            any |= excess;
            weights = (weights & ~splat(255)) | ((first - excess) & splat(255));
            copy(&panel[at + i], &weights);
        }
        if (is_zero(any)) continue;
        for (const std::size_t pair : {0U, 1U}) {
            columns_excess excess = {};
            for (std::size_t n = 0; n < count; ++n)
                excess.of[n / 8][n % 8] = pairs[n / 4][n % 4 * 2 + pair];
            if (!is_zero(excess.of[0] | excess.of[1]))
                add(static_cast<std::int64_t>(at / count + 2 * pair), excess, count);
        }
    }
    begin_.push_back(static_cast<std::int64_t>(elements_.size() / 4));
}

/// Adds at the next free place of the last step. Skips a place where the pair would saturate.
void saturation_excess::add(std::int64_t row, const columns_excess &excess, std::size_t columns) {
    if (places_ % 2 != 0 && !is_zero(excess_of(last_.of[0], excess.of[0]) | excess_of(last_.of[1], excess.of[1])))
        ++places_;
    if (places_ == 4) {
        places_ = 0;
        elements_.resize(elements_.size() + 4);
        weights_.resize(weights_.size() + 4 * columns);
    }
    elements_[elements_.size() - 4 + static_cast<std::size_t>(places_)] = {
            static_cast<std::int32_t>(row / line_rows_), static_cast<std::int32_t>(row % line_rows_)};
    auto *to = &weights_[weights_.size() - 4 * columns + static_cast<std::size_t>(places_)];
    for (std::size_t n = 0; n < columns; ++n)
        to[4 * n] = static_cast<std::int8_t>(excess.of[n / 8][n % 8]);
    last_ = excess;
    ++places_;
}

} // namespace dynquant::layers
