// Four taps at once: their bytes are interleaved, and VPDPBUSD adds the four products of each channel to its sum.
#include "targets/avx512_vnni.hpp"

#include "layers/depthwise/depthwise.hpp"

namespace dynquant::layers {
namespace {

/// At most as many channels as a vector has bytes, in weights and sums in the order of interleave_bytes().
template <typename V>
void depthwise_channels(const depthwise_span &s, std::int64_t first, std::int64_t count, const std::byte *weights) {
    for (std::int64_t p = 0; p < s.positions; ++p) {
        const auto offset = p * s.x_step + first;
        const auto *w = weights;
        typename V::integers sums[4] = {};
        for (std::int64_t t = 0; t < s.tap_count; t += 4, w += 4 * V::bytes) {
            typename V::integers x[4];
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i)
                x[i] = V::load_first_bytes(s.taps[t + i] + offset, count);
            V::interleave_bytes(x);
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j)
                sums[j] = V::dot(sums[j], x[j], V::load_bits(w + j * V::bytes));
        }
        V::store_interleaved(s.y + p * s.channels + first, count, sums);
    }
}

void depthwise(const depthwise_span &s) {
    const auto *weights = static_cast<const std::byte *>(s.weights);
    std::int64_t c = 0;
    for (; c + 64 <= s.channels; c += 64)
        depthwise_channels<simd::avx512_vnni>(s, c, 64, weights + c * s.tap_count);
    for (; c < s.channels; c += 16)
        depthwise_channels<simd::avx512_vnni_128>(
                s, c, s.channels - c < 16 ? s.channels - c : 16, weights + c * s.tap_count);
}

} // namespace

constinit const depthwise_function avx512_vnni_depthwise = depthwise;

} // namespace dynquant::layers
