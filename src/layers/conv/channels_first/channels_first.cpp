#include "layers/conv/channels_first/channels_first.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
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

/// What a cell has: elements of several channels, or of several taps of a line.
enum class cells_of { channels, taps };

/// Cell t of a line of taps begins t * advance elements on. Returns how many remainders t * advance % stride there are:
/// the cells of one remainder, a phase, lie whole positions apart, so that one array of cells serves them.
std::int64_t phases_of(std::int64_t cells, std::int64_t advance, std::int64_t stride) {
    return std::min(cells, stride / std::gcd(advance, stride));
}

struct layout {
    /// Takes the layout with the fewest steps and, of these, the fewest cells to make.
    layout(const problem &p, std::int64_t elements)
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
            return std::pair(line_cells() * channel_cells(),
                    phases_of(line_cells(), advance * dilation, stride) * channel_cells());
        };
        const auto of_taps = cost(cells_of::taps, elements), of_channels = cost(cells_of::channels, 1);
        of = of_channels <= of_taps ? cells_of::channels : cells_of::taps;
    }

    std::int64_t channel_cells() const { return of == cells_of::channels ? ceil_div(channels, elements) : channels; }
    std::int64_t line_cells() const { return of == cells_of::channels ? line_taps : ceil_div(line_taps, elements); }

    std::int64_t elements, channels, line_taps, tap_lines;
    cells_of of;
};

/// A cell of x that a cell of weights multiplies.
struct step {
    std::int64_t tap_line, channel_cell, line_cell;
};

struct channels_first_weights {
    channels_first_weights(const problem &p, const channels_first_loop &kind, const constant_weights &w)
        : cells(p, kind.elements)
        , multiply(kind.multiply) {
        std::vector<std::vector<std::int32_t>> of_steps; // a cell for each filter of all groups
        for (std::int64_t line = 0; line < cells.tap_lines; ++line)
            for (std::int64_t c = 0; c < cells.channel_cells(); ++c)
                for (std::int64_t t = 0; t < cells.line_cells(); ++t)
                    add({line, c, t}, p, w, of_steps);
        arrange(p, of_steps);
        if (cells.elements == 4 && std::ranges::any_of(p.w_zero_points, [](std::int32_t zp) { return zp != 0; }))
            for (std::int64_t f = 0; f < p.filters; ++f)
                zero_points.push_back(p.w_zero_point(f));
        for (std::int64_t f = 0; f < p.filters; ++f) {
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

    layout cells;
    channels_first_function multiply;
    std::vector<step> steps;
    std::vector<std::int32_t> weights, sums, start; // weights: group by group
    std::vector<std::int32_t> zero_points, ones;    // empty: none; weights of 1, which add x up

  private:
    /// f(channel, tap) for each element of a cell; those beyond the last are 0.
    template <typename F>
    std::int32_t cell_of(const step &s, F f) const {
        const auto e = cells.elements;
        std::uint32_t cell = 0;
        for (std::int64_t k = 0; k < e; ++k) {
            const auto channel = cells.of == cells_of::channels ? s.channel_cell * e + k : s.channel_cell;
            const auto tap = cells.of == cells_of::channels ? s.line_cell : s.line_cell * e + k;
            if (channel < cells.channels && tap < cells.line_taps)
                cell |= (static_cast<std::uint32_t>(f(channel, s.tap_line * cells.line_taps + tap))
                                & (e == 4 ? 0xffU : 0xffffU))
                        << (32 / e * k);
        }
        return static_cast<std::int32_t>(cell);
    }

    /// Words hold weights less their zero points; for bytes the function subtracts these.
    void add(const step &s, const problem &p, const constant_weights &w,
            std::vector<std::vector<std::int32_t>> &of_steps) {
        steps.push_back(s);
        auto &of_step = of_steps.emplace_back();
        for (std::int64_t filter = 0; filter < p.filters; ++filter) {
            const auto zero_point = cells.elements == 4 ? 0 : p.w_zero_point(filter);
            of_step.push_back(cell_of(s,
                    [&](std::int64_t channel, std::int64_t tap) { return w.at(filter, channel, tap) - zero_point; }));
        }
        ones.push_back(cell_of(s, [](std::int64_t, std::int64_t) { return 1; }));
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

/// The sources of a cell's elements: that of position i is at from[element] + i * stride.
using cell_sources = std::array<const std::uint8_t *, 4>;

/// Makes cells of sixteen positions at once.
template <int stride>
void make_cells_by(const cell_sources &from, std::int64_t any_stride, std::int64_t elements, std::int64_t positions,
        std::byte *to) {
    for (std::int64_t p = 0; p < positions; p += 16, to += 64) {
        const auto load = [&](std::size_t i) { return load_bytes<stride>(from[i] + p * any_stride, any_stride); };
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

void make_cells(
        const cell_sources &from, std::int64_t stride, std::int64_t elements, std::int64_t positions, std::byte *to) {
    if (stride == 1) return make_cells_by<1>(from, stride, elements, positions, to);
    if (stride == 2) return make_cells_by<2>(from, stride, elements, positions, to);
    make_cells_by<3>(from, stride, elements, positions, to);
}

/// Cuts the positions of a convolution of one tap into at most 1024 equal lines of 256 positions or more, or into one:
/// these make up for what a line costs, and several lines are for several threads. Keeps the lines of p where only
/// lines of more than 4096 positions would divide them.
problem with_long_lines(problem p) {
    constexpr std::int64_t long_enough = 256, max_lines = 1024;
    auto &w = p.window;
    if (*volume(w.kernel) != 1 || w.is_padded() || w.x != w.y) return p;
    const auto positions = *volume(w.y);
    auto lines = std::clamp<std::int64_t>(positions / long_enough, 1, max_lines);
    while (positions % lines != 0)
        --lines;
    if (positions / lines > 16 * long_enough && w.rank() > 1) return p; // there is no such divisor
    const dims x {lines, positions / lines}, ones {1, 1}, zeros {0, 0};
    w = {x, x, ones, ones, ones, zeros, zeros};
    return p;
}

/// A task is some lines of y of one image and group. It makes the cells of the lines of x that these meet, then
/// multiplies.
class channels_first_convolution final : public accumulator_source {
  public:
    channels_first_convolution(const problem &p, std::shared_ptr<const channels_first_weights> w)
        : p_(with_long_lines(p))
        , w_(std::move(w))
        , columns_(p_.window.y.back())
        , lines_(*volume(p_.window.y) / columns_)
        , x_columns_(p_.window.x.back())
        , x_lines_(*volume(p_.window.x) / std::max<std::int64_t>(x_columns_, 1))
        , filters_(p.filters / p.groups)
        , stride_(p_.window.strides.back())
        , dilation_(p_.window.dilations.back())
        , is_line_(p_.window.rank() == 1) {
        const auto advance = dilation_ * (w_->cells.of == cells_of::taps ? w_->cells.elements : 1);
        const auto phases = phases_of(w_->cells.line_cells(), advance, stride_);
        for (std::int64_t t = 0; t < w_->cells.line_cells(); ++t) {
            if (t < phases) phases_.push_back(t * advance % stride_);
            tap_phase_.push_back(t % phases);
            tap_shift_.push_back(t * advance / stride_);
        }
        cells_of_line_ = round_up(columns_ + std::ranges::max(tap_shift_), 16) + channels_first_overrun;
        for (const auto &s : w_->steps) {
            const auto t = static_cast<std::size_t>(s.line_cell);
            const auto cell = s.tap_line * line_dilation() * w_->cells.channel_cells() + s.channel_cell;
            step_cells_.push_back(4 * ((cell * std::ssize(phases_) + tap_phase_[t]) * cells_of_line_ + tap_shift_[t]));
        }
        is_padded_ = p.window.is_padded();
        padded_columns_ = cells_of_line_ * stride_ + w_->cells.elements * dilation_ + stride_;
    }

    bool takes_channels_first() const override { return true; }
    const std::vector<std::int32_t> &weight_sums() const override { return w_->sums; }

    void for_each_block(const void *x, std::span<const std::int32_t> x_zero_points, workspace &memory,
            block_consumer consume) const override {
        if (p_.batch == 0) return;
        const auto steps = std::ssize(w_->steps);
        const auto work = p_.batch * lines_ * p_.groups * (cells_bytes(1) + columns_ * filters_ * (steps + 2) / 4);
        const auto max_parts = parallel::parts_for_items(p_.batch * p_.groups * lines_, work);
        const auto size = block_lines(max_parts), blocks = ceil_div(lines_, size);
        const auto tasks = p_.batch * blocks * p_.groups;
        const auto parts = parallel::parts_for_items(tasks, work);
        prepare(memory, parts, size, x);
        parallel::for_each_part(tasks, parts, [&](parallel::range part, std::size_t index) {
            auto &own = memory.parts[index];
            for (auto task = part.begin; task < part.end; ++task) {
                const auto image = task / (blocks * p_.groups), group = task / blocks % p_.groups;
                const auto first = task % blocks * size;
                const parallel::range lines {first, std::min(lines_, first + size)};
                const auto *const of_group = static_cast<const std::uint8_t *>(x)
                        + (image * p_.channels + group * w_->cells.channels) * x_lines_ * x_columns_;
                const auto zero_point = zero_point_of(x_zero_points, image);
                if (is_padded_) own.pad(padding(zero_point), padding_rows() * padded_columns_);
                make_all_cells(of_group, zero_point, lines, own);
                find_taps(lines, own);
                if (!w_->zero_points.empty()) sum_x(lines, size, own);
                const auto position = image * lines_ * columns_;
                const parallel::range positions {position + lines.begin * columns_, position + lines.end * columns_};
                const auto most = filters_at_once(size);
                for (std::int64_t f = 0; f < filters_; f += most) {
                    const auto filters = std::min(most, filters_ - f);
                    multiply(group, {f, f + filters}, lines, size, own);
                    consume({positions, own.sums.data(), group * filters_ + f, filters, filter_stride(size)});
                }
            }
        });
    }

  private:
    std::int64_t line_stride() const { return is_line_ ? 1 : p_.window.strides.front(); }
    std::int64_t line_dilation() const { return is_line_ ? 1 : p_.window.dilations.front(); }
    /// Lines of x, with those of padding, that some lines of y meet.
    std::int64_t lines_met(std::int64_t lines) const {
        return (lines - 1) * line_stride() + (w_->cells.tap_lines - 1) * line_dilation() + 1;
    }
    std::int64_t planes() const { return w_->cells.channel_cells() * std::ssize(phases_); }
    std::int64_t cells_bytes(std::int64_t lines) const { return lines_met(lines) * planes() * cells_of_line_ * 4; }
    std::int64_t filter_stride(std::int64_t lines) const { return lines * columns_ + channels_first_overrun; }

    /// Cells and sums of a block stay in a second-level cache of 256 KiB; every part has equally many, or nearly.
    std::int64_t block_lines(std::int64_t parts) const {
        const auto of_groups = p_.batch * p_.groups;
        auto lines = of_groups >= parts ? lines_ : ceil_div(lines_ * of_groups, parts);
        while (lines > 1 && cells_bytes(lines) + 4 * filters_ * filter_stride(lines) > 192 * 1024)
            lines = ceil_div(lines, 2);
        return lines;
    }

    /// Their sums stay in a first-level cache until they are consumed. Weights lie in blocks of eight filters.
    std::int64_t filters_at_once(std::int64_t lines) const {
        return std::min(std::max<std::int64_t>(16 * 1024 / (4 * filter_stride(lines)) / 8 * 8, 8), filters_);
    }

    void prepare(workspace &memory, int parts, std::int64_t lines, const void *x) const {
        memory.make_parts(parts);
        for (auto &own : std::span(memory.parts).first(static_cast<std::size_t>(parts))) {
            workspace::ensure_size(own.rows, static_cast<std::size_t>(cells_bytes(lines)));
            workspace::ensure_size(
                    own.sums, static_cast<std::size_t>((filters_at_once(lines) + 1) * filter_stride(lines)));
            workspace::ensure_size(own.taps, w_->steps.size() * static_cast<std::size_t>(lines));
            own.end = static_cast<const std::byte *>(x) + *volume(p_.window.x) * p_.channels * p_.batch;
            own.make_padding(padding_rows() * padded_columns_);
        }
    }

    /// How many lines of x, with padding at both ends, `padding` holds.
    std::int64_t padding_rows() const { return w_->cells.of == cells_of::channels ? w_->cells.elements : 1; }

    std::byte padding(std::int32_t x_zero_point) const {
        return static_cast<std::byte>(static_cast<std::uint8_t>(x_zero_point) ^ (p_.x_is_signed ? 0x80 : 0));
    }

    /// x: the first channel of the group. A line of x with its padding is a row of `padding`.
    void make_all_cells(
            const std::uint8_t *x, std::int32_t x_zero_point, parallel::range lines, workspace::part &own) const {
        const auto met = lines_met(lines.end - lines.begin);
        const auto pad = is_line_ ? 0 : p_.window.pads_begin.front();
        auto *to = own.rows.data();
        for (std::int64_t i = 0; i < met; ++i) {
            const auto line = lines.begin * line_stride() - pad + i;
            if (!meets_a_tap(i)) {
                to += planes() * 4 * cells_of_line_;
                continue;
            }
            for (std::int64_t c = 0; c < w_->cells.channel_cells(); ++c)
                for (const auto phase : phases_) {
                    if (line < 0 || line >= x_lines_)
                        fill(to, padding(x_zero_point));
                    else
                        make_line(x + line * x_columns_, c, phase, own, to);
                    to += 4 * cells_of_line_;
                }
        }
    }

    /// Whether a tap meets a line of x, counted from the first that the block meets.
    bool meets_a_tap(std::int64_t line) const {
        const auto stride = line_stride(), dilation = line_dilation();
        if (stride == 1) return true;
        for (std::int64_t t = 0; t < w_->cells.tap_lines; ++t)
            if (line >= t * dilation && (line - t * dilation) % stride == 0) return true;
        return false;
    }

    /// Cells of padding alone.
    void fill(std::byte *to, std::byte value) const {
        if (w_->cells.elements == 4)
            std::memset(to, std::to_integer<int>(value), static_cast<std::size_t>(4 * cells_of_line_));
        else
            for (std::int64_t i = 0; i < 2 * cells_of_line_; ++i) {
                to[2 * i] = value;
                to[2 * i + 1] = std::byte {0};
            }
    }

    /// x: where the line begins in the group's first channel.
    void make_line(
            const std::uint8_t *x, std::int64_t cell, std::int64_t phase, workspace::part &own, std::byte *to) const {
        const auto &c = w_->cells;
        auto *const rows = reinterpret_cast<std::uint8_t *>(own.padding.data());
        const auto plane = x_lines_ * x_columns_;
        cell_sources from = {};
        for (std::int64_t k = 0; k < c.elements; ++k) {
            auto &source = from[static_cast<std::size_t>(k)];
            if (c.of == cells_of::taps) {
                source = k == 0 ? line_of(x + cell * plane, own, rows) + phase : from[0] + k * dilation_;
            } else {
                const auto channel =
                        std::min(cell * c.elements + k, c.channels - 1); // beyond the last: by weights of 0
                source = line_of(x + channel * plane, own, rows + k * padded_columns_) + phase;
            }
        }
        make_cells(from, stride_, c.elements, cells_of_line_ - channels_first_overrun, to);
    }

    /// A line of x with its padding, of which padded_columns_ can be read: itself, or its copy.
    const std::uint8_t *line_of(const std::uint8_t *x, const workspace::part &own, std::uint8_t *copy) const {
        if (!is_padded_ && !p_.x_is_signed && own.end - reinterpret_cast<const std::byte *>(x) >= padded_columns_)
            return x;
        copy_line(x, copy);
        return copy;
    }

    /// Between the padding of a row.
    void copy_line(const std::uint8_t *x, std::uint8_t *row) const {
        auto *const to = row + p_.window.pads_begin.back();
        if (!p_.x_is_signed) {
            std::memcpy(to, x, static_cast<std::size_t>(x_columns_));
            return;
        }
        for (std::int64_t i = 0; i < x_columns_; ++i)
            to[i] = x[i] ^ 0x80;
    }

    /// Finds the cells of each step, line by line.
    void find_taps(parallel::range lines, workspace::part &own) const {
        auto to = own.taps.begin();
        const auto *rows = own.rows.data();
        for (auto line = lines.begin; line < lines.end; ++line, rows += 4 * line_stride() * planes() * cells_of_line_)
            to = std::ranges::transform(step_cells_, to, [=](std::int64_t at) { return rows + at; }).out;
    }

    /// The sums of x that zero points of weights multiply lie behind the other sums.
    std::int32_t *x_sums(std::int64_t lines, workspace::part &own) const {
        return own.sums.data() + filters_at_once(lines) * filter_stride(lines);
    }

    void sum_x(parallel::range lines, std::int64_t size, workspace::part &own) const {
        static constexpr std::int32_t zero = 0;
        const auto steps = std::ssize(w_->steps);
        for (std::int64_t line = 0; line < lines.end - lines.begin; ++line)
            w_->multiply({own.taps.data() + line * steps, steps, columns_, w_->ones.data(), &zero, nullptr, nullptr, 1,
                    x_sums(size, own) + line * columns_, 0});
    }

    /// filters: some of the group, from a block of weights on.
    void multiply(std::int64_t group, parallel::range filters, parallel::range lines, std::int64_t size,
            workspace::part &own) const {
        const auto steps = std::ssize(w_->steps), first = group * filters_ + filters.begin;
        for (std::int64_t line = 0; line < lines.end - lines.begin; ++line) {
            channels_first_span span {own.taps.data() + line * steps, steps, columns_,
                    w_->weights.data() + first * steps, w_->start.data() + first, nullptr, nullptr,
                    filters.end - filters.begin, own.sums.data() + line * columns_, filter_stride(size)};
            if (!w_->zero_points.empty()) {
                span.zero_points = w_->zero_points.data() + first;
                span.x_sums = x_sums(size, own) + line * columns_;
            }
            w_->multiply(span);
        }
    }

    problem p_;
    std::shared_ptr<const channels_first_weights> w_;
    std::int64_t columns_, lines_, x_columns_, x_lines_, filters_;
    std::int64_t stride_, dilation_; // along a line
    bool is_line_;                   // one spatial dimension
    bool is_padded_;
    std::vector<std::int64_t> phases_;
    std::vector<std::int64_t> tap_phase_,
            tap_shift_;                    // of each cell of a line's taps: which phase, and how many positions on
    std::vector<std::int64_t> step_cells_; // where those of each step lie for the first line, in bytes
    std::int64_t cells_of_line_, padded_columns_;
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
    if (!p.is_channels_first || p.window.kernel.size() > 2 || p.channels == 0 || p.filters == 0) return nullptr;
    const auto channels = p.channels / p.groups, filters = p.filters / p.groups;
    const bool is_depthwise = channels == 1 && filters == 1 && p.groups > max_few_groups;
    const bool is_one_tap = *volume(p.window.kernel) == 1
            && std::ranges::all_of(p.window.strides, [](std::int64_t stride) { return stride == 1; });
    if (is_depthwise || std::min(channels, filters) > (is_one_tap ? max_few_of_one_tap : few)) return nullptr;
    return pack_channels_first_convolution(p, *targets::pick(p.available, channels_first_table), w);
}

bool channels_first_is_faster(const problem &of_shape) {
    const auto p = with_long_lines(of_shape);
    const auto &w = p.window;
    const auto columns = w.y.back(), lines = *volume(w.y) / std::max<std::int64_t>(columns, 1);
    // Vectors of few positions are mostly empty, and so are the cells of many channels.
    if (columns < (p.channels / p.groups <= 32 ? 14 : 28)) return false;
    // A line is one task, whose sums are to stay in a second-level cache.
    if (lines == 1 && columns * (p.filters / p.groups) > 256 * 1024) return false;
    // What lies between the taps has cells: of whole lines, and of positions in a line. Measured as above, with
    // dilations of 1 to 32 times the columns of y: of 3 taps these take as long as im2col from 16 times the columns on,
    // where channels are many, and later where they are few.
    constexpr std::int64_t many = 16;
    const auto last = w.rank() - 1;
    if (w.rank() > 1 && w.covered(0) > 32) return false;
    if ((w.covered(last) - 1) / w.strides[last] > many * columns) return false;
    // A line is copied with all of its padding, of which a large stride reads little.
    return w.padded(last) <= many * (w.x[last] + columns);
}

} // namespace dynquant::layers
