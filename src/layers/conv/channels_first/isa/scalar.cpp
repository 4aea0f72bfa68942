#include <cstring>

#include "layers/conv/channels_first/channels_first.hpp"

namespace dynquant::layers {
namespace {

/// Filter by filter, so that compilers make vectors of the positions.
void multiply_cells(const channels_first_span &s) {
    std::int64_t block = 8;
    for (std::int64_t filter = 0; filter < s.filters; filter += block) {
        while (block > s.filters - filter)
            block /= 2;
        for (std::int64_t f = 0; f < block; ++f) {
            auto *const sums = s.sums + (filter + f) * s.stride;
            for (std::int64_t p = 0; p < s.positions; ++p)
                sums[p] = s.start[filter + f];
            for (std::int64_t step = 0; step < s.steps; ++step) {
                std::int16_t w[2];
                std::memcpy(w, s.weights + filter * s.steps + step * block + f, sizeof w);
                const auto *x = s.cells[step];
                for (std::int64_t p = 0; p < s.positions; ++p) {
                    std::int16_t pair[2];
                    std::memcpy(pair, x + 4 * p, sizeof pair);
                    sums[p] = static_cast<std::int32_t>( // wrapping
                            static_cast<std::uint32_t>(sums[p])
                            + static_cast<std::uint32_t>(pair[0] * w[0] + pair[1] * w[1]));
                }
            }
        }
    }
}

} // namespace

extern const channels_first_loop scalar_channels_first;
constinit const channels_first_loop scalar_channels_first {multiply_cells, 2};

} // namespace dynquant::layers
