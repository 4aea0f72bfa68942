#include "layers/packed_product.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "layers/weights_memory.hpp"
#include "layers/zero_points.hpp"
#include "targets/features.hpp"
#include "targets/sixteen_bytes.hpp"

namespace dynquant::layers {
namespace {

std::int64_t round_up(std::int64_t count, std::int64_t unit) {
    return (count + unit - 1) / unit * unit;
}

#if defined(__x86_64__)
/// The fewest panels of equal width, so that few columns are padding.
const panel_kind &vnni_kind(std::int64_t columns) {
    const auto vectors = std::max<std::int64_t>((columns + vnni_lanes - 1) / vnni_lanes, 1);
    const auto panels = (vectors + vnni_vectors - 1) / vnni_vectors;
    return avx512_vnni_panels[(vectors + panels - 1) / panels - 1];
}

/// Shorter lines would be mostly padding.
constexpr std::int64_t min_amx_line = 32;
#endif

const panel_kind &best_kind([[maybe_unused]] const packed_product::problem &p) {
#if defined(__x86_64__)
    using namespace targets;
    if (has(p.available, amx_int8 | avx512_vnni) && p.channels * p.taps / p.lines >= min_amx_line && request_amx())
        return amx_int8_panels;
    return *pick<const panel_kind *>(p.available,
            {{avx512_vnni, &vnni_kind(p.columns)}, {avx2_vnni, &avx2_vnni_panels}, {avx2, &avx2_panels},
                    {scalar, &scalar_panels}});
#else
    return scalar_panels;
#endif
}

panel_product product_of(const packed_product::problem &p, const panel_kind &kind) {
    panel_product result = {};
    result.columns = p.columns;
    result.lines = p.lines;
    result.line_inner = p.channels * p.taps / p.lines;
    result.x_is_signed = p.x_is_signed;
    result.line_bytes = round_up(result.line_inner, kind.depth) * kind.columns;
    result.panel_bytes = p.lines * result.line_bytes;
    return result;
}

constexpr std::int64_t most_interleaved = 4;

/// Rows of weights that a panel interleaves.
struct row_group {
    std::int64_t to;                     // where they are in a panel
    std::int64_t rows;                   // fewer at the end of a line
    std::int64_t from[most_interleaved]; // where they are in a filter
    bool are_adjacent;                   // there, and as many as can be
};

/// In the order in which they are in a filter.
std::vector<row_group> groups_of(const packed_product::problem &problem, const panel_product &p, const panel_kind &kind,
        const constant_weights &w) {
    std::vector<row_group> groups;
    for (std::int64_t line = 0, k = 0; line < p.lines; ++line)
        for (std::int64_t row = 0; row < p.line_inner; row += kind.interleaved) {
            auto &g = groups.emplace_back();
            g.to = line * p.line_bytes + row * kind.columns;
            g.rows = std::min(kind.interleaved, p.line_inner - row);
            for (std::int64_t i = 0; i < g.rows; ++i, ++k)
                g.from[i] = k % problem.channels * w.of_channel + k / problem.channels * w.of_tap;
            g.are_adjacent = g.rows == most_interleaved;
            for (std::int64_t i = 1; i < g.rows; ++i)
                g.are_adjacent &= g.from[i] == g.from[0] + i;
        }
    std::ranges::sort(groups, {}, [](const row_group &g) { return g.from[0]; });
    return groups;
}

/// Some columns of four rows. In a row, they are adjacent.
void interleave(const constant_weights &w, const row_group &g, std::int64_t columns, std::int8_t *to) {
    const auto copy = [](void *y, const void *x, std::int64_t size, std::int64_t most) {
        if (size >= most)
            std::memcpy(y, x, static_cast<std::size_t>(most)); // of known size: a load and a store
        else
            std::memcpy(y, x, static_cast<std::size_t>(size));
    };
    for (std::int64_t n = 0; n < columns; n += 16) {
        simd::sixteen_bytes rows[most_interleaved] = {};
        for (int i = 0; i < most_interleaved; ++i) {
            copy(&rows[i], w.first + g.from[i] + n, columns - n, 16);
            rows[i] ^= w.flip;
        }
        const auto &[a, b, c, d] = rows;
        const auto low_ac = simd::low_bytes(a, c), low_bd = simd::low_bytes(b, d);
        const auto high_ac = simd::high_bytes(a, c), high_bd = simd::high_bytes(b, d);
        const simd::sixteen_bytes result[] = {simd::low_bytes(low_ac, low_bd), simd::high_bytes(low_ac, low_bd),
                simd::low_bytes(high_ac, high_bd), simd::high_bytes(high_ac, high_bd)};
        copy(to + 4 * n, result, 4 * (columns - n), sizeof result);
    }
}

/// Some columns, each of which is a filter.
void gather(const constant_weights &w, std::span<const row_group> groups, std::int64_t columns,
        std::int64_t interleaved, std::int8_t *to) {
    for (std::int64_t n = 0; n < columns; ++n, to += interleaved) {
        const auto *const filter = w.first + n * w.of_filter;
        for (const auto &g : groups) {
            std::uint32_t rows = 0;
            if (g.are_adjacent) {
                std::memcpy(&rows, filter + g.from[0], sizeof rows);
            } else if (g.rows == most_interleaved) {
                const std::byte four[] = {filter[g.from[0]], filter[g.from[1]], filter[g.from[2]], filter[g.from[3]]};
                std::memcpy(&rows, four, sizeof rows);
            } else {
                for (std::int64_t i = 0; i < g.rows; ++i)
                    to[g.to + i] = w.flipped(filter[g.from[i]]);
                continue;
            }
            rows ^= w.flip * 0x01010101U;
            std::memcpy(to + g.to, &rows, sizeof rows);
        }
    }
}

} // namespace

packed_product::packed_product(problem p, const constant_weights &w)
    : packed_product(p, best_kind(p), w) {
#if defined(__x86_64__)
    // A step of excess takes as long as three others, as it gathers its elements of x; one of words half as long again.
    const auto steps = bytes() / (4 * kind_.columns);
    if (kind_.has_excess && 6 * product_.excess.begin[panels()] > steps)
        *this = packed_product(std::move(p), avx2_word_panels, w);
#endif
}

packed_product::packed_product(problem p, const panel_kind &kind, const constant_weights &w)
    : problem_(std::move(p))
    , kind_(kind)
    , product_(product_of(problem_, kind))
    , weights_(zeros_for_weights(static_cast<std::size_t>(bytes())))
    , weight_sums_(static_cast<std::size_t>(problem_.columns))
    , compensation_(static_cast<std::size_t>(panels() * kind.columns))
    , excess_(product_.line_bytes / kind.columns, kind.has_excess ? static_cast<std::size_t>(bytes()) : 0) {
    auto &zero_points = problem_.w_zero_points;
    if (std::ranges::all_of(zero_points, [](std::int32_t zp) { return zp == 0; })) zero_points.clear();
    auto *const packed = reinterpret_cast<std::int8_t *>(weights_.get());
    pack(w, packed);
    for (std::int64_t panel = 0; kind.has_excess && panel < panels(); ++panel)
        excess_.take_from(
                {packed + panel * product_.panel_bytes, static_cast<std::size_t>(product_.panel_bytes)}, kind.columns);
    product_.weights = packed;
    product_.compensation = compensation_.data();
    product_.excess = excess_.steps();
    add_up();
}

void packed_product::pack(const constant_weights &w, std::int8_t *to) const {
    const auto groups = groups_of(problem_, product_, kind_, w);
    constexpr std::size_t block = 64; // a block of some columns, here and there, is in the first-level cache
    const auto blocks = static_cast<std::int64_t>((groups.size() + block - 1) / block);
    const auto pack_block = [&](std::int64_t i, std::int64_t panel) {
        const auto begin = static_cast<std::size_t>(i) * block;
        const auto of_block = std::span(groups).subspan(begin, std::min(block, groups.size() - begin));
        const auto first = panel * kind_.columns, columns = std::min(kind_.columns, product_.columns - first);
        const auto from = w.from_filter(first);
        auto *const panel_to = to + panel * product_.panel_bytes;
        if (w.of_filter != 1) return gather(from, of_block, columns, kind_.interleaved, panel_to);
        for (const auto &g : of_block)
            if (g.rows == most_interleaved)
                interleave(from, g, columns, panel_to + g.to);
            else
                gather(from, {&g, 1}, columns, kind_.interleaved, panel_to);
    };
    // Whichever reads the weights page by page.
    if (w.of_filter == 1)
        for (std::int64_t i = 0; i < blocks; ++i)
            for (std::int64_t panel = 0; panel < panels(); ++panel)
                pack_block(i, panel);
    else
        for (std::int64_t panel = 0; panel < panels(); ++panel)
            for (std::int64_t i = 0; i < blocks; ++i)
                pack_block(i, panel);
}

/// The sums of columns are the product of a row of ones.
void packed_product::add_up() {
    const std::vector<std::byte> ones(static_cast<std::size_t>(product_.line_inner), std::byte {1});
    const std::vector<const std::byte *> lines(static_cast<std::size_t>(product_.lines), ones.data());
    auto of_ones = product_;
    of_ones.x_is_signed = false; // no compensation, which is yet to be found
    kind_.multiply(of_ones, {lines.data(), 0, 1}, {0, panels()}, weight_sums_.data(), 0);
    if (problem_.x_is_signed)
        std::ranges::transform(weight_sums_, compensation_.begin(),
                [](std::int32_t sum) { return static_cast<std::int32_t>(-128 * static_cast<std::uint32_t>(sum)); });
    subtract_from_sums(problem_.w_zero_points, product_.lines * product_.line_inner, weight_sums_);
}

void packed_product::run(const rows_of_lines &x, parallel::range panels, std::int32_t *y, std::int64_t y_stride) const {
    kind_.multiply(product_, x, panels, y, y_stride);
    if (problem_.w_zero_points.empty()) return;
    const auto first = panels.begin * kind_.columns, last = std::min(panels.end * kind_.columns, problem_.columns);
    subtract_row_sums(product_, x, problem_.w_zero_points, {first, last}, y, y_stride);
}

} // namespace dynquant::layers
