#include "layers/gemm/saturation_excess.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace dynquant::layers {
namespace {

using words = std::int16_t __attribute__((vector_size(16))); // a vector of any processor

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
    const auto step = 4 * columns; // bytes that multiply four elements of a row of x
    for (std::size_t at = 0; at < panel.size(); at += sizeof(words)) {
        const auto size = std::min(panel.size() - at, sizeof(words));
        words pairs = {};
        copy(&pairs, &panel[at], size);
        const words first = pairs << 8 >> 8, excess = excess_of(first, pairs >> 8);
        if (is_zero(excess)) continue;
        pairs = (pairs & ~splat(255)) | ((first - excess) & splat(255));
        copy(&panel[at], &pairs, size);
        for (std::size_t i = 0; i < size / 2; ++i) {
            if (excess[i] == 0) continue;
            const auto byte = static_cast<std::int64_t>(at + 2 * i), row = byte / step * 4 + byte % 4;
            weights_.push_back(
                    {static_cast<std::int32_t>(row / line_rows_), static_cast<std::int32_t>(row % line_rows_),
                            static_cast<std::int16_t>(byte % step / 4), excess[i]});
        }
    }
    begin_.push_back(std::ssize(weights_));
}

} // namespace dynquant::layers
