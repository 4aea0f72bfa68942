#include "layers/conv/channels_first/geometry.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

/// Cell t of a line of taps begins t * advance elements on. Returns how many remainders t * advance % stride there are:
/// the cells of one remainder, a phase, lie whole positions apart, so that one array of cells serves them.
std::int64_t phases_of(std::int64_t cells, std::int64_t advance, std::int64_t stride) {
    return std::min(cells, stride / std::gcd(advance, stride));
}

/// Makes one line of all positions of a convolution of one tap, which a task cuts as it likes.
integer_convolution with_long_lines(integer_convolution p) {
    auto &w = p.window;
    if (!w.is_pointwise()) return p;
    const auto positions = *volume(w.y);
    w = {{positions}, {positions}, {1}, {1}, {1}, {0}, {0}};
    return p;
}

/// The dimensions of a window but the last two.
window outer_of(const window &w) {
    const auto all_but_two = [](const dims &values) {
        return dims(values.begin(), values.end() - std::min<std::ptrdiff_t>(2, std::ssize(values)));
    };
    return {all_but_two(w.x), all_but_two(w.y), all_but_two(w.kernel), all_but_two(w.strides), all_but_two(w.dilations),
            all_but_two(w.pads_begin), all_but_two(w.pads_end)};
}

} // namespace

cell_layout::cell_layout(const integer_convolution &p, std::int64_t elements)
    : elements(elements)
    , channels(p.channels / p.groups)
    , line_taps(p.window.kernel.back())
    , tap_lines(*volume(p.window.kernel) / line_taps) {
    // Attributes that break ONNX's rules are refused where the shape of x is known.
    const auto last = [](const dims &values) {
        return values.empty() ? 1 : std::clamp<std::int64_t>(values.back(), 1, std::int64_t {1} << 30);
    };
    const auto stride = last(p.window.strides), dilation = last(p.window.dilations);
    const auto cost = [&](cells_of what, std::int64_t advance) {
        of = what;
        return std::pair(
                line_cells() * channel_cells(), phases_of(line_cells(), advance * dilation, stride) * channel_cells());
    };
    const auto of_taps = cost(cells_of::taps, elements), of_channels = cost(cells_of::channels, 1);
    of = of_channels <= of_taps ? cells_of::channels : cells_of::taps;
}

geometry::geometry(const integer_convolution &of_shape, const cell_layout &cells)
    : p(with_long_lines(of_shape))
    , cells(cells)
    , outer(outer_of(p.window))
    , x_elements(*volume(p.window.x))
    , planes(*volume(outer.y))
    , tap_planes(*volume(outer.kernel))
    , columns(p.window.y.back())
    , x_columns(p.window.x.back())
    , filters(p.filters / p.groups)
    , stride(p.window.strides.back())
    , dilation(p.window.dilations.back()) {
    if (const auto rank = p.window.rank(); rank > 1) {
        const auto d = rank - 2;
        lines = p.window.y[d];
        x_lines = p.window.x[d];
        line_stride = p.window.strides[d];
        line_dilation = p.window.dilations[d];
        line_pad = p.window.pads_begin[d];
        tap_lines = p.window.kernel[d];
    }
    const auto advance = dilation * (cells.of == cells_of::taps ? cells.elements : 1);
    const auto count = phases_of(cells.line_cells(), advance, stride);
    for (std::int64_t t = 0; t < cells.line_cells(); ++t) {
        if (t < count) phases.push_back(t * advance % stride);
        tap_phase.push_back(t % count);
        tap_shift.push_back(t * advance / stride);
    }
    most_shift = std::ranges::max(tap_shift);
    const auto met = columns + p.window.covered(p.window.rank() - 1) - 1;
    if (lines > 1 && line_stride == 1 && stride == 1 && met < round_up(columns, 16)) joined_line = met;
}

task_size geometry::size_of_tasks(std::int64_t parts) const {
    constexpr std::int64_t unit = 256; // shorter lines do not make up for what one costs
    const auto of_lines = p.batch * p.groups * planes;
    task_size size {of_lines >= parts ? lines : ceil_div(lines * of_lines, parts), columns};
    const auto is_large = [&] { return cells_bytes(size) + 4 * filters * sums_of_filter(size) > 192 * 1024; };
    while (size.lines > 1 && is_large())
        size.lines = ceil_div(size.lines, 2);
    if (size.lines == 1) size.columns = std::min(columns, round_up(ceil_div(columns * of_lines * lines, parts), unit));
    while (size.columns > unit && is_large())
        size.columns = round_up(size.columns / 2, unit);
    return size;
}

} // namespace dynquant::layers
