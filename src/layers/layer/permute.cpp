#include "layers/layer/permute.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "parallel/parallel.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/shape.hpp"
#include "targets/sixteen_bytes.hpp"

namespace dynquant::layers {
namespace {

/// {0, 2, 3, 1} for rank 4.
std::vector<std::size_t> channels_last_order(std::size_t rank) {
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    order.erase(order.begin() + 1);
    order.push_back(1);
    return order;
}

/// Rows and columns of the tile that is transposed in registers.
constexpr std::int64_t side = 16;

template <typename Element>
struct strided_lines {
    Element *data;
    std::int64_t stride; // elements between two lines
};

/// Transposes at most 16 columns of x by 16 lines. Interleaving lines i and i + 8 moves one bit of a byte's position
/// from the column to the line; four times, all of them.
void transpose_tile(const strided_lines<const std::uint8_t> &x, const strided_lines<std::uint8_t> &y, std::int64_t rows,
        std::int64_t columns) {
    simd::sixteen_bytes lines[side] = {};
    const auto copy = [](void *to, const void *from, std::int64_t count) {
        if (count == side)
            std::memcpy(to, from, side); // of known size: a load and a store
        else
            std::memcpy(to, from, static_cast<std::size_t>(count));
    };
    for (std::int64_t c = 0; c < columns; ++c)
        copy(&lines[c], x.data + c * x.stride, rows);
#pragma GCC unroll 4
    for (int step = 0; step < 4; ++step) {
        simd::sixteen_bytes next[side];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
            next[2 * i] = simd::low_bytes(lines[i], lines[i + 8]);
            next[2 * i + 1] = simd::high_bytes(lines[i], lines[i + 8]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < side; ++i)
            lines[i] = next[i];
    }
    // A whole vector may run over the rows that follow it, which are stored later.
    const auto room = rows * columns - side;
    const auto whole = columns == y.stride && room >= 0 ? room / columns + 1 : 0;
    for (std::int64_t r = 0; r < rows; ++r)
        copy(y.data + r * y.stride, &lines[r], r < whole ? side : columns);
}

/// Fewer take less time one by one.
constexpr std::int64_t min_tile_bytes = 64;

template <typename Element>
void transpose_part(const strided_lines<const Element> &x, const strided_lines<Element> &y, std::int64_t rows,
        std::int64_t columns) {
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
            y.data[r * y.stride + c] = x.data[c * x.stride + r];
}

/// Transposes at most `side` rows of y, which are columns of x.
template <typename Element>
void transpose_rows(const strided_lines<const Element> &x, const strided_lines<Element> &y, std::int64_t rows,
        std::int64_t columns) {
    for (std::int64_t c = 0; c < columns; c += side) {
        const strided_lines<const Element> from {x.data + c * x.stride, x.stride};
        const strided_lines<Element> to {y.data + c, y.stride};
        const auto width = std::min(side, columns - c);
        if constexpr (sizeof(Element) == 1)
            if (rows * width >= min_tile_bytes) {
                transpose_tile(from, to, rows, width);
                continue;
            }
        transpose_part(from, to, rows, width);
    }
}

/// Rows are mostly short, as those of heads: a call for each would take longer than its loads and stores.
void copy_row(const std::byte *x, std::byte *y, std::int64_t bytes) {
    if (bytes < 16 || bytes > 1024) {
        std::memcpy(y, x, static_cast<std::size_t>(bytes));
        return;
    }
    for (std::int64_t at = 0; at + 16 < bytes; at += 16)
        std::memcpy(y + at, x + at, 16); // of known size: a load and a store
    std::memcpy(y + bytes - 16, x + bytes - 16, 16);
}

} // namespace

permutation::permutation(const dims &shape, const std::vector<std::size_t> &order, std::size_t element_bytes)
    : element_bytes_(element_bytes) {
    if (volume(shape) == 0) { // whose strides may not be numbers
        shape_ = strides_ = y_strides_ = {0};
        return;
    }
    const auto strides = row_major(shape);
    for (const auto d : order) {
        if (shape[d] == 1) continue;
        if (!shape_.empty() && strides_.back() == strides[d] * shape[d]) { // contiguous with the previous one: merge
            shape_.back() *= shape[d];
            strides_.back() = strides[d];
        } else {
            shape_.push_back(shape[d]);
            strides_.push_back(strides[d]);
        }
    }
    if (shape_.empty()) shape_ = strides_ = {1};
    y_strides_ = row_major(shape_);
    dense_ = static_cast<std::size_t>(std::ranges::find(strides_, 1) - strides_.begin());
}

void permutation::copy_rows(const std::byte *x, std::byte *y) const {
    const auto element = static_cast<std::int64_t>(element_bytes_), length = shape_.back() * element;
    const auto rows = *volume(shape_) / shape_.back();
    const auto outer = std::span(shape_).first(shape_.size() - 1);
    const auto line = outer.empty() ? 1 : outer.back(); // rows whose distance is the same
    parallel::for_each_part(rows, parallel::parts_for_items(rows, rows * shape_.back()), [&](parallel::range part) {
        for (auto r = part.begin; r < part.end;) {
            const auto *from = x + offset_of(r, outer, strides_) * element;
            const auto step = outer.empty() ? 0 : strides_[outer.size() - 1] * element;
            for (const auto end = std::min(part.end, (r / line + 1) * line); r < end; ++r, from += step)
                copy_row(from, y + r * length, length);
        }
    });
}

/// Transposes the dense dimension of x and the last one of y by tiles. All other dimensions are outer loops.
template <typename Element>
void permutation::transpose(const Element *x, Element *y) const {
    const auto last = shape_.size() - 1;
    const auto across = shape_[dense_], tiles = ceil_div(across, side);
    const auto count = *volume(shape_) / across / shape_[last] * tiles;
    parallel::for_each_part(
            count, parallel::parts_for_items(count, count * side * shape_[last]), [&](parallel::range part) {
                for (auto at = part.begin; at < part.end; ++at) {
                    const auto begin = at % tiles * side;
                    auto from = begin, to = begin * y_strides_[dense_], index = at / tiles;
                    for (auto d = last; d-- > 0;)
                        if (d != dense_) {
                            from += index % shape_[d] * strides_[d];
                            to += index % shape_[d] * y_strides_[d];
                            index /= shape_[d];
                        }
                    transpose_rows<Element>({x + from, strides_[last]}, {y + to, y_strides_[dense_]},
                            std::min(side, across - begin), shape_[last]);
                }
            });
}

template <typename Element>
void permutation::run_typed(const Element *x, Element *y) const {
    if (strides_.back() == 1 || shape_.size() == 1)
        copy_rows(reinterpret_cast<const std::byte *>(x), reinterpret_cast<std::byte *>(y));
    else
        transpose(x, y);
}

void permutation::run(const void *x, void *y) const {
    if (volume(shape_) == 0) return;
    switch (element_bytes_) {
        case 1: return run_typed(static_cast<const std::uint8_t *>(x), static_cast<std::uint8_t *>(y));
        case 2: return run_typed(static_cast<const std::uint16_t *>(x), static_cast<std::uint16_t *>(y));
        default: return run_typed(static_cast<const std::uint32_t *>(x), static_cast<std::uint32_t *>(y));
    }
}

permutation to_channels_last(const dims &shape, std::size_t element_bytes) {
    return {shape, channels_last_order(shape.size()), element_bytes};
}

} // namespace dynquant::layers
