#include "layers/gemm/by_blocks/block_product.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "layers/gemm/shared_weights.hpp"
#include "layers/gemm/weight_only/weight_only_product.hpp"
#include "layers/gemm/weights_memory.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::layers {
namespace {

bool has_nibbles(const weight_only_weights &w) {
    return w.type == data_type::s4 || w.type == data_type::u4;
}

bool is_signed(const weight_only_weights &w) {
    return w.type == data_type::s4 || w.type == data_type::s8;
}

/// What is added to weights and zero points, so that they are unsigned.
std::int32_t code_offset(const weight_only_weights &w) {
    return !is_signed(w) ? 0 : has_nibbles(w) ? 8 : 128;
}

std::uint8_t code_at(const weight_only_weights &w, std::int64_t k, std::int64_t n) {
    const auto at = w.is_transposed ? n * w.inner + k : k * w.columns + n;
    if (!has_nibbles(w)) return std::to_integer<std::uint8_t>(w.data[at]) ^ (is_signed(w) ? 0x80 : 0);
    return static_cast<std::uint8_t>(
            (std::to_integer<std::uint32_t>(w.data[at / 2]) >> at % 2 * 4 & 15) ^ (is_signed(w) ? 8 : 0));
}

/// The four bytes of four nibbles, the first one lowest.
std::uint32_t spread(std::uint32_t nibbles) {
    nibbles = (nibbles | nibbles << 8) & 0x00ff00ff;
    return (nibbles | nibbles << 4) & 0x0f0f0f0f;
}

/// Rows of weights that are packed of each column of a panel in turn: what these read and write stays in a first-level
/// cache.
constexpr std::int64_t packed_rows = 128;

/// Packs rows of a column from `first` on, which are adjacent in memory and begin with a byte. step: bytes from four to
/// four bytes of the panel.
void pack_adjacent(
        const weight_only_weights &w, std::int64_t column, std::int64_t first, std::int64_t step, std::byte *to) {
    const std::int64_t of_byte = has_nibbles(w) ? 2 : 1, rows = std::min(w.inner - first, packed_rows);
    const auto *from = w.data + (column * w.inner + first) / of_byte;
    const std::uint32_t flip = !is_signed(w) ? 0 : of_byte == 2 ? 0x88888888 : 0x80808080;
    const auto all = ceil_div(rows, of_byte);
    for (std::int64_t i = 0; i < all; i += 4, to += step) {
        std::uint32_t four = 0;
        if (all - i >= 4)
            std::memcpy(&four, from + i, 4);
        else
            std::memcpy(&four, from + i, static_cast<std::size_t>(all - i));
        four ^= flip;
        if (of_byte == 2) four = spread(four & 0xffff) | spread(four >> 16) << 4;
        std::memcpy(to, &four, sizeof four);
    }
}

/// Likewise of any column.
void pack_column(
        const weight_only_weights &w, std::int64_t column, std::int64_t first, std::int64_t step, std::byte *to) {
    const std::int64_t rows = has_nibbles(w) ? 8 : 4, end = std::min(w.inner, first + packed_rows);
    for (auto k = first; k < end; k += rows, to += step)
        for (std::int64_t i = 0; i < std::min(rows, end - k); ++i)
            to[i % 4] |= static_cast<std::byte>(code_at(w, k + i, column) << i / 4 * 4);
}

} // namespace

bool have_blocks(const weight_only_weights &w) {
    const bool are_integers = has_nibbles(w) || w.type == data_type::s8 || w.type == data_type::u8;
    return are_integers && w.block >= 16 && w.block <= max_block
            && std::has_single_bit(static_cast<std::uint64_t>(w.block)) && w.scale_columns == w.columns
            && w.column_group == 1 && !w.are_float16;
}

block_product::block_product(const weight_only_weights &w, targets::features available)
    : block_product(w, *targets::pick(available, block_table)) {}

block_product::block_product(const weight_only_weights &w, const block_loop &loop)
    : loop_(loop)
    , inner_(w.inner)
    , panels_() {
    auto &p = panels_;
    p.are_nibbles = has_nibbles(w);
    p.columns = w.columns;
    p.block = w.block;
    p.blocks = ceil_div(w.inner, w.block);
    if (w.inner == 0 || w.columns == 0) return; // the other extent may be of any size
    p.panel_bytes = p.blocks * p.block * loop_.columns / (p.are_nibbles ? 2 : 1);
    const auto size = static_cast<std::size_t>(panels() * p.panel_bytes);
    auto memory = allocate_weights(size);
    auto *const to = memory.get();
    const bool are_adjacent = w.is_transposed && (!p.are_nibbles || w.inner % 2 == 0);
    const auto pack = are_adjacent ? pack_adjacent : pack_column;
    const auto row_bytes = p.panel_bytes / (p.blocks * p.block);
    parallel::for_each_part(panels(), parallel::parts_for(w.inner * w.columns, 0), [&](parallel::range part) {
        for (auto panel = part.begin; panel < part.end; ++panel)
            for (std::int64_t k = 0; k < w.inner; k += packed_rows)
                for (auto n = panel * loop_.columns; n < std::min(w.columns, (panel + 1) * loop_.columns); ++n)
                    pack(w, n, k, 4 * loop_.columns,
                            to + panel * p.panel_bytes + k * row_bytes + n % loop_.columns * 4);
    });
    weights_ = share_weights(std::move(memory), size);
    p.weights = weights_.get();
    pack_parameters(w);
}

std::int64_t block_product::panels() const {
    return ceil_div(panels_.columns, loop_.columns);
}

void block_product::pack_parameters(const weight_only_weights &w) {
    auto &p = panels_;
    const auto count = static_cast<std::size_t>(panels() * p.blocks * loop_.columns);
    std::vector<float> scales(count);
    const auto offset = code_offset(w);
    const auto &given = w.zero_points;
    const auto unequal = std::ranges::adjacent_find(given, std::not_equal_to());
    p.zero_point = offset + (given.empty() ? 0 : given.front());
    if (unequal != given.end()) zero_points_.resize(count);
    for (std::int64_t b = 0; b < p.blocks; ++b)
        for (std::int64_t n = 0; n < w.columns; ++n) {
            const auto from = static_cast<std::size_t>(b * w.columns + n);
            const auto at =
                    static_cast<std::size_t>((n / loop_.columns * p.blocks + b) * loop_.columns + n % loop_.columns);
            scales[at] = w.scales[from];
            if (!zero_points_.empty()) zero_points_[at] = static_cast<std::uint8_t>(given[from] + offset);
        }
    scales_ = share_values(std::move(scales));
    p.scales = scales_.get();
    if (!zero_points_.empty()) p.zero_points = zero_points_.data();
}

std::size_t block_product::bytes() const {
    return static_cast<std::size_t>(panels() * (panels_.panel_bytes + panels_.blocks * loop_.columns * 4))
            + zero_points_.size();
}

void block_product::run(const float_rows &x, float *y, std::int64_t y_stride, aligned_vector<std::byte> &memory) const {
    const auto &p = panels_;
    if (x.rows == 0 || p.columns == 0) return;
    const auto parameters = x.rows * p.blocks;
    if (const auto size = static_cast<std::size_t>(parameters * (2 * 4 + p.block)); memory.size() < size)
        memory.resize(size);
    auto *const scales = reinterpret_cast<float *>(memory.data());
    auto *const sums = reinterpret_cast<std::int32_t *>(scales + parameters);
    const block_rows rows {x.rows, reinterpret_cast<std::int8_t *>(sums + parameters), scales, sums};
    const auto tiles = ceil_div(x.rows, loop_.tile_rows);
    parallel::for_each_part(tiles, parallel::parts_for_items(tiles, x.rows * inner_), [&](parallel::range part) {
        const auto first = part.begin * loop_.tile_rows, count = part.end * loop_.tile_rows - first;
        loop_.quantize(p, x.first + first * x.stride, inner_, x.stride, rows_from(p, rows, first, count));
    });
    if (inner_ == 0) {
        for (std::int64_t m = 0; m < x.rows; ++m)
            std::fill_n(y + m * y_stride, p.columns, 0.0F);
        return;
    }
    // A part's least work takes about as long as that of other loops: an element stands for eight products.
    const auto work = x.rows * inner_ * p.columns / 8;
    // Few panels are shared out by rows, too.
    constexpr std::int64_t min_rows = 16;
    const auto wanted = std::min(ceil_div(parallel::parts_for(work, 0), panels()), x.rows / min_rows);
    const auto block = round_up(ceil_div(x.rows, std::max<std::int64_t>(wanted, 1)), loop_.tile_rows);
    const auto items = ceil_div(x.rows, block) * panels();
    parallel::for_each_part(items, parallel::parts_for_items(items, work), [&](parallel::range part) {
        for (auto item = part.begin; item < part.end;) {
            const auto first = item / panels() * block, panel = item % panels();
            const auto end = std::min(panels(), panel + part.end - item);
            loop_.multiply(p, rows_from(p, rows, first, block), {panel, end}, y + first * y_stride, y_stride);
            item += end - panel;
        }
    });
}

} // namespace dynquant::layers
