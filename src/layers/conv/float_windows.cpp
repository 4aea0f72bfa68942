#include "layers/conv/float_windows.hpp"

#include <algorithm>

#include "parallel/parallel.hpp"

namespace dynquant::layers {
namespace {

/// Positions of y in one line, and where they begin among the columns.
struct segment {
    std::int64_t begin, end, column;
};

/// What a tap, of the last dimension, meets in a line of x; null: the line is padding.
void gather(const window &w, const float *line, std::int64_t tap, const segment &of_y, float *to) {
    const auto d = w.rank() - 1;
    const auto stride = w.strides[d], offset = tap * w.dilations[d] - w.pads_begin[d];
    auto begin = of_y.end, end = of_y.end;
    if (line && offset < w.x[d]) {
        begin = std::clamp(offset < 0 ? ceil_div(-offset, stride) : 0, of_y.begin, of_y.end);
        end = std::clamp((w.x[d] - offset - 1) / stride + 1, begin, of_y.end);
    }
    auto *const first = to + of_y.column;
    std::fill(first, first + (begin - of_y.begin), 0.0F);
    auto *next = first + (begin - of_y.begin);
    if (begin < end) {
        const auto *const from = line + (begin * stride + offset);
        if (stride == 1)
            std::copy(from, from + (end - begin), next);
        else
            for (std::int64_t i = 0; i < end - begin; ++i)
                next[i] = from[i * stride];
    }
    next += end - begin;
    std::fill(next, first + (of_y.end - of_y.begin), 0.0F);
}

} // namespace

void gather_windows(
        const window &w, const float *x, std::int64_t channels, std::int64_t first, std::int64_t count, float *to) {
    const auto taps = w.kernel.back(), positions = w.y.back(), tap_lines = *volume(w.kernel) / taps;
    const auto items = tap_lines * channels, last = first + count;
    if (items == 0) return;
    const auto plane = *volume(w.x); // there are channels, so that x has elements
    parallel::for_each_part(items, parallel::parts_for_items(items, items * taps * count), [&](parallel::range part) {
        for (auto begin = part.begin; begin < part.end;) {
            const auto tap_line = begin / channels, end = std::min(part.end, (tap_line + 1) * channels);
            const auto channel = begin - tap_line * channels, of_part = end - begin;
            for (auto at = first; at < last;) {
                const auto y_line = at / positions, column = at - y_line * positions;
                const segment of_y {column, std::min(positions, column + (last - at)), at - first};
                const auto x_line = w.x_line(y_line, tap_line);
                for (auto c = channel; c < channel + of_part; ++c) {
                    const auto *const line = x_line < 0 ? nullptr : x + c * plane + x_line * w.x.back();
                    for (std::int64_t tap = 0; tap < taps; ++tap)
                        gather(w, line, tap, of_y, to + ((c * tap_lines + tap_line) * taps + tap) * count);
                }
                at += of_y.end - of_y.begin;
            }
            begin = end;
        }
    });
}

} // namespace dynquant::layers
