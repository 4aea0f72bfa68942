#include "layers/gemm/by_blocks/block_product.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "elements/small_float.hpp"
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

/// Packs the block of a column from row `first` on, whose rows are adjacent in memory and begin with a byte. step:
/// bytes from four to four bytes of the panel.
void pack_adjacent(
        const weight_only_weights &w, std::int64_t column, std::int64_t first, std::int64_t step, std::byte *to) {
    const std::int64_t of_byte = has_nibbles(w) ? 2 : 1, rows = std::min(w.inner - first, w.block);
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
    const std::int64_t rows = has_nibbles(w) ? 8 : 4, end = std::min(w.inner, first + w.block);
    for (auto k = first; k < end; k += rows, to += step)
        for (std::int64_t i = 0; i < std::min(rows, end - k); ++i)
            to[i % 4] |= static_cast<std::byte>(code_at(w, k + i, column) << i / 4 * 4);
}

/// Shorter blocks leave three quarters of a tile empty.
constexpr std::int64_t min_amx_block = 32;

const block_loop &loop_for(const weight_only_weights &w, targets::features available) {
    using namespace targets;
    const bool takes_tiles = has(available, amx_int8) && w.block >= min_amx_block && request_amx();
    return *pick(takes_tiles ? available : available & ~feature::amx_int8, block_table);
}

} // namespace

bool have_blocks(const weight_only_weights &w) {
    const bool are_integers = has_nibbles(w) || w.type == data_type::s8 || w.type == data_type::u8;
    return are_integers && w.block >= 16 && w.block <= max_block
            && std::has_single_bit(static_cast<std::uint64_t>(w.block)) && w.scale_columns == w.columns
            && w.column_group == 1 && !w.are_float16;
}

block_product::block_product(const weight_only_weights &w, targets::features available)
    : block_product(w, loop_for(w, available)) {}

block_product::block_product(const weight_only_weights &w, const block_loop &loop)
    : loop_(loop)
    , inner_(w.inner)
    , panels_() {
    auto &p = panels_;
    p.columns = w.columns;
    p.block = w.block;
    p.blocks = ceil_div(w.inner, w.block);
    if (w.inner == 0 || w.columns == 0) return; // the other extent may be of any size
    p.are_nibbles = has_nibbles(w);
    p.are_scales_float16 = std::ranges::all_of(w.scales, [](float scale) {
        return std::bit_cast<std::uint32_t>(float16::from(scale).value()) == std::bit_cast<std::uint32_t>(scale);
    });
    p.have_zero_points = std::ranges::adjacent_find(w.zero_points, std::not_equal_to()) != w.zero_points.end();
    p.zero_point = code_offset(w) + (w.zero_points.empty() ? 0 : w.zero_points.front());
    p.scales_at = p.block * loop_.columns / (p.are_nibbles ? 2 : 1);
    p.zero_points_at = p.scales_at + loop_.columns * (p.are_scales_float16 ? 2 : 4);
    p.block_bytes = p.zero_points_at + (p.have_zero_points ? loop_.columns : 0);
    auto memory = allocate_weights(bytes());
    pack(w, memory.get());
    data_ = share_weights(std::move(memory), bytes());
    p.data = data_.get();
}

std::int64_t block_product::panels() const {
    return ceil_div(panels_.columns, loop_.columns);
}

std::size_t block_product::bytes() const {
    return static_cast<std::size_t>(panels() * panels_.panel_bytes());
}

void block_product::pack(const weight_only_weights &w, std::byte *to) const {
    const auto &p = panels_;
    const bool are_adjacent = w.is_transposed && (!p.are_nibbles || w.inner % 2 == 0);
    const auto pack_weights = are_adjacent ? pack_adjacent : pack_column;
    const auto offset = code_offset(w);
    const auto pack_block = [&](std::int64_t block, std::int64_t n) {
        const auto column = n % loop_.columns, of_panel = n / loop_.columns * p.blocks + block;
        auto *const of_block = to + of_panel * p.block_bytes, *const scales = of_block + p.scales_at;
        const auto at = static_cast<std::size_t>(block * w.columns + n);
        if (p.are_scales_float16)
            reinterpret_cast<float16 *>(scales)[column] = float16::from(w.scales[at]);
        else
            reinterpret_cast<float *>(scales)[column] = w.scales[at];
        if (p.have_zero_points)
            of_block[p.zero_points_at + column] = static_cast<std::byte>(w.zero_points[at] + offset);
        pack_weights(w, n, block * p.block, 4 * loop_.columns, of_block + 4 * column);
    };
    parallel::for_each_part(panels(), parallel::parts_for(w.inner * w.columns, 0), [&](parallel::range part) {
        for (auto panel = part.begin; panel < part.end; ++panel)
            for (std::int64_t block = 0; block < p.blocks; ++block)
                for (auto n = panel * loop_.columns; n < std::min(w.columns, (panel + 1) * loop_.columns); ++n)
                    pack_block(block, n);
    });
}

void block_product::run(const float_rows &x, float *y, std::int64_t y_stride, aligned_vector<std::byte> &memory) const {
    const auto &p = panels_;
    if (x.rows == 0 || p.columns == 0) return;
    const auto parameters = round_up(x.rows * p.blocks, 16); // so that codes are aligned, which tiles of AMX read
    if (const auto size = static_cast<std::size_t>(parameters * (2 * 4 + p.block)); memory.size() < size)
        memory.resize(size);
    auto *const scales = reinterpret_cast<float *>(memory.data());
    auto *const sums = reinterpret_cast<std::int32_t *>(scales + parameters);
    const block_rows rows {x.rows, reinterpret_cast<std::int8_t *>(sums + parameters), scales, sums,
            x.rows <= (p.are_nibbles ? loop_.alone_by_nibbles : loop_.alone_by_bytes)};
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
