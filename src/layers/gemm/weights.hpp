// The constant weights of products and convolutions, where their owner has them: packing reads them there, so that no
// copy stands between.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynquant::layers {

/// Weights of 8 bits by filter, channel of a group, and tap. The column of a product is a filter of one tap.
struct constant_weights {
    const std::byte *first = nullptr;
    std::int64_t of_filter = 0, of_channel = 0, of_tap = 0; // strides in bytes
    std::uint8_t flip = 0;                                  // 0x80: uint8, which become int8, 128 less

    /// Filters, channels, taps: row-major.
    static constant_weights of_filters(const void *w, std::int64_t channels, std::int64_t taps) {
        return {static_cast<const std::byte *>(w), channels * taps, taps, 1};
    }
    /// Row-major.
    static constant_weights of_matrix(const void *w, std::int64_t columns) {
        return {static_cast<const std::byte *>(w), 1, columns, 0};
    }

    constant_weights from_filter(std::int64_t filter) const {
        auto result = *this;
        if (first) result.first += filter * of_filter;
        return result;
    }
    std::int8_t at(std::int64_t filter, std::int64_t channel, std::int64_t tap) const {
        const auto byte = first[filter * of_filter + channel * of_channel + tap * of_tap];
        return static_cast<std::int8_t>(std::to_integer<std::uint8_t>(byte) ^ flip);
    }
};

} // namespace dynquant::layers
