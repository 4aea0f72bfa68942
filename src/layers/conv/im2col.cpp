#include "layers/conv/integer_convolution.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "layers/gemm/packed_product.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

using problem = integer_convolution;
using zero_points = std::span<const std::int32_t>;

/// One product for each group.
struct im2col_weights {
    im2col_weights(const problem &p, const constant_weights &w)
        : lines(*volume(p.window.kernel) / (p.has_dense_lines() ? p.window.kernel.back() : 1)) {
        const auto filters = p.filters / p.groups;
        for (std::int64_t g = 0; g < p.groups; ++g) {
            auto zero_points = p.w_zero_points;
            if (zero_points.size() > 1) {
                const auto begin = zero_points.begin() + g * filters;
                zero_points = {begin, begin + filters};
            }
            products.emplace_back(packed_product::problem {p.x_is_signed, p.channels / p.groups,
                                          *volume(p.window.kernel), filters, lines, std::move(zero_points)},
                    w.from_filter(g * filters), p.available);
            bytes += products.back().bytes();
            const auto &of_group = products.back().weight_sums();
            sums.insert(sums.end(), of_group.begin(), of_group.end());
        }
    }

    std::int64_t lines; // of a window
    std::int64_t bytes = 0;
    std::vector<packed_product> products;
    std::vector<std::int32_t> sums; // of each filter
};

/// A convolution as an indirect product, block by block of the rows: the loops read windows where they lie in x,
/// through pointers to their segments; segments in the padding point to zero points. Windows that leave x along the
/// last dimension, and those of short lines of y, are copied to rows first (im2col).
class im2col_convolution final : public accumulator_source {
  public:
    im2col_convolution(const problem &p, std::shared_ptr<const im2col_weights> w)
        : p_(p)
        , w_(std::move(w))
        , rows_(*volume(p.window.y))
        , taps_(*volume(p.window.kernel))
        , group_channels_(p.channels / p.groups)
        , line_bytes_(taps_ / w_->lines * group_channels_)
        , interior_(p.window.interior())
        , is_matrix_(p.groups == 1 && p.window.is_pointwise()) {}

    const std::vector<std::int32_t> &weight_sums() const override { return w_->sums; }

    /// Rows of all images.
    void for_each_block(const void *x, zero_points of_x, workspace &memory, block_consumer consume) const override {
        run(x, of_x, memory, {nullptr, {}}, consume);
    }

    bool takes_endings() const override { return !p_.x_is_signed; }

    void write(const void *x, zero_points of_x, workspace &memory, const sums_ending &ending,
            std::int32_t *y) const override {
        run(x, of_x, memory, {y, ending}, [](const accumulator_block & /*written*/) {});
    }

  private:
    /// Where the sums of all rows go, not to the memory of parts, and what they become; or nothing.
    struct destination {
        std::int32_t *y;
        sums_ending ending;
    };

    void run(const void *x, zero_points of_x, workspace &memory, const destination &to, block_consumer consume) const {
        const auto all = p_.batch * rows_;
        if (all == 0) return;
        const auto *const from = static_cast<const std::byte *>(x);
        const auto work = all * row_bytes() * (p_.filters / 16 + 1);
        if (all <= p_.filters && p_.groups == 1 && all * p_.filters <= max_shared_sums) {
            const auto &product = w_->products.front();
            const auto parts = parallel::parts_for_items(product.panels(), work);
            if (parts > 1) return run_by_columns(from, of_x, parts, memory, to, consume);
        }
        const auto parts = parallel::parts_for_items(ceil_div(all, min_part_rows), work);
        const auto size = block_rows(all, parts), blocks = ceil_div(all, size);
        prepare(memory, parts, size);
        parallel::for_each_part(blocks, parts, [&](parallel::range part, std::size_t index) {
            auto &own = memory.parts[index];
            for (auto block = part.begin; block < part.end; ++block) {
                const parallel::range rows {block * size, std::min(all, (block + 1) * size)};
                auto *const sums = to.y ? at(to.y, rows.begin) : own.sums.data();
                multiply(from, of_x, rows, own, {sums, to.ending});
                consume({rows, sums, 0, p_.filters});
            }
        });
    }

    std::int64_t row_bytes() const { return taps_ * group_channels_; }

    /// Rows of the matrix and their sums fit in half of a second-level cache of 256 KiB. Weights that do not are read
    /// from farther away for each block, so blocks have more rows. The microkernels take 6, 8 or 12 rows at once.
    std::int64_t max_block_rows() const {
        const std::int64_t least = w_->bytes > 256 * 1024 ? 120 : 24;
        return std::clamp<std::int64_t>(128 * 1024 / (row_bytes() + 4 * p_.filters), least, 1008) / 24 * 24;
    }

    /// Every part has equally many blocks, or nearly.
    std::int64_t block_rows(std::int64_t all, std::int64_t parts) const {
        const auto most = max_block_rows(), of_part = ceil_div(all, parts), blocks = ceil_div(of_part, most);
        const auto size = ceil_div(of_part, blocks);
        const std::int64_t tile = size > 48 ? 24 : size > 12 ? 12 : 1; // multiples of what the microkernels take
        return round_up(size, tile);
    }

    /// Fewer rows in a part would read all weights for little work.
    static constexpr std::int64_t min_part_rows = 8;

    /// More sums would leave the second-level caches of the parts that compute them.
    static constexpr std::int64_t max_shared_sums = 256 * 1024;

    /// Shares out the columns, where x is smaller than the weights: each part reads some of these, and all of x.
    void run_by_columns(const std::byte *x, zero_points of_x, int parts, workspace &memory, const destination &to,
            block_consumer consume) const {
        const auto all = p_.batch * rows_;
        prepare(memory, 1, all);
        auto &own = memory.parts.front();
        const auto row_parts = parallel::parts_for_items(all, all * row_bytes());
        if (!is_matrix_)
            parallel::for_each_part(all, row_parts, [&](parallel::range rows) {
                gather(x, of_x, 0, rows, own.rows.data() + rows.begin * row_bytes());
            });
        const auto *const first = is_matrix_ ? x : own.rows.data();
        for (std::int64_t i = 0; i < w_->lines; ++i)
            own.lines[static_cast<std::size_t>(i)] = first + i * line_bytes_;
        const auto &product = w_->products.front();
        auto *const sums = to.y ? to.y : own.sums.data();
        indirect_rows x_rows {own.lines.data(), row_bytes(), all, nullptr, to.ending};
        if (product.takes_row_sums()) {
            auto *const row_sums = own.sums.data() + all * p_.filters;
            parallel::for_each_part(all, row_parts,
                    [&](parallel::range rows) { product.sum_rows(x_rows, rows, row_sums + rows.begin); });
            x_rows.sums = row_sums;
        }
        parallel::for_each_part(product.panels(), parts,
                [&](parallel::range panels) { product.run(x_rows, panels, sums, p_.filters); });
        parallel::for_each_part(all, parallel::parts_for_items(all, all * p_.filters), [&](parallel::range rows) {
            consume({rows, at(sums, rows.begin), 0, p_.filters});
        });
    }

    /// Makes the memory of parts whose blocks have at most so many rows.
    void prepare(workspace &memory, int parts, std::int64_t rows) const {
        memory.make_parts(parts);
        for (auto &work : std::span(memory.parts).first(static_cast<std::size_t>(parts))) {
            if (!is_matrix_) workspace::ensure_size(work.rows, static_cast<std::size_t>(rows * row_bytes()));
            workspace::ensure_size(work.sums, static_cast<std::size_t>(rows * (p_.filters + 1)));
            work.make_padding(p_.window.is_padded() ? padding_bytes() : 0);
            workspace::ensure_size(work.lines, static_cast<std::size_t>(w_->lines));
        }
    }

    /// A line of x.
    std::int64_t padding_bytes() const { return p_.window.x.back() * p_.channels; }

    /// Computes rows, numbered through all images, from line of y to line of y.
    void multiply(const std::byte *x, zero_points of_x, parallel::range rows, workspace::part &work,
            const destination &to) const {
        if (is_matrix_) {
            work.lines[0] = x + rows.begin * p_.channels;
            return multiply_group(0, {work.lines.data(), p_.channels, rows.end - rows.begin}, work, to);
        }
        const auto columns = p_.window.y.back();
        auto copied = rows.begin; // rows from here on are to be copied
        const auto copy_until = [&](std::int64_t end) {
            if (copied < end) multiply_copies(x, of_x, {copied, end}, work, {at(to.y, copied - rows.begin), to.ending});
        };
        for (auto begin = rows.begin; begin < rows.end;) {
            const auto line = begin / columns * columns, end = std::min(rows.end, line + columns);
            const auto first = std::max(begin, line + interior_.begin), last = std::min(end, line + interior_.end);
            if (last - first >= min_direct_rows) {
                copy_until(first);
                multiply_in_place(x, of_x, {first, last}, work, {at(to.y, first - rows.begin), to.ending});
                copied = last;
            }
            begin = end;
        }
        copy_until(rows.end);
    }

    std::int32_t *at(std::int32_t *sums, std::int64_t row) const { return sums + row * p_.filters; }

    void multiply_group(std::int64_t group, indirect_rows rows, workspace::part &work, const destination &to) const {
        const auto &product = w_->products[static_cast<std::size_t>(group)];
        if (product.takes_row_sums()) {
            auto *const row_sums = work.sums.data() + std::ssize(work.sums) - rows.rows; // behind those of a block
            product.sum_rows(rows, {0, rows.rows}, row_sums);
            rows.sums = row_sums;
        }
        const auto first = group * (p_.filters / p_.groups);
        rows.ending = to.ending.from_column(first);
        product.run(rows, {0, product.panels()}, to.y + first, p_.filters);
    }

    /// Rows of one line of y whose windows do not leave x along the last dimension.
    void multiply_in_place(const std::byte *x, zero_points of_x, parallel::range rows, workspace::part &work,
            const destination &to) const {
        const auto &w = p_.window;
        const auto last = w.rank() - 1;
        const auto columns = w.y[last], line_taps = w.kernel[last], lines_of_image = rows_ / columns;
        const auto y_line = rows.begin / columns, image = y_line / lines_of_image;
        const auto *const padding = p_.window.is_padded()
                ? work.pad(static_cast<std::byte>(zero_point_of(of_x, image)), padding_bytes())
                : nullptr;
        const auto of_taps = w_->lines / (taps_ / line_taps); // lines for each line of taps: one, or one for each tap
        for (std::int64_t g = 0; g < p_.groups; ++g) {
            for (std::int64_t i = 0; i < w_->lines; ++i) {
                const auto x_line = w.x_line(y_line % lines_of_image, i / of_taps);
                const auto offset = w.position(last, rows.begin % columns, i % of_taps) * p_.channels;
                work.lines[static_cast<std::size_t>(i)] = x_line < 0
                        ? padding
                        : x + image * image_bytes() + x_line * w.x[last] * p_.channels + offset + g * group_channels_;
            }
            multiply_group(g, {work.lines.data(), w.strides[last] * p_.channels, rows.end - rows.begin}, work, to);
        }
    }

    /// Gathers the windows into rows (im2col), then multiplies them.
    void multiply_copies(const std::byte *x, zero_points of_x, parallel::range rows, workspace::part &work,
            const destination &to) const {
        for (std::int64_t i = 0; i < w_->lines; ++i)
            work.lines[static_cast<std::size_t>(i)] = work.rows.data() + i * line_bytes_;
        for (std::int64_t g = 0; g < p_.groups; ++g) {
            gather(x, of_x, g, rows, work.rows.data());
            multiply_group(g, {work.lines.data(), row_bytes(), rows.end - rows.begin}, work, to);
        }
    }

    /// Copies the windows of rows, numbered through all images.
    void gather(const std::byte *x, zero_points of_x, std::int64_t group, parallel::range rows, std::byte *to) const {
        for (auto begin = rows.begin; begin < rows.end;) {
            const auto image = begin / rows_, end = std::min(rows.end, (image + 1) * rows_);
            gather_rows({x, image * image_bytes() + group * group_channels_}, zero_point_of(of_x, image),
                    {begin - image * rows_, end - image * rows_}, to + (begin - rows.begin) * row_bytes());
            begin = end;
        }
    }

    std::int64_t image_bytes() const { return *volume(p_.window.x) * p_.channels; }

    /// A group's channels of one image. Without elements x may be null, and then `x + begin` is no pointer.
    struct group_of_image {
        const std::byte *x;
        std::int64_t begin;
    };

    /// Copies windows of one image to rows. Padding is the zero point.
    void gather_rows(const group_of_image &from, std::int32_t x_zero_point, parallel::range rows, std::byte *to) const {
        if (group_channels_ == 0) return;
        const auto &w = p_.window;
        const auto columns = w.y.back(), line_taps = w.kernel.back();
        for (auto begin = rows.begin; begin < rows.end;) {
            const auto y_line = begin / columns, first = begin - y_line * columns;
            const parallel::range of_line {first, std::min(columns, first + rows.end - begin)};
            for (std::int64_t line = 0; line < taps_ / line_taps; ++line)
                gather_line(from, x_zero_point, w.x_line(y_line, line), of_line,
                        to + (begin - rows.begin) * row_bytes() + line * line_taps * group_channels_);
            begin += of_line.end - of_line.begin;
        }
    }

    /// Copies one line of taps of the windows of some columns of y. to: of the first window.
    void gather_line(const group_of_image &from, std::int32_t x_zero_point, std::int64_t x_line,
            parallel::range columns, std::byte *to) const {
        const auto &w = p_.window;
        const auto last = w.rank() - 1;
        const auto line_taps = w.kernel[last];
        const bool dense = p_.has_dense_lines();
        for (auto column = columns.begin; column < columns.end; ++column, to += row_bytes()) {
            const bool is_inside = column >= interior_.begin && column < interior_.end;
            const auto inside = is_inside ? window::taps {0, line_taps} : w.taps_inside(last, column);
            if (x_line < 0 || inside.begin == inside.end)
                fill(to, x_zero_point, line_taps);
            else
                copy_taps(from.x + from.begin
                                + (x_line * w.x[last] + w.position(last, column, inside.begin)) * p_.channels,
                        x_zero_point, inside, dense, to);
        }
    }

    void fill(std::byte *to, std::int32_t x_zero_point, std::int64_t taps) const {
        std::memset(to, x_zero_point, static_cast<std::size_t>(taps * group_channels_));
    }

    /// The taps of one line of the window; x is where the first one inside lies.
    void copy_taps(const std::byte *x, std::int32_t x_zero_point, const window::taps &inside, bool dense,
            std::byte *to) const {
        const auto kernel = p_.window.kernel.back(), step = p_.window.dilations.back() * p_.channels;
        if (inside.begin > 0) fill(to, x_zero_point, inside.begin);
        if (dense)
            std::memcpy(to + inside.begin * group_channels_, x,
                    static_cast<std::size_t>((inside.end - inside.begin) * group_channels_));
        else
            for (auto k = inside.begin; k < inside.end; ++k)
                std::memcpy(to + k * group_channels_, x + (k - inside.begin) * step,
                        static_cast<std::size_t>(group_channels_));
        if (inside.end < kernel) fill(to + inside.end * group_channels_, x_zero_point, kernel - inside.end);
    }

    problem p_;
    std::shared_ptr<const im2col_weights> w_;
    std::int64_t rows_, taps_, group_channels_;
    std::int64_t line_bytes_; // of one line of a window
    window::columns interior_;
    bool is_matrix_; // x is the im2col matrix
};

} // namespace

convolution_factory pack_im2col_convolution(const problem &p, const constant_weights &w) {
    return [packed = std::make_shared<const im2col_weights>(p, w)](
                   const problem &of_shape) { return std::make_unique<const im2col_convolution>(of_shape, packed); };
}

} // namespace dynquant::layers
