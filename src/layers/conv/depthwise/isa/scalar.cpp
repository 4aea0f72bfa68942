#include "layers/conv/depthwise/depthwise.hpp"

namespace dynquant::layers {
namespace {

template <typename X>
void depthwise_of(const depthwise_span &s) {
    for (std::int64_t p = 0; p < s.positions; ++p) {
        auto *y = s.y + p * s.channels;
        for (std::int64_t c = 0; c < s.channels; ++c)
            y[c] = s.start ? s.start[c] : 0;
        for (std::int64_t t = 0; t < s.tap_count; ++t) {
            const auto *x = reinterpret_cast<const X *>(s.taps[t]) + p * s.x_step;
            const auto *weights = static_cast<const std::int16_t *>(s.weights) + t / 2 * 2 * s.lanes + t % 2;
            for (std::int64_t c = 0; c < s.channels; ++c)
                y[c] = static_cast<std::int32_t>( // wrapping
                        static_cast<std::uint32_t>(y[c]) + static_cast<std::uint32_t>(x[c] * weights[2 * c]));
        }
    }
}

void depthwise(const depthwise_span &s) {
    s.x_is_signed ? depthwise_of<std::int8_t>(s) : depthwise_of<std::uint8_t>(s);
}

} // namespace

extern const depthwise_function scalar_pairs;
constinit const depthwise_function scalar_pairs = depthwise;

} // namespace dynquant::layers
