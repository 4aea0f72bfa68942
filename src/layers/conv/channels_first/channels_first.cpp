#include "layers/conv/channels_first/geometry.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "targets/features.hpp"
#include "targets/simd.hpp"
#include "targets/sixteen_bytes.hpp"

namespace dynquant::layers {
namespace {

using problem = integer_convolution;
using simd::sixteen_bytes;

/// A cell of x that a cell of weights multiplies.
struct step {
    std::int64_t tap_plane, tap_line, channel_cell, line_cell; // tap_line: of the plane
};

struct channels_first_weights {
    channels_first_weights(const problem &p, const channels_first_loop &kind, const constant_weights &w)
        : cells(p, kind.elements)
        , multiply(kind.multiply) {
        std::vector<std::vector<std::int32_t>> of_steps; // a cell for each filter of all groups
        const auto &kernel = p.window.kernel;
        const auto of_plane = kernel.size() > 1 ? kernel[kernel.size() - 2] : 1;
        for (std::int64_t line = 0; line < cells.tap_lines; ++line)
            for (std::int64_t c = 0; c < cells.channel_cells(); ++c)
                for (std::int64_t t = 0; t < cells.line_cells(); ++t)
                    add({line / of_plane, line % of_plane, c, t}, line, p, w, of_steps);
        arrange(p, of_steps);
        const bool subtracts_zero_points = cells.elements == 4 && p.has_zero_points();
        for (std::int64_t f = 0; f < p.filters; ++f) {
            if (subtracts_zero_points) zero_points.push_back(p.w_zero_point(f));
            std::int64_t sum = 0;
            for (std::int64_t c = 0; c < cells.channels; ++c)
                for (std::int64_t t = 0; t < cells.tap_lines * cells.line_taps; ++t)
                    sum += w.at(f, c, t) - p.w_zero_point(f);
            sums.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
            // s8 is read as u8, 128 more.
            start.push_back(
                    p.x_is_signed ? static_cast<std::int32_t>(0U - 128U * static_cast<std::uint32_t>(sums.back())) : 0);
        }
    }

    cell_layout cells;
    channels_first_function multiply;
    std::vector<step> steps;
    std::vector<std::int32_t> weights, sums, start; // weights: group by group
    std::vector<std::int32_t> zero_points, ones;    // empty: none; weights of 1, which add x up

  private:
    /// f(channel, tap) for each element of a cell; those beyond the last are 0.
    template <typename F>
    std::int32_t cell_of(const step &s, std::int64_t line, F f) const {
        const auto e = cells.elements;
        std::uint32_t cell = 0;
        for (std::int64_t k = 0; k < e; ++k) {
            const auto channel = cells.of == cells_of::channels ? s.channel_cell * e + k : s.channel_cell;
            const auto tap = cells.of == cells_of::channels ? s.line_cell : s.line_cell * e + k;
            if (channel < cells.channels && tap < cells.line_taps)
                cell |= (static_cast<std::uint32_t>(f(channel, line * cells.line_taps + tap))
                                & (e == 4 ? 0xffU : 0xffffU))
                        << (32 / e * k);
        }
        return static_cast<std::int32_t>(cell);
    }

    /// Words hold weights less their zero points; for bytes the function subtracts these.
    void add(const step &s, std::int64_t line, const problem &p, const constant_weights &w,
            std::vector<std::vector<std::int32_t>> &of_steps) {
        steps.push_back(s);
        auto &of_step = of_steps.emplace_back();
        for (std::int64_t filter = 0; filter < p.filters; ++filter) {
            const auto zero_point = cells.elements == 4 ? 0 : p.w_zero_point(filter);
            of_step.push_back(cell_of(s, line,
                    [&](std::int64_t channel, std::int64_t tap) { return w.at(filter, channel, tap) - zero_point; }));
        }
        ones.push_back(cell_of(s, line, [](std::int64_t, std::int64_t) { return 1; }));
    }

    /// Blocks of 8, 4, 2 or 1 filters of a group, step by step.
    void arrange(const problem &p, const std::vector<std::vector<std::int32_t>> &of_steps) {
        const auto filters = p.filters / p.groups;
        for (std::int64_t g = 0; g < p.groups; ++g)
            for (std::int64_t first = 0, block = 8; first < filters; first += block) {
                while (block > filters - first)
                    block /= 2;
                for (const auto &of_step : of_steps) {
                    const auto from = of_step.begin() + g * filters + first;
                    weights.insert(weights.end(), from, from + block);
                }
            }
    }
};

/// 16 bytes from `from` on, every stride-th.
template <int stride>
sixteen_bytes load_bytes(const std::uint8_t *from, std::int64_t any_stride) {
    sixteen_bytes a, b;
    if constexpr (stride == 1) {
        std::memcpy(&a, from, 16);
        return a;
    } else if constexpr (stride == 2) {
        std::memcpy(&a, from, 16);
        std::memcpy(&b, from + 16, 16);
        return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    } else {
        for (int i = 0; i < 16; ++i)
            a[i] = from[i * any_stride];
        return a;
    }
}

/// s8 becomes u8, 128 more.
void copy_as_unsigned(const std::uint8_t *from, std::int64_t count, std::uint8_t *to) {
    std::int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        sixteen_bytes bytes;
        std::memcpy(&bytes, from + i, sizeof bytes);
        bytes ^= 0x80;
        std::memcpy(to + i, &bytes, sizeof bytes);
    }
    for (; i < count; ++i)
        to[i] = from[i] ^ 0x80;
}

/// The sources of a cell's elements: that of position i is at from[element] + offset + i * stride.
using cell_sources = std::array<const std::uint8_t *, 4>;

/// Makes cells of sixteen positions at once.
template <int stride>
void make_cells_by(const cell_sources &from, std::int64_t offset, std::int64_t any_stride, std::int64_t elements,
        std::int64_t positions, std::byte *to) {
    for (std::int64_t p = 0; p < positions; p += 16, to += 64) {
        const auto load = [&](std::size_t i) {
            return load_bytes<stride>(from[i] + offset + p * any_stride, any_stride);
        };
        sixteen_bytes cells[4] = {load(0), load(1)};
        if (elements == 4) {
            cells[2] = load(2);
            cells[3] = load(3);
        } else { // words: each byte has a zero behind it
            cells[2] = cells[1];
            cells[1] = sixteen_bytes {};
        }
        simd::interleave(cells);
        simd::unroll<4>(
                [&](int i) { std::memcpy(to + 16 * i, &cells[i], 16); }); // by registers, unlike one copy of all
    }
}

void make_cells(const cell_sources &from, std::int64_t offset, std::int64_t stride, std::int64_t elements,
        std::int64_t positions, std::byte *to) {
    if (stride == 1) return make_cells_by<1>(from, offset, stride, elements, positions, to);
    if (stride == 2) return make_cells_by<2>(from, offset, stride, elements, positions, to);
    make_cells_by<3>(from, offset, stride, elements, positions, to);
}

/// Where a task is, and its extent.
struct task_part {
    std::int64_t image, group, plane;
    parallel::range lines, columns;

    std::int64_t height() const { return lines.end - lines.begin; }
    std::int64_t width() const { return columns.end - columns.begin; }
};

/// A task makes the cells of the lines of x that it meets, then multiplies.
class channels_first_convolution final : public accumulator_source {
  public:
    channels_first_convolution(const problem &p, std::shared_ptr<const channels_first_weights> w)
        : g_(p, w->cells)
        , w_(std::move(w)) {}

    bool takes_channels_first() const override { return true; }
    const std::vector<std::int32_t> &weight_sums() const override { return w_->sums; }

    void for_each_block(const void *x, std::span<const std::int32_t> x_zero_points, workspace &memory,
            block_consumer consume) const override {
        if (g_.p.batch == 0) return;
        const auto planes = g_.planes, of_lines = g_.p.batch * g_.p.groups * planes, steps = std::ssize(w_->steps);
        const auto work =
                of_lines * g_.lines * (g_.cells_bytes({1, g_.columns}) + g_.columns * g_.filters * (steps + 2) / 4);
        const auto size = g_.size_of_tasks(parallel::parts_for_items(of_lines * g_.lines * g_.columns, work));
        const auto blocks = ceil_div(g_.lines, size.lines), segments = ceil_div(g_.columns, size.columns);
        const auto tasks = of_lines * blocks * segments;
        const auto parts = parallel::parts_for_items(tasks, work);
        prepare(memory, parts, size, x);
        parallel::for_each_part(tasks, parts, [&](parallel::range part, std::size_t index) {
            auto &own = memory.parts[index];
            for (auto task = part.begin; task < part.end; ++task) {
                const auto segment = task % segments * size.columns, line = task / segments % blocks * size.lines;
                const auto of_all = task / segments / blocks;
                run({of_all / planes / g_.p.groups, of_all / planes % g_.p.groups, of_all % planes,
                            {line, std::min(g_.lines, line + size.lines)},
                            {segment, std::min(g_.columns, segment + size.columns)}},
                        size, static_cast<const std::uint8_t *>(x), x_zero_points, own, consume);
            }
        });
    }

  private:
    /// Their sums stay in a first-level cache until they are consumed. Weights lie in blocks of eight filters.
    std::int64_t filters_at_once(const task_size &of) const {
        return std::min(std::max<std::int64_t>(16 * 1024 / (4 * g_.sums_of_filter(of)) / 8 * 8, 8), g_.filters);
    }

    void prepare(workspace &memory, int parts, const task_size &of, const void *x) const {
        memory.make_parts(parts);
        for (auto &own : std::span(memory.parts).first(static_cast<std::size_t>(parts))) {
            workspace::ensure_size(own.rows, static_cast<std::size_t>(g_.cells_bytes(of)));
            workspace::ensure_size(
                    own.sums, static_cast<std::size_t>((filters_at_once(of) + 1) * g_.sums_of_filter(of)));
            workspace::ensure_size(own.taps, w_->steps.size() * static_cast<std::size_t>(of.lines));
            own.end = static_cast<const std::byte *>(x) + g_.x_elements * g_.p.channels * g_.p.batch;
            own.make_padding(copied_channels() * g_.copied_elements(of));
        }
    }

    /// Channels of x whose lines are copied at once.
    std::int64_t copied_channels() const { return g_.cells.of == cells_of::channels ? g_.cells.elements : 1; }

    std::byte padding(std::int32_t x_zero_point) const {
        return static_cast<std::byte>(static_cast<std::uint8_t>(x_zero_point) ^ (g_.p.x_is_signed ? 0x80 : 0));
    }

    void run(const task_part &t, const task_size &size, const std::uint8_t *x,
            std::span<const std::int32_t> x_zero_points, workspace::part &own, block_consumer consume) const {
        const auto pad = padding(zero_point_of(x_zero_points, t.image));
        own.pad(pad, copied_channels() * g_.copied_elements(size));
        make_all_cells(t, size, x + (t.image * g_.p.channels + t.group * g_.cells.channels) * g_.x_elements, pad, own);
        const auto calls = find_taps(t, size, own);
        if (!w_->zero_points.empty())
            for_each_call(t, size, calls, own, [&](channels_first_span span) {
                static constexpr std::int32_t zero = 0;
                span.weights = w_->ones.data();
                span.start = &zero;
                span.filters = 1;
                span.sums += filters_at_once(size) * g_.sums_of_filter(size);
                w_->multiply(span);
            });
        const auto begin = ((t.image * g_.planes + t.plane) * g_.lines + t.lines.begin) * g_.columns;
        const parallel::range positions {
                begin + t.columns.begin, begin + (t.height() - 1) * g_.columns + t.columns.end};
        const auto most = filters_at_once(size);
        for (std::int64_t f = 0; f < g_.filters; f += most) {
            const auto filters = std::min(most, g_.filters - f);
            multiply(t, size, calls, {f, f + filters}, own);
            consume({positions, own.sums.data(), t.group * g_.filters + f, filters, g_.sums_of_filter(size)});
        }
    }

    /// x: the first channel of the group.
    void make_all_cells(const task_part &t, const task_size &size, const std::uint8_t *x, std::byte pad,
            workspace::part &own) const {
        const auto line_cells = g_.cells_of_line(size.columns), of_phase = g_.phase_bytes(size);
        const auto phases = std::ssize(g_.phases), plane_bytes = 4 * line_cells * g_.lines_met(size.lines);
        const auto lines = lines_met(t, size);
        const auto positions =
                g_.are_joined() ? round_up(lines.count * g_.joined_line, 16) : round_up(t.width() + g_.most_shift, 16);
        for (std::int64_t c = 0; c < g_.cells.channel_cells(); ++c)
            for (std::int64_t tap_plane = 0; tap_plane < g_.tap_planes; ++tap_plane) {
                const auto x_plane = plane_met(t.plane, tap_plane);
                auto *const to = own.rows.data() + c * phases * of_phase + plane_bytes * tap_plane;
                if (x_plane < 0) {
                    for (std::int64_t phase = 0; phase < phases; ++phase)
                        fill(to + phase * of_phase, pad, lines.count * line_cells);
                    continue;
                }
                const auto from = lines_of(lines, x + x_plane * g_.x_lines * g_.x_columns, c, pad, own);
                if (g_.are_joined()) {
                    make_cells(from.first, from.offset(0), 1, g_.cells.elements, positions, to);
                    continue;
                }
                for (std::int64_t i = 0; i < lines.count; ++i) {
                    if (!meets_a_tap(i)) continue;
                    for (std::int64_t phase = 0; phase < phases; ++phase) {
                        auto *const cells = to + phase * of_phase + 4 * line_cells * i;
                        if (!lines.is_in_x(i))
                            fill(cells, pad, line_cells);
                        else
                            make_cells(from.first, from.offset(i) + g_.phases[static_cast<std::size_t>(phase)],
                                    g_.stride, g_.cells.elements, positions, cells);
                    }
                }
            }
    }

    /// The lines of a plane of x that a task meets, and the elements of them that its columns do.
    struct met_lines {
        std::int64_t begin, count; // from x's first line on; of these [first, end) are in x, not in the padding
        std::int64_t first, end;
        parallel::range elements;
        std::int64_t read; // elements from the first on in the last line that are read where it lies; 0: all are copied
        bool are_filled;   // copies take their padding anew
        std::int64_t pitch, channel_pitch; // of copies

        bool is_in_x(std::int64_t i) const { return begin + i >= 0 && begin + i < end; }
    };

    met_lines lines_met(const task_part &t, const task_size &size) const {
        const auto begin = t.lines.begin * g_.line_stride - g_.line_pad, count = g_.lines_met(t.height());
        const auto from = t.columns.begin * g_.stride - g_.p.window.pads_begin.back();
        const auto to = from + (t.width() - 1) * g_.stride + g_.p.window.covered(g_.p.window.rank() - 1);
        // Both are the number of lines where all that the task meets is padding.
        const auto first = std::clamp<std::int64_t>(begin, 0, g_.x_lines);
        const auto end = std::clamp<std::int64_t>(begin + count, first, g_.x_lines);
        const bool is_in_place =
                first < end && !g_.p.x_is_signed && !g_.are_joined() && from >= 0 && to <= g_.x_columns;
        return {begin, count, first, end, {from, to}, is_in_place ? g_.line_elements(t.width()) : 0,
                size.columns < g_.columns, g_.copied_line(size), g_.copied_elements(size)};
    }

    /// From the first element on that a task meets: lines where they are, or copies with padding.
    struct lines_of_cell {
        cell_sources first; // line
        std::int64_t before, pitch;

        /// How far a line lies behind `first`, which is not copied: vectors of pointers just stored are loaded late.
        std::int64_t offset(std::int64_t line) const { return (line - before) * pitch; }
    };

    /// The channel of element k of a cell; beyond the last the last again, which weights of 0 multiply.
    std::int64_t channel_of(std::int64_t cell, std::int64_t k) const {
        return g_.cells.of == cells_of::taps ? cell : std::min(cell * g_.cells.elements + k, g_.cells.channels - 1);
    }

    /// x: the plane in the group's first channel. All lines are copied before cells are made: vectors that are loaded
    /// right after their bytes were stored wait for these.
    lines_of_cell lines_of(
            const met_lines &met, const std::uint8_t *x, std::int64_t cell, std::byte pad, workspace::part &own) const {
        const auto channels = copied_channels();
        const auto last = channel_of(cell, channels - 1) * g_.x_elements + (met.end - 1) * g_.x_columns;
        const bool is_in_place = met.read > 0
                && own.end - reinterpret_cast<const std::byte *>(x) >= last + met.elements.begin + met.read;
        lines_of_cell result {{}, is_in_place ? met.first - met.begin : 0, is_in_place ? g_.x_columns : met.pitch};
        auto *const copies = reinterpret_cast<std::uint8_t *>(own.padding.data());
        for (std::int64_t k = 0; k < channels; ++k) {
            const auto *const plane = x + channel_of(cell, k) * g_.x_elements;
            auto *const copy = copies + k * met.channel_pitch;
            result.first[static_cast<std::size_t>(k)] =
                    is_in_place ? plane + met.first * g_.x_columns + met.elements.begin : copy;
            for (std::int64_t i = 0; i < met.count && !is_in_place; ++i) {
                auto *const line = copy + i * met.pitch;
                // Where all columns are met each line leaves the same padding at its ends.
                if ((g_.are_joined() && !met.is_in_x(i)) || met.are_filled)
                    std::memset(line, std::to_integer<int>(pad),
                            static_cast<std::size_t>(met.elements.end - met.elements.begin));
                if (met.is_in_x(i)) copy_elements(plane + (met.begin + i) * g_.x_columns, met.elements, line);
            }
        }
        if (g_.cells.of == cells_of::taps)
            for (std::size_t k = 1; k < static_cast<std::size_t>(g_.cells.elements); ++k)
                result.first[k] = result.first[k - 1] + g_.dilation;
        return result;
    }

    /// The plane of x that a plane of taps meets for a plane of y; -1 in the padding.
    std::int64_t plane_met(std::int64_t y_plane, std::int64_t tap_plane) const {
        std::int64_t plane = 0, size = 1;
        for (auto d = g_.outer.rank(); d-- > 0; size *= g_.outer.x[d]) {
            const auto at = g_.outer.position(d, y_plane % g_.outer.y[d], tap_plane % g_.outer.kernel[d]);
            if (at < 0 || at >= g_.outer.x[d]) return -1;
            plane += at * size;
            y_plane /= g_.outer.y[d];
            tap_plane /= g_.outer.kernel[d];
        }
        return plane;
    }

    /// Whether a tap meets a line of x, counted from the first that the task meets.
    bool meets_a_tap(std::int64_t line) const {
        for (std::int64_t t = 0; t < g_.tap_lines; ++t)
            if (line >= t * g_.line_dilation && (line - t * g_.line_dilation) % g_.line_stride == 0) return true;
        return false;
    }

    /// Cells of padding alone.
    void fill(std::byte *to, std::byte value, std::int64_t cells) const {
        if (g_.cells.elements == 4)
            std::memset(to, std::to_integer<int>(value), static_cast<std::size_t>(4 * cells));
        else
            for (std::int64_t i = 0; i < 2 * cells; ++i) {
                to[2 * i] = value;
                to[2 * i + 1] = std::byte {0};
            }
    }

    /// Copies those elements of a line of x that are not in the padding.
    void copy_elements(const std::uint8_t *x, parallel::range elements, std::uint8_t *to) const {
        const auto begin = std::max<std::int64_t>(elements.begin, 0), end = std::min(g_.x_columns, elements.end);
        if (begin >= end) return;
        to += begin - elements.begin;
        if (g_.p.x_is_signed)
            copy_as_unsigned(x + begin, end - begin, to);
        else
            std::memcpy(to, x + begin, static_cast<std::size_t>(end - begin));
    }

    /// Finds the cells of each step, for all lines or line by line. Returns how many times the function is called.
    std::int64_t find_taps(const task_part &t, const task_size &size, workspace::part &own) const {
        const auto line_bytes = 4 * g_.cells_of_line(size.columns), met = g_.lines_met(size.lines);
        const auto calls = g_.are_joined() ? 1 : t.height();
        auto to = own.taps.begin();
        for (const auto &s : w_->steps) {
            const auto at = static_cast<std::size_t>(s.line_cell);
            const auto phase = s.channel_cell * std::ssize(g_.phases) + g_.tap_phase[at];
            const auto x_line = s.tap_plane * met + s.tap_line * g_.line_dilation;
            *to++ = own.rows.data() + phase * g_.phase_bytes(size) + x_line * line_bytes + 4 * g_.tap_shift[at];
        }
        for (std::int64_t line = 1; line < calls; ++line)
            to = std::transform(to - std::ssize(w_->steps), to, to,
                    [by = g_.line_stride * line_bytes](const std::byte *above) { return above + by; });
        return calls;
    }

    /// f(span) for each call of the function, by the weights of no filters yet.
    template <typename F>
    void for_each_call(
            const task_part &t, const task_size &size, std::int64_t calls, workspace::part &own, const F &f) const {
        const auto steps = std::ssize(w_->steps);
        const auto positions =
                g_.are_joined() ? (t.height() - 1) * g_.cells_of_line(size.columns) + t.width() : t.width();
        for (std::int64_t i = 0; i < calls; ++i)
            f(channels_first_span {own.taps.data() + i * steps, steps, positions, nullptr, nullptr, nullptr, nullptr, 0,
                    own.sums.data() + i * t.width(), g_.sums_of_filter(size)});
    }

    /// filters: some of the group, from a block of weights on.
    void multiply(const task_part &t, const task_size &size, std::int64_t calls, parallel::range filters,
            workspace::part &own) const {
        const auto first = t.group * g_.filters + filters.begin;
        for_each_call(t, size, calls, own, [&](channels_first_span span) {
            span.weights = w_->weights.data() + first * span.steps;
            span.start = w_->start.data() + first;
            span.filters = filters.end - filters.begin;
            if (!w_->zero_points.empty()) {
                span.zero_points = w_->zero_points.data() + first;
                span.x_sums = span.sums + filters_at_once(size) * g_.sums_of_filter(size);
            }
            w_->multiply(span);
        });
        if (!g_.are_joined() || g_.joined_line == g_.columns) return;
        for (std::int64_t f = 0; f < filters.end - filters.begin; ++f) {
            auto *const of_filter = own.sums.data() + f * g_.sums_of_filter(size);
            for (std::int64_t line = 1; line < t.height(); ++line)
                std::memmove(of_filter + line * g_.columns, of_filter + line * g_.cells_of_line(g_.columns),
                        static_cast<std::size_t>(g_.columns) * sizeof *of_filter);
        }
    }

    geometry g_;
    std::shared_ptr<const channels_first_weights> w_;
};

} // namespace

convolution_factory pack_channels_first_convolution(
        const problem &p, const channels_first_loop &kind, const constant_weights &w) {
    return [packed = std::make_shared<const channels_first_weights>(p, kind, w)](const problem &of_shape) {
        return std::make_unique<const channels_first_convolution>(of_shape, packed);
    };
}

/// Measured on a Zen 4 against im2col, which more channels and filters fill, and depthwise/, which more groups fill,
/// times as fast with int8 and uint8 weights: 24 to 72 channels 1.25 and 1.5, 3x3 of 32 to 32 0.94 and 1.1, of 64 to 64
/// 0.9 and 0.9; 8 groups of one channel 1.6 and 1.3, 96 groups 0.7 and 0.6. Of one tap, whose lines may be long: 32 to
/// 32 1.2 and 1.7, 128 to 128 1.06 and 1.3, 512 to 512 on 7x7 0.6 and 0.7.
constexpr std::int64_t few = 24, max_few_of_one_tap = 128, max_few_groups = 8;

convolution_factory pack_channels_first_convolution(const problem &p, const constant_weights &w) {
    if (!p.is_channels_first || p.channels == 0 || p.filters == 0) return nullptr;
    const auto channels = p.channels / p.groups, filters = p.filters / p.groups;
    const bool is_depthwise = channels == 1 && filters == 1 && p.groups > max_few_groups;
    const bool is_one_tap = *volume(p.window.kernel) == 1
            && std::ranges::all_of(p.window.strides, [](std::int64_t stride) { return stride == 1; });
    if (is_depthwise || std::min(channels, filters) > (is_one_tap ? max_few_of_one_tap : few)) return nullptr;
    return pack_channels_first_convolution(p, *targets::pick(p.available, channels_first_table), w);
}

} // namespace dynquant::layers
