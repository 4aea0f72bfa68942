#include "layers/gemm/weight_only/pack_weights.hpp"

#include <algorithm>
#include <span>

#include "elements/table.hpp"
#include "layers/gemm/weight_only/weight_only_product.hpp"
#include "targets/sixteen_bytes.hpp"

namespace dynquant::layers {
namespace {

using simd::load_bytes;
using simd::sixteen_bytes;
using simd::store_bytes;
constexpr std::int64_t lanes = sizeof(sixteen_bytes);

/// Fetches what lies sixteen rows ahead: each row is of another page, to which no processor prefetches by itself.
void prefetch_row(const std::byte *from, std::int64_t row_bytes) {
    __builtin_prefetch(from + 16 * row_bytes);
}

/// A panel: `columns` of its `width` columns are weights from column `first` on.
struct panel {
    std::int64_t first, columns, width;
    std::byte *to;
};

/// Packs bytes that lie row by row. The rows of adjacent panels share cache lines, and all rows may lie in a few sets
/// of a cache: so that the panels of a line are packed row by row. flip: of each byte.
void pack_rows(const std::byte *data, std::int64_t rows, std::int64_t all_columns, std::uint8_t flip,
        std::span<const panel> panels) {
    for (std::int64_t k = 0; k < rows; ++k)
        for (const auto &p : panels)
            for (std::int64_t n = 0; n < p.columns; n += lanes) {
                prefetch_row(data + k * all_columns + p.first + n, all_columns);
                store_bytes(p.to + k * p.width + n,
                        load_bytes(data + k * all_columns + p.first + n, p.columns - n) ^ flip, p.columns - n);
            }
}

/// Packs bytes that lie column by column.
void pack_columns(const std::byte *data, std::int64_t rows, std::uint8_t flip, std::span<const panel> panels) {
    for (const auto &p : panels)
        for (std::int64_t n = 0; n < p.columns; n += lanes)
            for (std::int64_t k = 0; k < rows; k += lanes) {
                sixteen_bytes x[lanes] = {};
                for (std::int64_t i = 0; i < std::min(lanes, p.columns - n); ++i)
                    x[i] = load_bytes(data + (p.first + n + i) * rows + k, rows - k) ^ flip;
                simd::transpose(x);
                for (std::int64_t i = 0; i < std::min(lanes, rows - k); ++i)
                    store_bytes(p.to + (k + i) * p.width + n, x[i], p.columns - n);
            }
}

/// Packs nibbles that lie row by row, an even number in each: a byte has two columns there, and two rows in the panel.
void pack_pairs(const weight_only_weights &w, std::int64_t block, std::uint8_t flip, std::span<const panel> panels) {
    std::int64_t to = 0; // a row of bytes
    for (std::int64_t begin = 0; begin < w.inner; begin += block)
        for (auto k = begin, end = std::min(begin + block, w.inner); k < end; k += 2, ++to)
            for (const auto &p : panels)
                for (std::int64_t n = 0; n < p.columns; n += 2 * lanes) {
                    const auto *const row = w.data + (k * w.columns + p.first + n) / 2;
                    const auto size = (p.columns - n) / 2;
                    prefetch_row(row, w.columns / 2);
                    const auto a = load_bytes(row, size) ^ flip;
                    const auto b = k + 1 < end ? load_bytes(row + w.columns / 2, size) ^ flip : sixteen_bytes {};
                    const auto even = (a & 15) | (b << 4), odd = (a >> 4) | (b & 0xf0);
                    store_bytes(p.to + to * p.width + n, simd::low_bytes(even, odd), p.columns - n);
                    store_bytes(p.to + to * p.width + n + lanes, simd::high_bytes(even, odd), p.columns - n - lanes);
                }
}

/// Nibbles in any order, one by one.
void pack_nibbles(const weight_only_weights &w, std::int64_t block, std::uint8_t flip, const panel &p) {
    const auto block_rows = (block + 1) / 2; // of bytes
    for (std::int64_t k = 0; k < w.inner; ++k) {
        auto *const row = p.to + (k / block * block_rows + k % block / 2) * p.width;
        for (std::int64_t n = 0; n < p.columns; ++n) {
            const auto at = w.is_transposed ? (p.first + n) * w.inner + k : k * w.columns + p.first + n;
            const auto code = (std::to_integer<std::uint32_t>(w.data[at / 2] ^ std::byte {flip}) >> at % 2 * 4) & 15;
            row[n] |= static_cast<std::byte>(code << k % block % 2 * 4);
        }
    }
}

} // namespace

std::int32_t code_offset(data_type type) {
    return type == data_type::u8 ? -128 : type == data_type::s4 ? 8 : 0;
}

std::uint8_t sign_flip(data_type type) {
    return type == data_type::u8 ? 0x80 : type == data_type::s4 ? 0x88 : 0;
}

void pack_panels(const weight_only_weights &w, const weight_only_panels &layout, std::int64_t panel_columns,
        bool are_subtracted, parallel::range panels, std::byte *to) {
    const auto block = layout.block;
    const auto flip = sign_flip(w.type);
    const bool are_whole_pairs = w.inner % 2 == 0 && (block % 2 == 0 || block >= w.inner);
    constexpr std::int64_t columns_of_line = 128; // of nibbles; 64 bytes
    std::vector<panel> group;
    for (auto i = panels.begin; i < panels.end; ++i, to += layout.panel_bytes) {
        const auto first = first_column(layout, i, panel_columns);
        group.push_back({first, columns_of(layout, i, panel_columns), panel_columns, to});
        if (i + 1 < panels.end
                && first_column(layout, i + 1, panel_columns) / columns_of_line == first / columns_of_line)
            continue;
        if (layout.code != weight_code::u4 && w.is_transposed)
            pack_columns(w.data, w.inner, flip, group);
        else if (layout.code != weight_code::u4)
            pack_rows(w.data, w.inner, w.columns, flip, group);
        else if (w.is_transposed && are_whole_pairs) // a byte has the pair of rows that it has in the panel
            pack_columns(w.data, w.inner / 2, flip, group);
        else if (!w.is_transposed && w.columns % 2 == 0 && layout.groups.columns % 2 == 0)
            pack_pairs(w, block, flip, group);
        else
            for (const auto &p : group)
                pack_nibbles(w, block, flip, p);
        group.clear();
    }
    if (!are_subtracted) return;
    auto *bytes = reinterpret_cast<std::uint8_t *>(to - (panels.end - panels.begin) * layout.panel_bytes);
    for (auto i = panels.begin; i < panels.end; ++i, bytes += layout.panel_bytes)
        for (std::int64_t k = 0; k < w.inner; ++k) {
            const auto *const of_group = layout.groups.zero_points;
            const auto *const zero_points = of_group ? of_group + i / layout.groups.panels * w.inner + k
                                                     : layout.parameters.zero_points + i * layout.parameters.of_panel
                            + k / layout.parameter_block * panel_columns;
            for (std::int64_t n = 0; n < panel_columns; ++n)
                bytes[k * panel_columns + n] -= static_cast<std::uint8_t>(zero_points[of_group ? 0 : n]);
        }
}

} // namespace dynquant::layers
