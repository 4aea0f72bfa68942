#include "parameters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace example {
namespace {

/// Calls f(channel, first, last) for each run of consecutive elements of one channel. In a dense tensor, in any order
/// of its dims, a run is as long as the axis' stride, and runs of successive channels follow each other.
template <typename F>
void for_each_run(const statement &s, F f) {
    const auto volume = s.volume();
    const auto run = s.axis ? s.strides[s.position()] : volume;
    std::size_t channel = 0;
    for (std::int64_t first = 0; first < volume; first += run) {
        f(channel, first, first + run);
        if (++channel == static_cast<std::size_t>(s.channels())) channel = 0;
    }
}

struct range {
    double low = 0, high = 0;
};

} // namespace

parameters derive(const statement &s, const float *src) {
    const auto channels = static_cast<std::size_t>(s.channels());
    parameters result {std::vector<float>(channels), std::vector<std::int32_t>(channels)};
    std::vector<range> ranges(channels);
    for_each_run(s, [&](std::size_t channel, std::int64_t first, std::int64_t last) {
        auto &[low, high] = ranges[channel];
        for (auto i = first; i < last; ++i) {
            const double x = src[i];
            if (!std::isfinite(x)) {
                ++result.not_finite;
                continue;
            }
            low = std::min(low, x);
            high = std::max(high, x);
        }
    });

    const double lowest = s.integers == data_type::u8 ? 0 : -128;
    for (std::size_t c = 0; c < channels; ++c) {
        const auto [low, high] = ranges[c];
        const bool zeros = low == high;
        result.zero_channels += zeros;
        const double smallest = std::numeric_limits<float>::min(); // smallest normal float
        result.scales[c] = zeros ? 1.0f : static_cast<float>(std::max((high - low) / 255, smallest));
        const double zp = lowest + std::nearbyint(-low / result.scales[c]);
        result.zps[c] = static_cast<std::int32_t>(std::clamp(zp, lowest, lowest + 255));
    }
    return result;
}

quality compare(const statement &s, const float *src, const float *restored, const std::vector<float> &scales) {
    quality result;
    for_each_run(s, [&](std::size_t channel, std::int64_t first, std::int64_t last) {
        for (auto i = first; i < last; ++i) {
            const double x = src[i], error = x - restored[i];
            if (!std::isfinite(x)) continue;
            result.largest_error = std::max(result.largest_error, std::abs(error) / scales[channel]);
            result.signal += x * x;
            result.noise += error * error;
        }
    });
    return result;
}

} // namespace example
