#include "layers/integer_convolution.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "layers/depthwise/depthwise.hpp"
#include "layers/integer_product.hpp"
#include "layers/onednn/onednn.hpp"
#include "parallel/parallel.hpp"
#include "parallel/pool.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

using problem = integer_convolution;

/// Convolution by im2col, image by image and group by group.
class im2col_convolution final : public integer_sums {
  public:
    im2col_convolution(const problem &p, const std::int8_t *w)
        : p_(p)
        , rows_(*volume(p.window.y))
        , taps_(*volume(p.window.kernel))
        , group_channels_(p.channels / p.groups)
        , group_filters_(p.filters / p.groups)
        , is_matrix_(taps_ == 1 && p.groups == 1 && !p.window.is_padded()
                  && std::ranges::all_of(p.window.strides, [](std::int64_t stride) { return stride == 1; })) {
        const auto weights = product_weights(p, w);
        const auto inner = taps_ * group_channels_;
        for (std::int64_t g = 0; g < p.groups; ++g) {
            products_.push_back(std::make_unique<const integer_product>(
                    integer_product::problem {p.x_is_signed, rows_, inner, group_filters_, zero_points_of(g)},
                    weights.data() + g * inner * group_filters_));
            const auto &sums = products_.back()->weight_sums();
            weight_sums_.insert(weight_sums_.end(), sums.begin(), sums.end());
        }
    }

    const std::vector<std::int32_t> &weight_sums() const override { return weight_sums_; }

    /// The im2col matrix, the sums of a group, and the scratch memory of its product.
    std::size_t scratch_bytes() const override { return product_scratch() + products_.front()->scratch_bytes(); }

    void run(const void *x, std::int32_t x_zero_point, std::int32_t *y, std::byte *scratch) const override {
        if (computes_blocks()) return for_each_block(x, x_zero_point, y, [](parallel::range, const std::int32_t *) {});
        const auto x_image = *volume(p_.window.x) * p_.channels;
        for (std::int64_t image = 0; image < p_.batch; ++image)
            for (std::int64_t g = 0; g < p_.groups; ++g)
                run_group(static_cast<const std::byte *>(x) + image * x_image + g * group_channels_, x_zero_point, g,
                        y + image * rows_ * p_.filters + g * group_filters_, scratch);
    }

    bool computes_blocks() const override { return p_.groups == 1 && products_.front()->computes_any_rows(); }

    void run_blocks(const void *x, std::int32_t x_zero_point, const block_consumer &consume) const override {
        for_each_block(x, x_zero_point, nullptr, consume);
    }

  private:
    static constexpr std::size_t aligned(std::int64_t bytes) {
        return (static_cast<std::size_t>(bytes) + 63) / 64 * 64;
    }
    std::size_t result_offset() const { return aligned(rows_ * taps_ * group_channels_); }
    std::size_t product_scratch() const { return result_offset() + aligned(rows_ * group_filters_ * 4); }

    std::vector<std::int32_t> zero_points_of(std::int64_t group) const {
        const auto &all = p_.w_zero_points;
        const bool is_one = all.size() <= 1;
        const auto begin = all.begin() + (is_one ? 0 : group * group_filters_);
        return {begin, is_one ? all.end() : begin + group_filters_};
    }

    void run_group(const std::byte *x, std::int32_t x_zero_point, std::int64_t group, std::int32_t *y,
            std::byte *scratch) const {
        auto *result = reinterpret_cast<std::int32_t *>(scratch + result_offset());
        gather(x, x_zero_point, scratch);
        const auto &product = *products_[static_cast<std::size_t>(group)];
        product.run(scratch, x_zero_point, p_.groups == 1 ? y : result, scratch + product_scratch());
        if (p_.groups == 1) return;
        for (std::int64_t r = 0; r < rows_; ++r)
            std::copy_n(result + r * group_filters_, group_filters_, y + r * p_.filters);
    }

    void gather(const std::byte *x, std::int32_t x_zero_point, std::byte *to) const {
        const auto bytes = rows_ * row_bytes();
        parallel::for_each_part(rows_, parallel::parts_for_items(rows_, bytes),
                [&](parallel::range part) { gather_rows(x, x_zero_point, part, to + part.begin * row_bytes()); });
    }

    std::int64_t row_bytes() const { return taps_ * group_channels_; }

    /// Rows of the im2col matrix and their sums fit in half of a second-level cache of 256 KiB.
    std::int64_t block_rows() const {
        return std::clamp<std::int64_t>(128 * 1024 / (row_bytes() + 4 * p_.filters), 16, 1024) / 4 * 4;
    }

    /// The memory of one part of a run.
    struct block_workspace {
        std::vector<std::byte> rows;
        std::vector<std::int32_t> sums;
    };
    using run_workspace = std::vector<block_workspace>;

    /// Rows of all images, of one group. y: null where only the consumer takes the sums.
    void for_each_block(
            const void *x, std::int32_t x_zero_point, std::int32_t *y, const block_consumer &consume) const {
        const auto all = p_.batch * rows_, size = block_rows(), blocks = (all + size - 1) / size;
        const auto parts = parallel::parts_for_items(blocks, all * row_bytes() * (p_.filters / 16 + 1));
        auto works = idle_.take([] { return std::make_unique<run_workspace>(); });
        prepare(*works, static_cast<std::size_t>(parts), y == nullptr);
        std::atomic<std::size_t> next = 0;
        parallel::for_each_part(blocks, parts, [&](parallel::range part) {
            auto &work = (*works)[next.fetch_add(1, std::memory_order_relaxed)];
            for (auto block = part.begin; block < part.end; ++block) {
                const parallel::range rows {block * size, std::min(all, (block + 1) * size)};
                auto *sums = y ? y + rows.begin * p_.filters : work.sums.data();
                products_.front()->run_rows(gathered(x, x_zero_point, rows, work), rows.end - rows.begin, sums);
                consume(rows, sums);
            }
        });
        idle_.give_back(std::move(works));
    }

    /// Allocates here what the parts use: they must not throw.
    void prepare(run_workspace &works, std::size_t parts, bool needs_sums) const {
        if (works.size() < parts) works.resize(parts);
        const auto rows = static_cast<std::size_t>(is_matrix_ ? 0 : block_rows() * row_bytes());
        const auto sums = static_cast<std::size_t>(needs_sums ? block_rows() * p_.filters : 0);
        for (std::size_t i = 0; i < parts; ++i) {
            if (works[i].rows.size() < rows) works[i].rows.resize(rows);
            if (works[i].sums.size() < sums) works[i].sums.resize(sums);
        }
    }

    /// The rows of the im2col matrix, image by image; x itself where that is the matrix.
    const std::byte *gathered(
            const void *x, std::int32_t x_zero_point, parallel::range rows, block_workspace &work) const {
        const auto *from = static_cast<const std::byte *>(x);
        if (is_matrix_) return from + rows.begin * row_bytes();
        const auto image_bytes = *volume(p_.window.x) * p_.channels;
        for (auto begin = rows.begin; begin < rows.end;) {
            const auto image = begin / rows_, end = std::min(rows.end, (image + 1) * rows_);
            gather_rows(from + image * image_bytes, x_zero_point, {begin - image * rows_, end - image * rows_},
                    work.rows.data() + (begin - rows.begin) * row_bytes());
            begin = end;
        }
        return work.rows.data();
    }

    /// Copies windows of one image to rows. Taps beside each other along the last dimension are one copy where their
    /// channels are. Padding is the zero point.
    void gather_rows(const std::byte *x, std::int32_t x_zero_point, parallel::range rows, std::byte *to) const {
        const auto &w = p_.window;
        const auto last = w.rank() - 1;
        const auto kernel = w.kernel[last], tap_lines = taps_ / kernel, line_stride = w.x[last] * p_.channels;
        const bool is_dense = w.dilations[last] == 1 && p_.groups == 1;
        for (auto r = rows.begin; r < rows.end; ++r) {
            const auto column = r % w.y[last];
            const auto inside = w.taps_inside(last, column);
            const auto first = w.position(last, column, 0);
            for (std::int64_t line = 0; line < tap_lines; ++line, to += kernel * group_channels_) {
                std::int64_t offset = 0, stride = line_stride, tap = line, position = r / w.y[last];
                bool is_padding = inside.begin == inside.end;
                for (auto d = last; d-- > 0 && !is_padding;) {
                    const auto at = w.position(d, position % w.y[d], tap % w.kernel[d]);
                    is_padding = at < 0 || at >= w.x[d];
                    offset += at * stride;
                    stride *= w.x[d];
                    position /= w.y[d];
                    tap /= w.kernel[d];
                }
                if (is_padding)
                    fill(to, x_zero_point, kernel);
                else
                    copy_taps(x + offset + first * p_.channels, x_zero_point, inside, is_dense, to);
            }
        }
    }

    void fill(std::byte *to, std::int32_t x_zero_point, std::int64_t taps) const {
        std::memset(to, x_zero_point, static_cast<std::size_t>(taps * group_channels_));
    }

    /// The taps of one line of the window; x is where the first one would lie.
    void copy_taps(const std::byte *x, std::int32_t x_zero_point, const window::taps &inside, bool is_dense,
            std::byte *to) const {
        const auto kernel = p_.window.kernel.back(), step = p_.window.dilations.back() * p_.channels;
        if (inside.begin > 0) fill(to, x_zero_point, inside.begin);
        if (is_dense)
            std::memcpy(to + inside.begin * group_channels_, x + inside.begin * step,
                    static_cast<std::size_t>((inside.end - inside.begin) * group_channels_));
        else
            for (auto k = inside.begin; k < inside.end; ++k)
                std::memcpy(to + k * group_channels_, x + k * step, static_cast<std::size_t>(group_channels_));
        if (inside.end < kernel) fill(to + inside.end * group_channels_, x_zero_point, kernel - inside.end);
    }

    problem p_;
    std::int64_t rows_, taps_, group_channels_, group_filters_;
    std::vector<std::int32_t> weight_sums_;
    std::vector<std::unique_ptr<const integer_product>> products_; // one per group
    bool is_matrix_;                                               // x is the im2col matrix
    mutable parallel::object_pool<run_workspace> idle_;
};

} // namespace

std::vector<std::int8_t> product_weights(const problem &p, const std::int8_t *w) {
    const auto taps = *volume(p.window.kernel), channels = p.channels / p.groups, filters = p.filters / p.groups;
    std::vector<std::int8_t> rows;
    rows.reserve(static_cast<std::size_t>(p.filters * channels * taps));
    for (std::int64_t g = 0; g < p.groups; ++g)
        for (std::int64_t tap = 0; tap < taps; ++tap)
            for (std::int64_t c = 0; c < channels; ++c)
                for (std::int64_t f = 0; f < filters; ++f)
                    rows.push_back(w[((g * filters + f) * channels + c) * taps + tap]);
    return rows;
}

std::unique_ptr<const integer_sums> make_im2col_convolution(const problem &p, const std::int8_t *w) {
    return std::make_unique<im2col_convolution>(p, w);
}

std::unique_ptr<const integer_sums> make_convolution(const problem &p, const std::int8_t *w) {
    auto result = make_direct_convolution(p, w);
    if (!result) result = make_depthwise_convolution(p, w);
    return result ? std::move(result) : make_im2col_convolution(p, w);
}

} // namespace dynquant::layers
