#include "layers/conv/cost.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "layers/conv/channels_first/channels_first.hpp"
#include "layers/conv/channels_first/geometry.hpp"
#include "layers/conv/depthwise/depthwise.hpp"
#include "layers/gemm/panel_product.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

using problem = integer_convolution;

constexpr unit_counts never = {std::numeric_limits<double>::infinity()};

/// Counts by name, as double: attributes may be so large that integers overflow.
struct counter {
    unit_counts counts = {};
    void add(unit of, auto... factors) {
        counts[static_cast<std::size_t>(of)] += (static_cast<double>(factors) * ... * 1.0);
    }
};

std::int64_t positions_of(const problem &p) {
    return p.batch * *volume(p.window.y);
}

/// x is permuted to channels last, unless it is so, whatever it is called.
void add_permutation(counter &c, const problem &p) {
    const auto of_image = *volume(p.window.x);
    if (p.is_channels_first && p.channels > 1 && of_image > 1) c.add(unit::permuted, p.batch, p.channels, of_image);
}

unit_counts im2col_counts(const problem &p) {
    const auto &w = p.window;
    const auto &loops = *targets::pick(p.available, panels_table);
    const auto taps = *volume(w.kernel), line_taps = w.kernel.back(), columns = w.y.back();
    const auto channels = p.channels / p.groups, filters = p.filters / p.groups, rows = positions_of(p);
    const bool is_dense = p.has_dense_lines();
    const auto lines = taps / (is_dense ? line_taps : 1);
    const auto steps = lines * ceil_div(taps / lines * channels, loops.of[0].interleaved);
    const auto vectors = ceil_div(filters, loops.of[0].columns), panels = ceil_div(vectors, loops.count);
    counter c;
    c.add(unit::run, 1);
    c.add(unit::product, p.groups, rows, steps, vectors);
    c.add(unit::load, p.groups, rows, steps, panels);
    c.add(unit::tile, p.groups, ceil_div(rows, panel_tile_rows), panels);
    c.add(unit::sum, rows, p.filters);
    if (p.has_zero_points()) c.add(unit::zero_sum, p.groups, rows, lines + vectors);
    add_permutation(c, p);
    if (p.groups == 1 && w.is_pointwise()) return c.counts; // x is the im2col matrix
    const auto inside = w.interior();
    const auto in_place = inside.end - inside.begin < min_direct_rows ? 0 : inside.end - inside.begin;
    c.add(unit::line, p.groups, in_place == 0 ? 0 : rows / columns, lines);
    const auto copied =
            static_cast<double>(rows) / static_cast<double>(columns) * static_cast<double>(columns - in_place);
    const auto lines_copied = is_dense ? taps / line_taps : taps;
    c.add(unit::copy, p.groups, copied, lines_copied);
    // Windows that leave x have padding before or behind what is copied.
    c.add(unit::copy, p.groups, rows / columns, columns - (inside.end - inside.begin), lines_copied, 2);
    c.add(unit::byte, p.groups, copied, taps, channels);
    return c.counts;
}

unit_counts depthwise_counts(const problem &p) {
    if (!is_depthwise(p)) return never;
    const auto &w = p.window;
    const auto taps = *volume(w.kernel), columns = w.y.back(), lines = positions_of(p) / columns;
    const auto inside = w.interior();
    counter c;
    c.add(unit::run, 1);
    c.add(unit::product, lines, columns, ceil_div(taps, quads_function(p) ? 4 : 2),
            round_up(p.channels, min_quad_channels) / 16);
    if (p.channels < min_quad_channels) c.add(unit::copy, lines, columns, taps); // channels that fill no vector
    c.add(unit::tile, lines, columns - std::max<std::int64_t>(inside.end - inside.begin - 1, 0));
    c.add(unit::line, lines, taps);
    c.add(unit::sum, positions_of(p), p.filters);
    add_permutation(c, p);
    return c.counts;
}

unit_counts channels_first_counts(const problem &of_shape) {
    if (!of_shape.is_channels_first || of_shape.channels == 0) return never;
    const auto &loop = *targets::pick(of_shape.available, channels_first_table);
    const geometry g(of_shape, cell_layout(of_shape, loop.elements));
    const auto &p = g.p;
    // A task of one line. More memory is mostly padding, or positions that a stride leaves out.
    constexpr double most_bytes = 512 * 1024;
    const auto phases = std::ssize(g.phases);
    const auto product = [](auto... factors) { return (static_cast<double>(factors) * ...); };
    const auto width = std::min<std::int64_t>(g.columns, 256) + g.most_shift + 16, met = g.lines_met(1);
    const auto line = product(width, g.stride) + product(g.cells.elements, g.dilation);
    if (product(4, width, g.cells.channel_cells(), phases, g.tap_planes, met) > most_bytes
            || product(g.cells.elements, met) * line > most_bytes)
        return never;
    const auto size = g.size_of_tasks(1);
    const auto tasks =
            p.batch * p.groups * g.planes * ceil_div(g.lines, size.lines) * ceil_div(g.columns, size.columns);
    const auto calls = g.are_joined() ? 1 : size.lines;
    const auto positions = g.are_joined() ? (size.lines - 1) * g.cells_of_line(g.columns) + g.columns : size.columns;
    const auto vectors = ceil_div(positions, loop.lanes), steps = g.cells.steps();
    const auto blocks = g.filters / 8 + (g.filters & 4) / 4 + (g.filters & 2) / 2 + (g.filters & 1);
    const auto all_met = g.lines_met(size.lines) * g.tap_planes;
    counter c;
    c.add(unit::run, 1);
    c.add(unit::task, tasks);
    c.add(unit::product, tasks, calls, vectors, steps, g.filters);
    c.add(unit::load, tasks, calls, ceil_div(vectors, 3), steps, g.filters);
    c.add(unit::cells, tasks, g.cells.channel_cells(), phases,
            g.are_joined() ? ceil_div(all_met * g.joined_line, 16)
                           : all_met * ceil_div(size.columns + g.most_shift, 16),
            g.stride > 2 ? 6 : 1);
    c.add(unit::line, tasks,
            g.cells.of == cells_of::taps ? g.cells.channel_cells() : g.cells.channel_cells() * g.cells.elements,
            all_met);
    c.add(unit::tile, tasks, calls, blocks);
    if (g.are_joined() && g.joined_line != g.columns) c.add(unit::tile, tasks, size.lines, g.filters);
    if (p.x_is_signed || g.are_joined()
            || (size.columns == g.columns && p.window.padded(p.window.rank() - 1) != g.x_columns))
        c.add(unit::copy, tasks, g.cells.channels, all_met);
    if (p.has_zero_points()) c.add(unit::zero_sum, tasks, calls, vectors, steps + g.filters);
    c.add(unit::sum, positions_of(p), p.filters);
    return c.counts;
}

/// Nanoseconds that a unit takes in im2col, depthwise/ and channels_first/, in the order of the enumerators.
using constants = unit_counts[3];

// `scripts/measure costs` prints such a row for the processor that it runs on. All were measured on a Zen 4, those
// without VNNI under DYNQUANT_MAX_ISA.
constexpr constants with_vnni = {
        {304, 0, 0.262, 0.108, 0.978, 0, 0.024, 0.204, 35.3, 23.8, 2.56, 0.376},
        {34.8, 0, 0.874, 0, 0.244, 0, 0, 0.191, 50.4, 2.88, 0, 0.339},
        {171, 83.7, 0.246, 0.163, 1.43, 2.35, 0, 0, 3.85, 2.93, 0.728, 0.137},
};
constexpr constants with_avx2 = {
        {446, 0, 0, 1.06, 1.72, 0, 0.112, 0.309, 46.3, 36.2, 3.24, 0},
        {10.1, 0, 0.683, 0, 0.573, 0, 0, 0.218, 37.1, 6.34, 0, 0.308},
        {202, 78.3, 0.125, 0.261, 4.74, 2.97, 0, 0, 2.58, 4.28, 0.018, 0.133},
};
constexpr constants scalar = {
        {154, 0, 0, 2.97, 1.33, 0, 0.148, 0.3, 103, 30.3, 2.49, 1.69},
        {0, 0, 2.42, 0, 0, 0, 0, 0.286, 40.8, 6.18, 0, 2.65},
        {139, 71.4, 0.478, 0.362, 6.22, 5.16, 0, 0, 3.13, 3.05, 0, 1.43},
};
constexpr targets::candidate<const constants *> classes[] = {
        {targets::avx512_vnni, &with_vnni},
        {targets::avx2_vnni, &with_vnni},
        {targets::avx2, &with_avx2},
        {targets::neon_dot, &with_vnni}, // not measured: loops of the same instructions
        {targets::neon, &with_avx2},
        {targets::none, &scalar},
};

} // namespace

unit_counts counts_of(algorithm a, const problem &p) {
    switch (a) {
        case algorithm::im2col: return im2col_counts(p);
        case algorithm::depthwise: return depthwise_counts(p);
        case algorithm::channels_first: return channels_first_counts(p);
    }
    return never;
}

double cost_of(algorithm a, const problem &p) {
    const auto counts = counts_of(a, p);
    if (counts == never) return never.front(); // times a constant of 0 it would be no number
    const auto &takes = (*targets::pick(p.available, classes))[static_cast<std::size_t>(a)];
    return std::inner_product(counts.begin(), counts.end(), takes.begin(), 0.0);
}

double least_cost(const integer_convolution &p) {
    using enum algorithm;
    return std::min({cost_of(im2col, p), cost_of(depthwise, p), cost_of(channels_first, p)});
}

} // namespace dynquant::layers
