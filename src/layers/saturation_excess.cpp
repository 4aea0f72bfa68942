#include "layers/saturation_excess.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "targets/sixteen_bytes.hpp"

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

words even(words a, words b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
}
words odd(words a, words b) {
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}

/// A vector, or what there is of one.
void copy(void *to, const void *from, std::size_t size) {
    if (size == sizeof(words))
        std::memcpy(to, from, sizeof(words)); // of known size: a load or a store
    else
        std::memcpy(to, from, size);
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
            words weights = {};
            copy(&weights, &panel[at + i], size);
            const words first = weights << 8 >> 8;
            auto &excess = pairs[i / sizeof(words)];
            excess = excess_of(first, weights >> 8);
            any |= excess;
            weights = (weights & ~splat(255)) | ((first - excess) & splat(255));
            copy(&panel[at + i], &weights, size);
        }
        if (is_zero(any)) continue;
        const auto row = static_cast<std::int64_t>(at / count);
        const auto add_pair = [&](std::int64_t first, const columns_excess &excess) {
            if (!is_zero(excess.of[0] | excess.of[1])) add(row + first, excess, count);
        };
        add_pair(0, {even(pairs[0], pairs[1]), even(pairs[2], pairs[3])});
        add_pair(2, {odd(pairs[0], pairs[1]), odd(pairs[2], pairs[3])});
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
    auto *const step = &weights_[weights_.size() - 4 * columns];
    for (std::size_t n = 0; n < columns; n += 4) {
        auto bytes = simd::eight_words(excess.of[n / 8]) & 255;
        if (places_ % 2 != 0) bytes <<= 8;
        const simd::eight_words zero = {};
        const auto first = places_ < 2 ? bytes : zero, second = places_ < 2 ? zero : bytes; // words of a column
        const auto four = n % 8 == 0 ? simd::low_words(first, second) : simd::high_words(first, second);
        const auto size = std::min(4 * (columns - n), sizeof four);
        auto whole = zero;
        copy(&whole, step + 4 * n, size);
        whole |= four;
        copy(step + 4 * n, &whole, size);
    }
    last_ = excess;
    ++places_;
}

} // namespace dynquant::layers
