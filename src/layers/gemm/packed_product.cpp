#include "layers/gemm/packed_product.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "layers/gemm/shared_weights.hpp"
#include "layers/gemm/weights_memory.hpp"
#include "layers/gemm/zero_points.hpp"
#include "quantization/shape.hpp"
#include "targets/features.hpp"
#include "targets/sixteen_bytes.hpp"

namespace dynquant::layers {
namespace {

/// Shorter lines would be mostly padding.
constexpr std::int64_t min_amx_line = 32;

const panel_loops &loops_for(const packed_product::problem &p, targets::features available) {
    using namespace targets;
    const bool takes_tiles = has(available, amx_int8) && p.channels * p.taps / p.lines >= min_amx_line && request_amx();
    return *pick(takes_tiles ? available : available & ~feature::amx_int8, panels_table);
}

/// The problem of some columns.
packed_product::problem columns_of(packed_product::problem p, std::int64_t first, std::int64_t columns) {
    p.columns = columns;
    if (auto &values = p.w_zero_points; values.size() > 1)
        values = {values.begin() + first, values.begin() + first + columns};
    return p;
}

panel_product product_of(const packed_product::problem &p, const panel_loop &kind) {
    panel_product result = {};
    result.columns = p.columns;
    result.lines = p.lines;
    result.line_inner = p.channels * p.taps / p.lines;
    result.x_is_signed = p.x_is_signed;
    result.line_bytes = round_up(result.line_inner, kind.depth) * kind.columns;
    result.panel_bytes = p.lines * result.line_bytes;
    return result;
}

/// Rows of weights that a panel interleaves.
struct interleaved_rows {
    std::int64_t to;      // where they are in a panel
    std::int64_t from[8]; // where they are in a filter
    std::uint8_t mask[8]; // 0: no row, at the end of a line
    bool are_adjacent;    // in a filter
};

/// All groups of rows, in the order in which a filter has them.
std::vector<interleaved_rows> all_interleaved_rows(const packed_product::problem &problem, const panel_product &p,
        const panel_loop &kind, const constant_weights &w) {
    std::vector<interleaved_rows> groups;
    for (std::int64_t line = 0; line < p.lines; ++line)
        for (std::int64_t row = 0; row < p.line_inner; row += kind.interleaved) {
            auto &g = groups.emplace_back();
            g.to = line * p.line_bytes + row * kind.columns;
            g.are_adjacent = true;
            for (std::int64_t i = 0; i < kind.interleaved; ++i) {
                const bool is_row = row + i < p.line_inner;
                const auto k = line * p.line_inner + (is_row ? row + i : row);
                g.from[i] = k % problem.channels * w.of_channel + k / problem.channels * w.of_tap;
                g.mask[i] = is_row ? 255 : 0;
                g.are_adjacent &= g.from[i] == g.from[0] + i;
            }
        }
    std::ranges::sort(groups, {}, [](const interleaved_rows &g) { return g.from[0]; });
    return groups;
}

/// Packs some columns of a group of rows, where columns are adjacent in memory.
template <int interleaved>
void interleave(const constant_weights &w, const interleaved_rows &g, std::int64_t columns, std::int8_t *to) {
    const auto copy = [](void *y, const void *x, std::int64_t size, std::int64_t most) {
        if (size >= most)
            std::memcpy(y, x, static_cast<std::size_t>(most)); // of known size: a load and a store
        else
            std::memcpy(y, x, static_cast<std::size_t>(size));
    };
    for (std::int64_t n = 0; n < columns; n += 16) {
        simd::sixteen_bytes rows[interleaved] = {};
        for (int i = 0; i < interleaved; ++i) {
            copy(&rows[i], w.first + g.from[i] + n, columns - n, 16);
            rows[i] = (rows[i] ^ w.flip) & g.mask[i];
        }
        if constexpr (interleaved >= 4) {
            simd::interleave(rows);
        } else if constexpr (interleaved == 2) {
            const auto low = simd::low_bytes(rows[0], rows[1]);
            rows[1] = simd::high_bytes(rows[0], rows[1]);
            rows[0] = low;
        }
        copy(to + interleaved * n, rows, interleaved * (columns - n), sizeof rows);
    }
}

/// Packs some columns of some groups of rows, where each column is a filter of its own in memory.
template <int interleaved>
void gather(
        const constant_weights &w, std::span<const interleaved_rows> groups, std::int64_t columns, std::int8_t *to) {
    const auto flips = w.flip * 0x0101010101010101U;
    for (std::int64_t n = 0; n < columns; ++n, to += interleaved) {
        const auto *const filter = w.first + n * w.of_filter;
        for (const auto &g : groups) {
            std::byte rows[interleaved];
            if (g.are_adjacent)
                std::memcpy(rows, filter + g.from[0], interleaved);
            else
                for (int i = 0; i < interleaved; ++i)
                    rows[i] = filter[g.from[i]];
            std::uint64_t bits = 0, mask = 0;
            std::memcpy(&bits, rows, interleaved);
            std::memcpy(&mask, g.mask, sizeof mask);
            bits = (bits ^ flips) & mask;
            std::memcpy(to + g.to, &bits, interleaved);
        }
    }
}

template <int interleaved>
void pack_groups(
        const constant_weights &w, std::span<const interleaved_rows> groups, std::int64_t columns, std::int8_t *to) {
    if (w.of_filter != 1) return gather<interleaved>(w, groups, columns, to);
    for (const auto &g : groups)
        interleave<interleaved>(w, g, columns, to + g.to);
}

} // namespace

packed_product::packed_product(const problem &p, const constant_weights &w, targets::features available)
    : packed_product(p, w, widths_for(p, w, available)) {}

packed_product::packed_product(const problem &p, const constant_weights &w, const panel_widths &by)
    : packed_product(columns_of(p, 0, by.columns), *by.wide, w) {
    if (!by.narrow) return;
    narrower_ = std::make_unique<const packed_product>(
            columns_of(p, by.columns, p.columns - by.columns), *by.narrow, w.from_filter(by.columns));
    weight_sums_.insert(weight_sums_.end(), narrower_->weight_sums_.begin(), narrower_->weight_sums_.end());
}

/// Takes as few panels as possible, of two widths where one would leave whole vectors of padding.
packed_product::panel_widths packed_product::widths_for(
        const problem &p, const constant_weights &w, targets::features available) {
    const auto &kinds = loops_for(p, available);
    const auto unit = kinds.of[0].columns;
    const auto units = std::max<std::int64_t>(ceil_div(p.columns, unit), 1), panels = ceil_div(units, kinds.count);
    const auto narrow = units / panels, wide_panels = units % panels;
    if (wide_panels != 0) return {&kinds.of[narrow], wide_panels * (narrow + 1) * unit, &kinds.of[narrow - 1]};
    const auto &only = kinds.of[narrow - 1];
    return {takes_words(p, only, w) ? targets::pick(available, word_panels_table) : &only, p.columns};
}

bool packed_product::takes_words(const problem &p, const panel_loop &by_bytes, const constant_weights &w) {
    if (!by_bytes.has_excess) return false;
    // A weight of excess takes as long as a step over bytes, which multiplies four weights of each column. Loops over
    // words take 1.2 times as long as those over bytes, 1.8 times for one row. Up to four panels are packed to estimate
    // the excess.
    const auto panels = ceil_div(p.columns, by_bytes.columns), probes = std::min<std::int64_t>(panels, 4);
    std::int64_t steps = 0, of_excess = 0;
    for (std::int64_t i = 0; i < probes; ++i) {
        const auto first = i * panels / probes * by_bytes.columns;
        const packed_product probe(
                columns_of(p, first, std::min(by_bytes.columns, p.columns - first)), by_bytes, w.from_filter(first));
        steps += probe.bytes() / (4 * by_bytes.columns);
        of_excess += probe.product_.excess.begin[1];
    }
    return 4 * of_excess > steps;
}

packed_product::packed_product(problem p, const panel_loop &kind, const constant_weights &w)
    : problem_(std::move(p))
    , loop_(kind)
    , product_(product_of(problem_, kind))
    , weight_sums_(static_cast<std::size_t>(problem_.columns))
    , compensation_(static_cast<std::size_t>(own_panels() * kind.columns))
    , excess_(product_.line_bytes / kind.columns) {
    auto &zero_points = problem_.w_zero_points;
    if (std::ranges::all_of(zero_points, [](std::int32_t zp) { return zp == 0; })) zero_points.clear();
    const auto size = static_cast<std::size_t>(own_panels() * product_.panel_bytes);
    auto memory = allocate_weights(size);
    auto *const packed = reinterpret_cast<std::int8_t *>(memory.get());
    pack(w, packed);
    for (std::int64_t panel = 0; kind.has_excess && panel < own_panels(); ++panel)
        excess_.take_from(
                {packed + panel * product_.panel_bytes, static_cast<std::size_t>(product_.panel_bytes)}, kind.columns);
    weights_ = share_weights(std::move(memory), size);
    product_.weights = reinterpret_cast<const std::int8_t *>(weights_.get());
    product_.compensation = compensation_.data();
    product_.excess = excess_.weights();
    add_up();
    if (zero_points.empty()) return;
    zero_points_ = zero_points;
    zero_points_.resize(compensation_.size(), zero_points.size() == 1 ? zero_points.front() : 0);
    product_.zero_points = zero_points_.data();
}

void packed_product::pack(const constant_weights &w, std::int8_t *to) const {
    const auto groups = all_interleaved_rows(problem_, product_, loop_, w);
    const auto pack = loop_.interleaved == 8 ? pack_groups<8>
            : loop_.interleaved == 4         ? pack_groups<4>
            : loop_.interleaved == 2         ? pack_groups<2>
                                             : pack_groups<1>;
    constexpr std::size_t block = 64; // groups whose rows of a panel's columns are in the first-level cache
    const auto pack_block = [&](std::size_t begin, std::int64_t panel) {
        const auto first = panel * loop_.columns, columns = std::min(loop_.columns, product_.columns - first);
        pack(w.from_filter(first), std::span(groups).subspan(begin, std::min(block, groups.size() - begin)), columns,
                to + panel * product_.panel_bytes);
    };
    // The order is that of the weights in memory.
    if (w.of_filter == 1)
        for (std::size_t begin = 0; begin < groups.size(); begin += block)
            for (std::int64_t panel = 0; panel < own_panels(); ++panel)
                pack_block(begin, panel);
    else
        for (std::int64_t panel = 0; panel < own_panels(); ++panel)
            for (std::size_t begin = 0; begin < groups.size(); begin += block)
                pack_block(begin, panel);
}

/// The sums of columns are the product of a row of ones.
void packed_product::add_up() {
    const std::vector<std::byte> ones(static_cast<std::size_t>(product_.line_inner), std::byte {1});
    const std::vector<const std::byte *> lines(static_cast<std::size_t>(product_.lines), ones.data());
    auto of_ones = product_;
    of_ones.x_is_signed = loop_.reads_signed; // no compensation, which is yet to be found
    loop_.multiply(of_ones, {lines.data(), 0, 1}, {0, own_panels()}, weight_sums_.data(), 0);
    if (is_compensated())
        std::ranges::transform(weight_sums_, compensation_.begin(), [this](std::int32_t sum) {
            const auto of_128 = 128U * static_cast<std::uint32_t>(sum);
            return static_cast<std::int32_t>(problem_.x_is_signed ? 0U - of_128 : of_128);
        });
    subtract_from_sums(problem_.w_zero_points, product_.lines * product_.line_inner, weight_sums_);
}

void packed_product::run(const indirect_rows &x, parallel::range panels, std::int32_t *y, std::int64_t y_stride) const {
    const auto own = own_panels();
    if (panels.end > own) {
        auto behind = x;
        behind.ending = x.ending.from_column(problem_.columns);
        narrower_->run(behind, {std::max<std::int64_t>(panels.begin - own, 0), panels.end - own}, y + problem_.columns,
                y_stride);
        panels.end = own;
        if (panels.begin >= own) return;
    }
    auto product = product_;
    if (x.ending.initial && !is_compensated()) product.compensation = x.ending.initial;
    loop_.multiply(product, x, panels, y, y_stride);
}

} // namespace dynquant::layers
